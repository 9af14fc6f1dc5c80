"""From what a query wants to expressions over the lexemes of the index.

Both sides cut text with `mailsearch.terms`. A word finds itself unstemmed and by its stem in every language that mail
may have been stemmed in; an identifier finds itself whole, joined and as its parts in a row.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mailsearch.search.query import Wanted
from mailsearch.terms import index_tokens, is_dense, parts

_QUOTED = re.compile(r"'(?:[^'\\]|''|\\\\)*'")
_WHOLE = re.compile(rf"({_QUOTED.pattern})(:\*)?")
# word → its lexemes, itself among them.
Stems = Mapping[str, frozenset[str]]


def quoted(lexeme: str) -> str:
    """A lexeme as it stands in a tsquery."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def own(tsquery: str) -> str:
    """The same in what a message says itself (weights A to C), not in what it quotes."""
    return _WHOLE.sub(lambda found: found[1] + (":*ABC" if found[2] else ":ABC"), tsquery)


def any_of(expressions: Iterable[str]) -> str:
    return "(" + " | ".join(expressions) + ")"


def all_of(expressions: Iterable[str]) -> str:
    return "(" + " & ".join(expressions) + ")"


def plain_words(wanted: Wanted) -> list[str]:
    """The words of *wanted* whose stems are needed."""
    return [part for word in wanted.text.split() for part in parts(word) if part.isalpha()]


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of a tsquery, and the lexemes that stand in it."""

    tsquery: str
    # One set for each word that must be there; any lexeme of a set will do.
    slots: tuple[frozenset[str], ...]

    @property
    def forms(self) -> int:
        """Among how many lexemes ts_rank shares what one of them is worth: all, unless some must be there together."""
        lexemes = _QUOTED.findall(self.tsquery)
        return 1 if any(sign in self.tsquery for sign in "<&") else len(lexemes)


def expression(wanted: Wanted, stems: Stems) -> Expression | None:
    """What finds *wanted*; None if nothing in it can be found (punctuation alone)."""
    slots: list[frozenset[str]] = []
    whole: list[str] = []
    for word in wanted.text.split():
        found, larger = _slots(word, stems, exact=wanted.phrase)
        slots += found
        whole += larger
    if not slots:
        return None
    row = " <-> ".join(any_of(_lexeme(one) for one in sorted(slot)) for slot in slots)
    if wanted.phrase or not whole:
        return Expression(f"({row})", tuple(slots))
    if any(character.isdigit() for character in wanted.text):
        return Expression(any_of([*map(quoted, whole), f"({row})"]), tuple(slots))
    # A compound ("and/or", "golf-club") may also be found as its words apart.
    apart = all_of(any_of(_lexeme(one) for one in sorted(slot)) for slot in slots)
    return Expression(any_of([*map(quoted, whole), apart]), tuple(slots))


def _slots(word: str, stems: Stems, *, exact: bool) -> tuple[list[frozenset[str]], list[str]]:
    """The words in a row that *word* is made of, and the larger pieces that hold all of them."""
    tokens = index_tokens(word)
    if not tokens:
        return [], []
    dense = [token for token in tokens if is_dense(token)]
    if dense:
        # The last character of a run by itself says nothing that the pair before it did not.
        kept = [one for one in tokens if len(one) > 1 or not is_dense(one)] or dense[:1]
        return [frozenset([one]) for one in kept], []
    pieces = parts(word)
    if not pieces:
        return [frozenset([tokens[0]])], []
    slots = [frozenset([piece]) if exact else stems.get(piece, frozenset([piece])) for piece in pieces]
    if len(pieces) == 1:
        return slots, []
    joined = "".join(pieces)
    return slots, [one for one in dict.fromkeys(tokens) if one == joined or (one not in pieces and _holds(one, pieces))]


def _holds(token: str, pieces: list[str]) -> bool:
    """Whether *token* runs from the first to the last of *pieces*."""
    return token.startswith(pieces[0]) and token.endswith(pieces[-1]) and len(token) >= len("".join(pieces))


def _lexeme(lexeme: str) -> str:
    # A single character of a script without spaces stands for every pair that it begins.
    return quoted(lexeme) + (":*" if len(lexeme) == 1 and is_dense(lexeme) else "")
