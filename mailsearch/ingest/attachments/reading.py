"""Choosing how an attachment is read, and keeping every failure inside its own attachment."""

from collections.abc import Callable

from mailsearch.ingest.attachments import pdf, sniff, texts
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.parsed import ParsedText

Read = Callable[[bytes], tuple[str, ParsedText]]

LARGEST = 50_000_000
_EMPTY = ParsedText("")

_READERS: dict[str, Read] = {
    "pdf": pdf.read,
    "html": texts.read_html,
    "csv": texts.read_csv,
    "text": texts.read_plain,
}


def read_text(content: bytes, content_type: str, filename: str) -> tuple[str, ParsedText]:
    """State and visible text of an attachment.

    The state is one of: ok empty encrypted corrupt truncated too_large unsupported. Never raises; may take long and
    much memory on hostile bytes, so it belongs into a process that can be killed.
    """
    if not content.strip(b"\x00 \r\n\t"):
        return "empty", _EMPTY
    if len(content) > LARGEST:
        return "too_large", _EMPTY
    kind = sniff.kind(content, content_type, filename)
    if kind == "encrypted":
        return "encrypted", _EMPTY
    read = _READERS.get(kind)
    if read is None:
        return "unsupported", _EMPTY
    try:
        return read(content)
    # Readers are other people's parsers on hostile bytes: whatever they raise means that this file can't be read.
    except Exception:  # noqa: BLE001
        return "corrupt", _EMPTY


_ = TextBuilder
