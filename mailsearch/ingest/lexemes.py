"""From the texts of a message to its line of the keyword index: a tsvector, written by our own cutting of words.

`mailsearch.terms` says what stands in the index and why. Postgres gives the stems (its Snowball dictionaries), asked
once for each word and remembered; the vector itself is written here, since cutting the text twice by Postgres' parser
would cost more than all the rest of an import.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mailsearch.terms import positioned_tokens

# What Postgres allows: bytes of a vector, the highest position, positions of one lexeme.
_MOST_BYTES = 1_000_000
_LAST_POSITION = 16_383
_MOST_POSITIONS = 255
# Words between two fields, so that no phrase runs from one into the other.
_GAP = 10
_REMEMBERED = 300_000
# Every position as it is written for each weight; D is what Postgres takes where none is written.
_PLACES = {
    weight: [f"{position}{weight.strip('D')}" for position in range(_LAST_POSITION + 1)]
    for weight in ("A", "B", "C", "D")
}

# dictionary, words → stem of each word that has one.
AskStems = Callable[[str, Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Field:
    """A text with its weight: A, B, C or D."""

    weight: str
    text: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The lexemes of a message's fields: each with its positions, already as `17C`."""

    positions: dict[str, list[str]]
    # Number of words.
    length: int
    # The words that a dictionary may know.
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A tsvector in Postgres' notation. `capped`: something did not fit in."""

    vector: str
    length: int
    capped: bool


def tokens(fields: Iterable[Field]) -> Tokens:
    """Cut *fields* into lexemes; the first of them keep their places if not everything fits."""
    positions: dict[str, list[str]] = {}
    base = length = 0
    for field in fields:
        last = 0
        places_of = _PLACES[field.weight]
        for lexeme, last in positioned_tokens(field.text):
            at = base + last
            place = places_of[at if at < _LAST_POSITION else _LAST_POSITION]
            places = positions.get(lexeme)
            if places is None:
                positions[lexeme] = [place]
            elif len(places) < _MOST_POSITIONS:
                places.append(place)
        length += last
        base += last + _GAP
    words = frozenset(one for one in positions if 2 < len(one) < 40 and one.isalpha() and one[0] < "\u0e00")
    return Tokens(positions, length, words)


def index_line(found: Tokens, stems: Mapping[str, str]) -> IndexLine:
    """The line of *found*, with the stems of its words beside them."""
    positions = dict(found.positions)
    stemmed: dict[str, list[str]] = {}
    for word in found.words:
        stem = stems.get(word)
        if stem:
            stemmed[stem] = stemmed.get(stem, []) + positions[word]
    for stem, places in stemmed.items():
        positions[stem] = positions[stem] + places if stem in positions else places
    if _surely_fits(positions):
        return IndexLine(" ".join([_piece(*item) for item in positions.items()]), found.length, capped=False)
    pieces: list[str] = []
    size = 0
    for lexeme, places in positions.items():
        size += _size(lexeme, places)
        if size > _MOST_BYTES:
            return IndexLine(" ".join(pieces), found.length, capped=True)
        pieces.append(_piece(lexeme, places))
    return IndexLine(" ".join(pieces), found.length, capped=False)


def _surely_fits(positions: Mapping[str, list[str]]) -> bool:
    """Whether the vector stays within its limit even if every character took four bytes."""
    characters, places = sum(map(len, positions)), sum(map(len, positions.values()))
    return 4 * characters + 2 * places + 3 * len(positions) < _MOST_BYTES


def _piece(lexeme: str, places: list[str]) -> str:
    if not lexeme.isalnum():
        lexeme = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{lexeme}':{','.join(places[:_MOST_POSITIONS])}"


def _size(lexeme: str, places: list[str]) -> int:
    # Each lexeme is followed by an aligned count and two bytes a position.
    return len(lexeme if lexeme.isascii() else lexeme.encode()) + 3 + 2 * min(len(places), _MOST_POSITIONS)


class Stems:
    """The stems that were asked for, by dictionary. One for each importer."""

    def __init__(self, ask: AskStems) -> None:
        self._ask = ask
        self._known: dict[str, dict[str, str]] = {}

    def of(self, dictionary: str, words: Iterable[str]) -> Mapping[str, str]:
        """Stems by word for at least *words*; a word without one, or that is its own stem, has an empty one."""
        if dictionary == "simple":
            return {}
        known = self._known.setdefault(dictionary, {})
        if len(known) > _REMEMBERED:
            known.clear()
        missing = [word for word in set(words) if word not in known]
        if missing:
            found = self._ask(dictionary, missing)
            known.update((word, stem if (stem := found.get(word, "")) != word else "") for word in missing)
        return known
