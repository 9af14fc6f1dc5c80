"""Two texts side by side, word by word: what is the same in both, and what differs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORDS = re.compile(r"\S+\s*")
_MOST = 300
_EDGES = ".,;:!?\"'()[]«»“”„‘’…"

Pieces = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Both texts in pieces; True marks what the other one does not say."""

    one: Pieces
    other: Pieces


def compared(one: str, other: str) -> Compared:
    """*one* and *other* with their differing words marked. Case and punctuation at the edges of words do not differ."""
    mine, theirs = _WORDS.findall(one)[:_MOST], _WORDS.findall(other)[:_MOST]
    matcher = SequenceMatcher(None, [_plain(word) for word in mine], [_plain(word) for word in theirs], autojunk=False)
    left: list[tuple[str, bool]] = []
    right: list[tuple[str, bool]] = []
    for kind, low, high, from_, until in matcher.get_opcodes():
        left.append(("".join(mine[low:high]), kind != "equal"))
        right.append(("".join(theirs[from_:until]), kind != "equal"))
    return Compared(_filled(left), _filled(right))


def nearest(words: str, texts: Sequence[str]) -> tuple[str, int]:
    """The sentence of *texts* that shares most words with *words*, and which text it stands in.

    Empty, and -1, where none shares any.
    """
    wanted = {_plain(word) for word in words.split() if len(word) > 2}
    best, most, place = "", 0, -1
    for number, text in enumerate(texts):
        for one in re.split(r"(?<=[.!?])\s+|\n+", text):
            shared = len(wanted & {_plain(word) for word in one.split()})
            if shared > most:
                best, most, place = one.strip(), shared, number
    return best, place


def _plain(word: str) -> str:
    return word.strip().strip(_EDGES).casefold()


def _filled(pieces: list[tuple[str, bool]]) -> Pieces:
    """Without empty pieces, and with the white space after a marked one apart from it."""
    cut = [(part, marked and not part.isspace()) for text, marked in pieces for part in _ended(text, marked)]
    return tuple(piece for piece in cut if piece[0])


def _ended(text: str, marked: bool) -> tuple[str, ...]:
    words = text.rstrip() if marked else text
    return words, text[len(words) :]
