"""Text of PDF files with page numbers; what no reader of the page sees is kept apart.

Unseen is text in the invisible render mode, tiny text, transparent text, and white text with nothing painted behind it.
"""

import ctypes
from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw as pdfium

from mailsearch.ingest import charset, plain
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.parsed import ParsedText

_MOST_PAGES = 5_000
_MOST_OBJECTS = 20_000
_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_PAINTED = (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING)
_SMALLEST_POINTS = 1.5

Bounds = tuple[float, float, float, float]


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a PDF."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        return ("encrypted" if "password" in str(error).lower() else "corrupt"), ParsedText("")
    builder = TextBuilder()
    failed = 0
    try:
        count = len(document)
        for number in range(min(count, _MOST_PAGES)):
            builder.begin_page()
            try:
                _read_page(document[number], builder)
            except pypdfium2.PdfiumError:
                failed += 1
            if builder.truncated:
                break
    finally:
        document.close()
    if count and failed == count:
        return "corrupt", ParsedText("")
    parsed = builder.parsed()
    if builder.truncated or count > _MOST_PAGES or failed:
        return "truncated", parsed
    return ("ok" if parsed.text else "empty"), parsed


def _read_page(page: pypdfium2.PdfPage, builder: TextBuilder) -> None:
    unseen = _unseen_objects(page)
    textpage = page.get_textpage()
    if unseen:
        shown, hidden = _split(textpage, unseen)
        builder.hide(_clean(hidden))
    else:
        # Bounded by the page, so that text off its edges stays out.
        shown = textpage.get_text_bounded()
    text = _clean(shown)
    for block in plain.mark_blocks(text, printed=True):
        builder.add(text[block.start : block.end], block.kind)
    textpage.close()
    page.close()


def _clean(text: str) -> str:
    # The library writes U+FFFE where a word is cut at the end of a line.
    return charset.clean(text.replace("\ufffe", "-").replace("\x02", "-"))


def _unseen_objects(page: pypdfium2.PdfPage) -> set[int]:
    """Addresses of the page's text objects that a reader doesn't see."""
    texts: list[pypdfium2.PdfObject] = []
    painted: list[Bounds] = []
    for number, item in enumerate(page.get_objects(max_depth=8)):
        if number > _MOST_OBJECTS:
            break
        if item.type == pdfium.FPDF_PAGEOBJ_TEXT:
            texts.append(item)
        elif item.type in _PAINTED:
            painted.append(item.get_bounds())
    return {_address(item.raw) for item in texts if _is_unseen(item, painted)}


def _is_unseen(item: pypdfium2.PdfObject, painted: list[Bounds]) -> bool:
    if pdfium.FPDFTextObj_GetTextRenderMode(item.raw) in _INVISIBLE:
        return True
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFPageObj_GetFillColor(item.raw, red, green, blue, alpha):
        return False
    if alpha.value < 10 or _points(item) < _SMALLEST_POINTS:
        return True
    if min(red.value, green.value, blue.value) < 250:
        return False
    left, bottom, right, top = item.get_bounds()
    across, along = (left + right) / 2, (bottom + top) / 2
    return not any(one[0] <= across <= one[2] and one[1] <= along <= one[3] for one in painted)


def _points(item: pypdfium2.PdfObject) -> float:
    """The size of the type as it is painted."""
    size = ctypes.c_float()
    if not pdfium.FPDFTextObj_GetFontSize(item.raw, size):
        return 12.0
    matrix = item.get_matrix()
    return float(abs(size.value) * abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5)


def _split(textpage: pypdfium2.PdfTextPage, unseen: set[int]) -> tuple[str, str]:
    """The seen and the unseen characters of a page, in reading order."""
    shown: list[str] = []
    hidden: list[str] = []
    target = shown
    for index, character in _characters(textpage):
        item = pdfium.FPDFText_GetTextObject(textpage.raw, index)
        if item:
            target = hidden if _address(item) in unseen else shown
        # A blank or line break that the library makes up has no object: it goes with the character before it.
        target.append(character)
        if character == "\n" and target is hidden:
            shown.append("\n")
    return "".join(shown), "".join(hidden)


def _characters(textpage: pypdfium2.PdfTextPage) -> Iterator[tuple[int, str]]:
    for index in range(textpage.count_chars()):
        code = pdfium.FPDFText_GetUnicode(textpage.raw, index)
        if code:
            yield index, chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"


def _address(pointer: object) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
