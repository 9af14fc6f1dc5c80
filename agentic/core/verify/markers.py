"""Citation markers: `[label]` or `[label, label]`, in ASCII, byte for byte."""

import re
from collections.abc import Collection
from dataclasses import dataclass

_MARKER = re.compile(r"\[([a-z][0-9a-z]*(?:[ \t]*[,;][ \t]*[a-z][0-9a-z]*)*)\]")
# Words that an editor puts in brackets; never labels.
_EDITORIAL = frozenset({"sic"})


@dataclass(frozen=True, slots=True)
class Marker:
    """One pair of brackets with its labels. `end` exclusive."""

    start: int
    end: int
    labels: tuple[str, ...]


def find(text: str, known: Collection[str] = ()) -> tuple[Marker, ...]:
    """The markers of *text* in order. A bracket is one if all it lists look like labels or are in *known*.

    Ranges, upper case, suffixes and other alphabets make no marker; such brackets are text.
    """
    found = []
    for match in re.finditer(r"\[([^\[\]\n]{1,200})\]", text):
        labels = tuple(label.strip(" \t") for label in re.split(r"[,;]", match.group(1)))
        if match.group(1) in _EDITORIAL or text[match.end() : match.end() + 1] == "(":
            continue
        if _MARKER.fullmatch(match.group()) or all(label in known for label in labels):
            found.append(Marker(match.start(), match.end(), labels))
    return tuple(found)


def without(text: str, known: Collection[str] = ()) -> str:
    """*text* as a reader sees it: markers gone, and no space left before the punctuation that followed them."""
    pieces, position = [], 0
    for marker in find(text, known):
        pieces.append(text[position : marker.start])
        position = marker.end
    pieces.append(text[position:])
    joined = "".join(piece if index == 0 else "\u0000" + piece for index, piece in enumerate(pieces))
    joined = re.sub(r"[ \t]*\u0000[ \t]*(?=[.,;:!?\u3002\u0964)\u0000]|$)", "", joined, flags=re.MULTILINE)
    joined = re.sub(r"(^|[ \t\n])\u0000[ \t]*", r"\1", joined)
    return joined.replace("\u0000", "").strip()
