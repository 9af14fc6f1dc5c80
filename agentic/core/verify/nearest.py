"""What a message says that comes nearest to words which it does not say: for the people who read removed units."""

from collections.abc import Sequence

from agentic.core.verify.sources import MessageIndex, PartIndex, Piece
from agentic.core.verify.support import content

_LONGEST = 300


def nearest(words: str, indexes: Sequence[MessageIndex]) -> str:
    """The stored sentence that shares most content words with *words* (normal form), or empty; at most 300 characters.

    Looks at the piece with most of the words first, then at its sentences, so each message is read once.
    """
    wanted = content(words)
    best: tuple[int, PartIndex, Piece] | None = None
    for index in indexes:
        for part, piece, stems in _pieces(index):
            shared = len(wanted & stems)
            if shared and (best is None or shared > best[0]):
                best = (shared, part, piece)
    if best is None:
        return ""
    _, part, piece = best
    texts = [part.part.text[start:end] for start, end in part.sentences(piece)]
    return max(texts, key=lambda text: len(wanted & content(text.casefold())), default="")[:_LONGEST]


def _pieces(index: MessageIndex) -> list[tuple[PartIndex, Piece, frozenset[str]]]:
    """All pieces with the stems of their content words, made once a message."""
    made = index.memo.get("stems")
    if not isinstance(made, list):
        made = index.memo["stems"] = [
            (part, piece, frozenset(content(piece.normalised.text))) for part in index.parts for piece in part.pieces
        ]
    return made
