"""Citation markers: `[label]` or `[label, label]`, in ASCII, byte for byte."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

_MARKER = re.compile(r"\[([a-z][0-9a-z]*(?:[ \t]*[,;][ \t]*[a-z][0-9a-z]*)*)\]")
# A bracket in a bracket or before a parenthesis is a link of some markup, and a blank inside it is no label's.
_BRACKET = re.compile(r"(?<!\[)\[(?![ \t])([^\[\]\n]{1,200})(?<![ \t])\](?![\](])")
_BULLET = re.compile(r"(?:^|\n)[ \t]*(?:[-*+]|[0-9]{1,3}[.)])[ \t]+$")
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
    if "[" not in text:
        return ()
    brackets = _brackets(text)
    return tuple(marker for marker, shaped in brackets if shaped or all(label in known for label in marker.labels))


@lru_cache(maxsize=1024)
def _brackets(text: str) -> tuple[tuple[Marker, bool], ...]:
    """All brackets that may be markers, and whether their labels have the shape of labels."""
    found = []
    for match in _BRACKET.finditer(text):
        if match.group(1) in _EDITORIAL or _is_ticked(text, match):
            continue
        labels = tuple(label.strip(" \t") for label in re.split(r"[,;]", match.group(1)))
        found.append((Marker(match.start(), match.end(), labels), _MARKER.fullmatch(match.group()) is not None))
    return tuple(found)


def _is_ticked(text: str, match: re.Match[str]) -> bool:
    """The box of a task list: "- [x] done"."""
    return match.group(1) == "x" and _BULLET.search(text, max(0, match.start() - 12), match.start()) is not None


_LAST = re.compile(r"[.,;:!?\u3002\u0964)]?")


def without(text: str, known: Collection[str] = ()) -> str:
    """*text* as a reader sees it: markers gone, and no space left before the punctuation that followed them."""
    found = find(text, known)
    if not found:
        return text.strip()
    if len(found) == 1 and (last := _LAST.fullmatch(text, found[0].end)) and "\ue002" not in text:
        # By far the most common: one marker, and behind it nothing but the stop.
        return (text[: found[0].start].rstrip(" \t") + last.group()).strip()
    pieces, position = [], 0
    for marker in found:
        pieces.append(text[position : marker.start])
        position = marker.end
    pieces.append(text[position:])
    joined = "".join(piece if index == 0 else "\ue002" + piece for index, piece in enumerate(pieces))
    joined = re.sub(r"[ \t]*\ue002[ \t]*(?=[.,;:!?\u3002\u0964)\ue002]|$)", "", joined, flags=re.MULTILINE)
    joined = re.sub(r"(^|[ \t\n])\ue002[ \t]*", r"\1", joined)
    return joined.replace("\ue002", "").strip()
