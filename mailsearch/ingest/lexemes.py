"""From the texts of a message to its line of the keyword index: a tsvector, written by our own cutting of words.

`mailsearch.terms` says what stands in the index and why. Postgres gives the stems (its Snowball dictionaries), asked
once for each word and remembered; the vector itself is written here, since cutting the text twice by Postgres' parser
would cost more than all the rest of an import.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct, pack, unpack
from typing import NamedTuple

from mailsearch.terms import lexemes_and_places

# What Postgres allows: bytes of a vector, the highest position, positions of one lexeme.
_MOST_BYTES = 1_000_000
_LAST_POSITION = 16_383
_MOST_POSITIONS = 255
# Words between two fields, so that no phrase runs from one into the other.
_GAP = 10
_REMEMBERED = 300_000
# The longest words that people look for.
_TYPED = 40
# A place is a position with its weight in the two bits above, as a tsvector has it.
_WEIGHTS = {"A": 3 << 14, "B": 2 << 14, "C": 1 << 14, "D": 0}
_COUNT = Struct(">I").pack
# Each place as a tsvector's binary form has it: the two bytes stand ready, since numbers would have to be packed again.
_PLACES = [place.to_bytes(2) for place in range(1 << 16)]
# What follows a lexeme: the zero byte that ends it, and how many places there are, by the bytes of these.
_ENDS = [bytes(1) + (size // 2).to_bytes(2) for size in range(2 * _MOST_POSITIONS + 1)]

# dictionary, words → stem of each word that has one.
AskStems = Callable[[str, Sequence[str]], Mapping[str, str]]


class Field(NamedTuple):
    """A text with its weight: A, B, C or D."""

    weight: str
    text: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The lexemes of a message's fields, each with its packed places in rising order, and the number of words."""

    places: dict[str, bytes]
    length: int


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A tsvector as lexemes with their packed places. `capped`: something did not fit in."""

    places: dict[str, bytes]
    length: int
    capped: bool

    def packed(self) -> bytes:
        """The vector in Postgres' binary form (`tsvectorrecv`): no parser has to read it."""
        # All lexemes at once, at a fifth of the cost; none holds a zero.
        lexemes = "\0".join(self.places).encode().split(b"\0") if self.places else []
        rest = [
            lexeme + _ENDS[len(places)] + places for lexeme, places in zip(lexemes, self.places.values(), strict=True)
        ]
        return b"".join([_COUNT(len(rest)), *rest])


def tokens(fields: Iterable[Field]) -> Tokens:
    """Cut *fields* into lexemes; the first of them keep their places if not everything fits."""
    places_of: dict[str, bytes] = {}
    before = places_of.get
    base = length = 0
    for field in fields:
        lexemes, places = (_of_participant if field.weight == "B" else lexemes_and_places)(field.text)
        if not places:
            base += _GAP
            continue
        start, last = _WEIGHTS[field.weight] | base, places[-1]
        if base + last < _LAST_POSITION:
            packed = _PLACES[start : start + last + 1].__getitem__
            # Most of what indexing costs.
            for lexeme, place in zip(lexemes, map(packed, places), strict=True):
                places_of[lexeme] = before(lexeme, b"") + place
        else:
            _take_far(places_of, lexemes, places, base, _WEIGHTS[field.weight])
        length += last
        base += last + _GAP
    return Tokens(places_of, length)


# People write often.
@lru_cache(2_000)
def _of_participant(text: str) -> tuple[Sequence[str], Sequence[int]]:
    return lexemes_and_places(text)


def _take_far(
    places_of: dict[str, bytes], lexemes: Sequence[str], places: Sequence[int], base: int, weight: int
) -> None:
    """Take in a field that runs beyond the last position: what stands there is found, but at no place of its own."""
    for lexeme, place in zip(lexemes, places, strict=True):
        known = places_of.get(lexeme, b"")
        if not known or _position(unpacked(known[-2:])[0]) != _LAST_POSITION:
            places_of[lexeme] = known + _PLACES[weight | min(base + place, _LAST_POSITION)]


def unpacked(places: bytes) -> tuple[int, ...]:
    """Packed *places* as numbers."""
    return unpack(f">{len(places) // 2}H", places)


def _position(place: int) -> int:
    return place & _LAST_POSITION


def index_line(found: Tokens, stems: Mapping[str, str]) -> IndexLine:
    """The line of *found*, with the stems of its words beside them."""
    own = found.places
    beside: dict[str, bytes] = {}
    for stem, places in zip(map(stems.get, own), own.values(), strict=True):
        if stem:
            known = beside.get(stem) or own.get(stem)
            beside[stem] = _merged(known + places) if known else places
    places_of = own | beside
    return _fitting(places_of, found.length)


def _merged(several: bytes) -> bytes:
    """Places of several lexemes in rising order. At one position one place counts, the one with the greater weight."""
    by_position = {place & _LAST_POSITION: place for place in sorted(unpacked(several))}
    return pack(f">{len(by_position)}H", *map(by_position.__getitem__, sorted(by_position)))


def _fitting(places_of: dict[str, bytes], length: int) -> IndexLine:
    """As much of a line as a tsvector takes."""
    sizes = list(map(len, places_of.values()))
    if sizes and max(sizes) > 2 * _MOST_POSITIONS:
        places_of = {lexeme: places[: 2 * _MOST_POSITIONS] for lexeme, places in places_of.items()}
    # Even if every character took four bytes.
    if 4 * len("".join(places_of)) + sum(sizes) + 3 * len(places_of) < _MOST_BYTES:
        return IndexLine(places_of, length, capped=False)
    fitting: dict[str, bytes] = {}
    size = 0
    # Words before numbers and codes, and those before what is too long for anyone to type.
    for lexeme, places in sorted(places_of.items(), key=lambda item: (len(item[0]) > _TYPED, not item[0].isalpha())):
        # Each lexeme is followed by an aligned count.
        size += len(lexeme.encode()) + 3 + len(places)
        if size > _MOST_BYTES:
            return IndexLine(fitting, length, capped=True)
        fitting[lexeme] = places
    return IndexLine(fitting, length, capped=False)


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
