"""Text of RTF files; runs that are hidden, deleted, tiny or white on white are kept apart."""

import re
from dataclasses import dataclass, replace

from striprtf.striprtf import rtf_to_text

from mailsearch.ingest import colours, plain
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.charset import clean
from mailsearch.ingest.parsed import ParsedText

_WORD = re.compile(r"\\(?:'[0-9a-fA-F]{2}|[a-zA-Z]+(-?[0-9]{1,10})? ?|[^a-zA-Z])|[{}]|[^\\{}]+|\\", re.DOTALL)
_CONTROL = re.compile(r"\\(v|deleted|plain|cf|fs|cb|highlight|chcbpat|cbpat|clcbpat)(-?[0-9]{1,5})? ?")
_TINY = re.compile(r"\\fs[0-4](?![0-9])")
_COLOURS = re.compile(r"\{\\colortbl([^{}]{0,20000})\}")
# Half points; nobody reads two points.
_SMALLEST = 4


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


@dataclass(frozen=True, slots=True)
class _Look:
    """How the words of a group look."""

    gone: bool = False
    white: bool = False
    tiny: bool = False
    shaded: bool = False

    @property
    def hides(self) -> bool:
        return self.gone or self.tiny or (self.white and not self.shaded)


def _split(source: str) -> tuple[str, str]:
    """*source* without hidden runs, and the hidden runs. Hiding is a property of a group and ends with it."""
    white = _white_colours(source)
    if not white and "\\v" not in source and "\\deleted" not in source and not _TINY.search(source):
        return source, ""
    shown: list[str] = []
    hidden: list[str] = []
    stack: list[_Look] = []
    look = _Look()
    for match in _WORD.finditer(source):
        word = match[0]
        control = _CONTROL.fullmatch(word)
        if word == "{":
            stack.append(look)
        elif word == "}":
            look = stack.pop() if stack else _Look()
        elif control:
            look = _changed(look, control[1], control[2], white)
            if control[1] in ("v", "deleted"):
                continue
        is_text = not word.startswith("\\") or word.startswith(("\\'", "\\u"))
        (hidden if look.hides and is_text and word not in "{}" else shown).append(word)
    return "".join(shown), "".join(hidden)


def _changed(look: _Look, name: str, number: str | None, white: frozenset[str]) -> _Look:
    """*look* after a control word."""
    if name in ("v", "deleted"):
        return replace(look, gone=number != "0")
    if name == "plain":
        return _Look(shaded=look.shaded)
    if name == "cf":
        return replace(look, white=number in white)
    if name == "fs":
        return replace(look, tiny=number is not None and number.isdigit() and int(number) <= _SMALLEST)
    if name in ("cb", "highlight", "chcbpat", "cbpat", "clcbpat"):
        return replace(look, shaded=number not in (None, "0", *white))
    return look


def _white_colours(source: str) -> frozenset[str]:
    """Numbers of the colours that nobody sees on white; the first, which is nothing, is the usual one."""
    table = _COLOURS.search(source)
    found: set[str] = set()
    for number, entry in enumerate(table[1].split(";") if table else ()):
        parts = dict(re.findall(r"\\(red|green|blue)([0-9]{1,3})", entry))
        if len(parts) == 3:
            red, green, blue = (float(min(int(parts[name]), 255)) for name in ("red", "green", "blue"))
            if not colours.legible((red, green, blue, 1.0), colours.WHITE):
                found.add(str(number))
    return frozenset(found)


def _read(source: str) -> str:
    return str(rtf_to_text(source, errors="replace"))  # type: ignore[no-untyped-call]
