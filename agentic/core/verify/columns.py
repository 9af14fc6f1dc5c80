"""Columns of prose side by side: a line of them is no sentence, though it stands in one row of the stored text."""

import re
from bisect import bisect_right
from itertools import pairwise

from agentic.core.verify.sources import PartIndex, Piece
from agentic.core.verify.words import every_stop_word

# What sets columns apart without a sign of its own.
_GAP = re.compile(r"(?<=\S)(?: *+\t[ \t]*+| {3,}+)(?=\S)")
# Words that a cell of prose has at least.
_WORDY = 3


def crosses(part: PartIndex, piece: Piece, start: int, end: int) -> bool:
    """Whether the span (offsets of the stored text) runs over the gap between two columns of prose.

    Cells of data may be read as a row, whatever sets them apart. Prose has some words in both cells, and a line of it
    breaks off: in the midst of a phrase, or with small letters in the row below, or behind one above.
    """
    if piece.kind != "row" or not _GAP.search(part.part.text, start, end):
        return False
    at = bisect_right(part.bases, piece.base) - 1
    above, own, below = (_cells(part, beside) for beside in (at - 1, at, at + 1))
    gaps = [found.start() + piece.start for found in _GAP.finditer(part.part.text[piece.start : piece.end])]
    for column, ((left, right), gap) in enumerate(zip(pairwise(own), gaps, strict=True)):
        if not start < gap < end or min(len(left.split()), len(right.split())) < _WORDY:
            continue
        continued = [*(own[column : column + 2] if above else ()), *below[column : column + 2]]
        if any(cell[:1].islower() for cell in continued) or _breaks_off(left) or _breaks_off(right):
            return True
    return False


def _breaks_off(cell: str) -> bool:
    return cell.endswith(",") or cell.rsplit(maxsplit=1)[-1].casefold() in every_stop_word()


def _cells(part: PartIndex, at: int) -> list[str]:
    """The cells of the row with this number among the pieces; none where there is no row."""
    if not 0 <= at < len(part.pieces) or part.pieces[at].kind != "row":
        return []
    piece = part.pieces[at]
    return [cell.strip() for cell in _GAP.split(part.part.text[piece.start : piece.end])]
