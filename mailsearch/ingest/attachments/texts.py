"""Attachments that are text already: plain, tables of values, HTML."""

import re

from mailsearch.ingest import charset, html, plain
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.parsed import ParsedText

_META_CHARSET = re.compile(rb"(?i)<meta[^>]{1,200}charset\s*=\s*[\"']?([\w:.-]{2,40})")
_MOST_ROWS = 200_000


def read_plain(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a text file."""
    text = _decode(content)
    parsed = plain.visible_text(text)
    state = "truncated" if len(text) > len(parsed.text) + 100_000 else "ok"
    return (state if parsed.text.strip() else "empty"), parsed


def read_html(content: bytes) -> tuple[str, ParsedText]:
    """State and text of an HTML file."""
    meta = _META_CHARSET.search(content[:4096])
    parsed = html.visible_text(_decode(content, meta[1].decode("latin-1") if meta else ""))
    return ("ok" if parsed.text else "empty"), parsed


def read_csv(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a table of values: each line is one row, kept as the file has it."""
    text = _decode(content).strip("\n")
    builder = TextBuilder()
    for line in text.split("\n")[:_MOST_ROWS]:
        builder.add(line, "row")
    parsed = builder.parsed()
    cut = builder.truncated or text.count("\n") >= _MOST_ROWS
    return ("truncated" if cut else "ok" if parsed.text else "empty"), parsed


def _decode(content: bytes, declared: str = "") -> str:
    return charset.clean(charset.decode(content, declared).text).removeprefix("\ufeff")
