"""Text of PDF files with page numbers; what no reader of the page sees is kept apart."""

import pypdfium2
import pypdfium2.raw as pdfium

from mailsearch.ingest import charset, plain
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.parsed import ParsedText

_MOST_PAGES = 5_000
_PASSWORD = 4  # FPDF_ERR_PASSWORD


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a PDF."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        needs_password = "password" in str(error).lower() or getattr(error, "err_code", 0) == _PASSWORD
        return ("encrypted" if needs_password else "corrupt"), ParsedText("")
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
    textpage = page.get_textpage()
    text = textpage.get_text_bounded()
    _add(builder, text)
    textpage.close()
    page.close()


def _add(builder: TextBuilder, text: str) -> None:
    # The library writes U+FFFE where a word is cut at the end of a line.
    text = charset.clean(text.replace("\ufffe", "-").replace("\x02", "-"))
    for block in plain.mark_blocks(text):
        builder.add(text[block.start : block.end], block.kind)


_ = pdfium
