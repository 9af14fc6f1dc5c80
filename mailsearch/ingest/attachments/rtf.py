"""Text of RTF files; runs marked as hidden, and deleted ones, are kept apart."""

import re

from striprtf.striprtf import rtf_to_text

from mailsearch.ingest import plain
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.charset import clean
from mailsearch.ingest.parsed import ParsedText

_WORD = re.compile(r"\\(?:'[0-9a-fA-F]{2}|[a-zA-Z]+(-?[0-9]{1,10})? ?|[^a-zA-Z])|[{}]|[^\\{}]+|\\", re.DOTALL)
_PLAIN = re.compile(r"\\plain(?![a-z])")
_HIDING = re.compile(r"\\(v|deleted)(-?[0-9]{1,5})? ?$")


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of an RTF file."""
    source = content.decode("latin-1")
    shown, hidden = _split(source)
    builder = TextBuilder()
    text = clean(_read(shown))
    parsed = plain.mark_blocks(text)
    for block in parsed:
        builder.add(text[block.start : block.end], block.kind)
    if hidden:
        builder.hide(clean(_read("{\\rtf1 " + hidden + "}")))
    found = builder.parsed()
    sound = source.rstrip("\x00\r\n\t ").endswith("}")
    return ("truncated" if builder.truncated or not sound else "ok" if found.text else "empty"), found


def _split(source: str) -> tuple[str, str]:
    """*source* without hidden runs, and the hidden runs. Hiding is a property of a group and ends with it."""
    if "\\v" not in source and "\\deleted" not in source:
        return source, ""
    shown: list[str] = []
    hidden: list[str] = []
    stack: list[bool] = []
    hiding = False
    for match in _WORD.finditer(source):
        word = match[0]
        control = _HIDING.match(word)
        if word == "{":
            stack.append(hiding)
        elif word == "}":
            hiding = stack.pop() if stack else False
        elif control:
            hiding = control[2] != "0"
            continue
        elif _PLAIN.match(word):
            hiding = False
        is_text = not word.startswith("\\") or word.startswith(("\\'", "\\u"))
        (hidden if hiding and is_text and word not in "{}" else shown).append(word)
    return "".join(shown), "".join(hidden)


def _read(source: str) -> str:
    return str(rtf_to_text(source, errors="replace"))  # type: ignore[no-untyped-call]
