"""From what a query wants to expressions over the lexemes of the index, but for the stems of its words.

Both sides cut text with `mailsearch.terms`. A word finds itself unstemmed and by its stem in every language that mail
may have been stemmed in; an identifier finds itself whole, joined and as its parts in a row.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mailsearch.search.query import ParsedQuery, Term, Wanted
from mailsearch.terms import LONGEST_LEXEME, index_tokens, is_dense, parts

_QUOTED = re.compile(r"'(?:[^'\\]|''|\\\\)*'")
_WHOLE = re.compile(rf"({_QUOTED.pattern})(:\*)?")
_WORD = re.compile(r"%[0-9]+\$s")
# Plain words of the query, and their numbers in it.
Numbers = Mapping[str, int]


def quoted(lexeme: str) -> str:
    """A lexeme as it stands in a tsquery that words are put into."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''").replace("%", "%%") + "'"


def own(tsquery: str) -> str:
    """The same in what a message says itself (weights A to C), not in what it quotes."""
    return _WHOLE.sub(lambda found: found[1] + (":*ABC" if found[2] else ":ABC"), tsquery)


def any_of(expressions: Iterable[str]) -> str:
    return "(" + " | ".join(expressions) + ")"


def all_of(expressions: Iterable[str]) -> str:
    return "(" + " & ".join(expressions) + ")"


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of a tsquery, and the lexemes that stand in it. `%n$s` stands for the forms of the query's nth word."""

    tsquery: str
    # One set for each word that must be there; any lexeme of a set will do.
    slots: tuple[frozenset[str], ...]

    def spaced(self) -> list[str]:
        """Each slot's lexemes apart by spaces, as words are put into them, too."""
        return [
            " ".join(one if _WORD.fullmatch(one) else one.replace("%", "%%") for one in sorted(slot))
            for slot in self.slots
        ]


@dataclass(frozen=True, slots=True)
class CutTerm:
    """A term of the query as the index knows it."""

    expression: Expression
    required: bool
    # Which of the query's words it is, from 1; 0 where it is more than a word.
    alone: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """A query as it is asked of the index. The server puts in the forms of its words."""

    # Its plain words, which every language may stem.
    words: tuple[str, ...] = ()
    terms: tuple[CutTerm, ...] = ()
    excluded: tuple[str, ...] = ()
    is_question: bool = False


# A plain word by itself, which most queries are.
_ONE_WORD = (CutTerm(Expression("((%1$s))", (frozenset(["%1$s"]),)), required=False, alone=1),)


def cut(parsed: ParsedQuery) -> Cut:
    word = _one_word(parsed)
    if word:
        return Cut((word,), _ONE_WORD, (), parsed.is_question)
    wanted = [one for term in parsed.terms for one in term.alternatives] + list(parsed.exclusions)
    words = tuple(sorted({word for one in wanted for word in _plain_words(one)}))
    numbers = {word: number for number, word in enumerate(words, 1)}
    terms = [found for term in parsed.terms if (found := _term(term, numbers)) is not None]
    unwanted = [expression(one, numbers) for one in parsed.exclusions]
    return Cut(words, tuple(terms), tuple(one.tsquery for one in unwanted if one is not None), parsed.is_question)


def _one_word(parsed: ParsedQuery) -> str:
    """The word that the query is, where it is one of ASCII's letters alone; else none."""
    if len(parsed.terms) != 1 or parsed.exclusions or len(parsed.terms[0].alternatives) != 1:
        return ""
    wanted = parsed.terms[0].alternatives[0]
    plain = not wanted.phrase and wanted.text.isascii() and wanted.text.isalpha() and len(wanted.text) <= LONGEST_LEXEME
    return wanted.text.lower() if plain else ""


def _plain_words(wanted: Wanted) -> list[str]:
    """The words of *wanted* whose stems are needed."""
    return [part for word in wanted.text.split() for part in parts(word) if part.isalpha()]


def _term(term: Term, numbers: Numbers) -> CutTerm | None:
    found = [one for wanted in term.alternatives if (one := expression(wanted, numbers)) is not None]
    if not found:
        return None
    if len(found) == 1:
        words = _plain_words(term.alternatives[0])
        return CutTerm(found[0], term.required, numbers[words[0]] if len(words) == 1 else 0)
    # Alternatives stand for each other, so they are as rare as the commonest of them.
    merged = frozenset(lexeme for one in found for slot in one.slots for lexeme in slot)
    return CutTerm(Expression(any_of(one.tsquery for one in found), (merged,)), required=True)


def expression(wanted: Wanted, numbers: Numbers) -> Expression | None:
    """What finds *wanted*; None if nothing in it can be found (punctuation alone)."""
    slots: list[frozenset[str]] = []
    whole: list[str] = []
    for word in wanted.text.split():
        found, larger = _slots(word, numbers, exact=wanted.phrase)
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


def _slots(word: str, numbers: Numbers, *, exact: bool) -> tuple[list[frozenset[str]], list[str]]:
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
    slots = [frozenset([piece if exact or piece not in numbers else f"%{numbers[piece]}$s"]) for piece in pieces]
    if len(pieces) == 1:
        return slots, []
    joined = "".join(pieces)
    return slots, [one for one in dict.fromkeys(tokens) if one == joined or (one not in pieces and _holds(one, pieces))]


def _holds(token: str, pieces: list[str]) -> bool:
    """Whether *token* runs from the first to the last of *pieces*."""
    return token.startswith(pieces[0]) and token.endswith(pieces[-1]) and len(token) >= len("".join(pieces))


def _lexeme(lexeme: str) -> str:
    if _WORD.fullmatch(lexeme):
        return lexeme
    # A single character of a script without spaces stands for every pair that it begins.
    return quoted(lexeme) + (":*" if len(lexeme) == 1 and is_dense(lexeme) else "")
