"""From the texts of a message to its line of the keyword index: a tsvector, written by our own cutting of words.

`mailsearch.terms` says what stands in the index and why. Postgres gives the stems (its Snowball dictionaries), asked
once for each word and remembered; the vector itself is written here, since cutting the text twice by Postgres' parser
would cost more than all the rest of an import.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple

from mailsearch.terms import lexemes_and_places

# What Postgres allows: bytes of a vector, the highest position, positions of one lexeme.
_MOST_BYTES = 1_000_000
_LAST_POSITION = 16_383
_MOST_POSITIONS = 255
# Words between two fields, so that no phrase runs from one into the other.
_GAP = 10
_REMEMBERED = 300_000
# A place is a position with its weight in the two bits above, as a tsvector has it.
_WEIGHTS = {"A": 3 << 14, "B": 2 << 14, "C": 1 << 14, "D": 0}
_COUNT = Struct(">I").pack
# What follows a lexeme: the zero byte that ends it, how many places, and the places.
_PLACES = [Struct(f">xH{count}H").pack for count in range(_MOST_POSITIONS + 1)]
_PLACE = _PLACES[1]

# dictionary, words → stem of each word that has one.
AskStems = Callable[[str, Sequence[str]], Mapping[str, str]]


class Field(NamedTuple):
    """A text with its weight: A, B, C or D."""

    weight: str
    text: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The lexemes of a message's fields, each with its places in rising order, and the number of words."""

    places: dict[str, list[int]]
    length: int


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A tsvector as lexemes with their places. `capped`: something did not fit in."""

    places: dict[str, list[int]]
    length: int
    capped: bool

    def packed(self) -> bytes:
        """The vector in Postgres' binary form (`tsvectorrecv`): no parser has to read it."""
        pieces = [_COUNT(len(self.places))]
        for lexeme, places in self.places.items():
            if len(places) == 1:
                pieces += lexeme.encode(), _PLACE(1, places[0])
            else:
                pieces += lexeme.encode(), _PLACES[len(places)](len(places), *places)
        return b"".join(pieces)


def tokens(fields: Iterable[Field]) -> Tokens:
    """Cut *fields* into lexemes; the first of them keep their places if not everything fits."""
    places_of: defaultdict[str, list[int]] = defaultdict(list)
    base = length = 0
    for field in fields:
        lexemes, places = lexemes_and_places(field.text)
        if not places:
            base += _GAP
            continue
        start, last = _WEIGHTS[field.weight] | base, places[-1]
        if base + last < _LAST_POSITION:
            # Most of what indexing costs.
            for lexeme, place in zip(lexemes, places, strict=True):
                places_of[lexeme].append(start + place)
        else:
            _take_far(places_of, lexemes, places, base, _WEIGHTS[field.weight])
        length += last
        base += last + _GAP
    return Tokens(dict(places_of), length)


def _take_far(
    places_of: dict[str, list[int]], lexemes: Sequence[str], places: Sequence[int], base: int, weight: int
) -> None:
    """Take in a field that runs beyond the last position: what stands there is found, but at no place of its own."""
    for lexeme, place in zip(lexemes, places, strict=True):
        at = weight | min(base + place, _LAST_POSITION)
        known = places_of.setdefault(lexeme, [])
        if not known or _position(known[-1]) != _LAST_POSITION:
            known.append(at)


def _position(place: int) -> int:
    return place & _LAST_POSITION


def index_line(found: Tokens, stems: Mapping[str, str]) -> IndexLine:
    """The line of *found*, with the stems of its words beside them."""
    places_of = dict(found.places)
    stemmed: dict[str, list[list[int]]] = {}
    for word, places in found.places.items():
        if stem := stems.get(word):
            stemmed.setdefault(stem, []).append(places)
    for stem, several in stemmed.items():
        if stem in places_of:
            several.append(places_of[stem])
        places_of[stem] = several[0] if len(several) == 1 else _merged(several)
    return _fitting(places_of, found.length)


def _merged(several: Iterable[Sequence[int]]) -> list[int]:
    """Places of several lexemes in rising order. At one position one place counts, the one with the greater weight."""
    by_position = {_position(place): place for place in sorted(place for places in several for place in places)}
    return [by_position[position] for position in sorted(by_position)]


def _fitting(places_of: dict[str, list[int]], length: int) -> IndexLine:
    """As much of a line as a tsvector takes."""
    counts = list(map(len, places_of.values()))
    if counts and max(counts) > _MOST_POSITIONS:
        places_of = {lexeme: places[:_MOST_POSITIONS] for lexeme, places in places_of.items()}
    characters, count = len("".join(places_of)), sum(counts)
    # Even if every character took four bytes.
    if 4 * characters + 2 * count + 3 * len(places_of) < _MOST_BYTES:
        return IndexLine(places_of, length, capped=False)
    fitting: dict[str, list[int]] = {}
    size = 0
    for lexeme, places in places_of.items():
        size += _size(lexeme, places)
        if size > _MOST_BYTES:
            return IndexLine(fitting, length, capped=True)
        fitting[lexeme] = places
    return IndexLine(fitting, length, capped=False)


def _size(lexeme: str, places: Sequence[int]) -> int:
    # Each lexeme is followed by an aligned count and two bytes a position.
    return len(lexeme if lexeme.isascii() else lexeme.encode()) + 3 + 2 * len(places)


def _has_stem(lexeme: str) -> bool:
    """Whether a dictionary may know *lexeme*."""
    return 2 < len(lexeme) < 40 and lexeme.isalpha() and lexeme[0] < "\u0e00"


class Stems:
    """The stems that were asked for, by dictionary. One for each importer."""

    def __init__(self, ask: AskStems) -> None:
        self._ask = ask
        self._known: dict[str, dict[str, str]] = {}

    def of(self, dictionary: str, lexemes: Iterable[str]) -> Mapping[str, str]:
        """Stems by word for at least those of *lexemes* that are words; one that is its own stem has an empty one."""
        if dictionary == "simple":
            return {}
        known = self._known.setdefault(dictionary, {})
        if len(known) > _REMEMBERED:
            known.clear()
        missing = [one for one in set(lexemes) - known.keys() if _has_stem(one)]
        if missing:
            found = self._ask(dictionary, missing)
            known.update((word, stem if (stem := found.get(word, "")) != word else "") for word in missing)
        return known
