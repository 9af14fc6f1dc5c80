"""Labels: the random names under which a run's model cites messages, so that no mail can know one beforehand."""

import re
from collections.abc import Callable, Collection, Iterable

# Draws a whole number from 0 up to but without the one given; `secrets.randbelow` outside of tests.
Below = Callable[[int], int]

LABEL_PATTERN = r"[a-z][0-9a-z]{5,11}"
_LABEL = re.compile(LABEL_PATTERN)
# What stands in an answer as a citation: labels in square brackets, apart by comma or semicolon.
CITATION_MARKER = re.compile(rf"\[ *{LABEL_PATTERN}(?: *[,;] *{LABEL_PATTERN})* *\]")

_LETTERS = "abcdefghijkmnpqrstuvwxyz"
_SIGNS = _LETTERS + "23456789"
_LENGTH = 6
_DIGITS_AT_LEAST = 2
_CANDIDATES = len(_LETTERS) * len(_SIGNS) ** (_LENGTH - 1)


def is_label(text: str) -> bool:
    """Whether *text* has the form of a label: byte for byte, ASCII only."""
    return _LABEL.fullmatch(text) is not None


def draw_label(texts: Iterable[str], taken: Collection[str], below: Below) -> str:
    """A label that is not among *taken* and occurs in none of *texts*."""
    texts = tuple(texts)
    while True:
        label = _candidate(below)
        if label not in taken and not any(label in text for text in texts):
            return label


def _candidate(below: Below) -> str:
    # Two digits and more keep a label from being a word of any language.
    while True:
        # One draw for all of its signs: drawing is most of what a label costs.
        rest, first = divmod(below(_CANDIDATES), len(_LETTERS))
        label = _LETTERS[first]
        for _ in range(_LENGTH - 1):
            rest, sign = divmod(rest, len(_SIGNS))
            label += _SIGNS[sign]
        if sum(map(str.isdigit, label)) >= _DIGITS_AT_LEAST:
            return label
