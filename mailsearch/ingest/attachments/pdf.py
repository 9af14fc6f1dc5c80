"""Text of PDF files with page numbers; what no reader of the page sees is kept apart."""

from collections.abc import Iterator
from dataclasses import replace

import pypdfium2
import pypdfium2.raw as pdfium

from mailsearch.hits import Link, PartLinks
from mailsearch.ingest import charset, plain
from mailsearch.ingest.attachments import pdf_links, pdf_looks
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.links import MOST_LINKS
from mailsearch.ingest.parsed import ParsedText

_MOST_PAGES = 5_000


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a PDF."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        return ("encrypted" if "password" in str(error).lower() else "corrupt"), ParsedText("")
    builder = TextBuilder()
    found: list[Link] = []
    more = failed = 0
    try:
        count = len(document)
        for number in range(min(count, _MOST_PAGES)):
            builder.begin_page()
            try:
                more += _read_page(document[number], builder, found)
            except pypdfium2.PdfiumError:
                failed += 1
            if builder.truncated:
                break
    finally:
        document.close()
    if count and failed == count:
        return "corrupt", ParsedText("")
    parsed = replace(builder.parsed(), links=PartLinks(tuple(found), more))
    if builder.truncated or count > _MOST_PAGES or failed:
        return "truncated", parsed
    return ("ok" if parsed.text else "empty"), parsed


def _read_page(page: pypdfium2.PdfPage, builder: TextBuilder, found: list[Link]) -> int:
    """Add one page, and its links to *found*; how many more these are than are kept."""
    unseen = pdf_looks.unseen(page)
    textpage = page.get_textpage()
    if unseen:
        shown, hidden = _split(textpage, unseen)
        builder.hide(_clean(hidden))
    else:
        # Bounded by the page, so that text off its edges stays out.
        shown = textpage.get_text_bounded()
    text = _clean(shown)
    before, base = len(builder.pieces), builder.length
    for block in plain.mark_blocks(text, printed=True):
        builder.add(text[block.start : block.end], block.kind)
    marked, more = pdf_links.marked(page, textpage, MOST_LINKS - len(found))
    if marked:
        marked = [replace(one, words=_clean(one.words), before=_clean(one.before)) for one in marked]
        found += pdf_links.placed(marked, "".join(builder.pieces[before:]), base)
    textpage.close()
    page.close()
    return more


def _clean(text: str) -> str:
    # The library writes U+FFFE where a word is cut at the end of a line.
    return charset.clean(text.replace("\ufffe", "-").replace("\x02", "-"))


def _split(textpage: pypdfium2.PdfTextPage, unseen: set[int]) -> tuple[str, str]:
    """The seen and the unseen characters of a page, in reading order."""
    shown: list[str] = []
    hidden: list[str] = []
    target = shown
    for index, character in _characters(textpage):
        item = pdfium.FPDFText_GetTextObject(textpage.raw, index)
        if item:
            target = hidden if pdf_looks.address(item) in unseen else shown
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
