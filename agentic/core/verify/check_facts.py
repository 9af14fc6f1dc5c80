"""Facts of a unit against the messages that it cites: is each there, and do they stand together?"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from itertools import islice, product

from agentic.core.verify.facts import dates
from agentic.core.verify.facts.extract import extract
from agentic.core.verify.facts.match import family, is_long, is_numeral, supports
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.lookup import Match
from agentic.core.verify.normalise import JOINT
from agentic.core.verify.sources import MessageIndex, PartIndex, Piece, normal_text
from agentic.core.verify.words import language_of

# Places of one fact in one message that are looked at, and facts that what a source says instead is chosen from.
MAX_PLACES = 2_000
# Characters of stored text around a quotation within which its facts may stand.
REACH = 300


@dataclass(frozen=True, slots=True)
class Place:
    """A fact of a message and where it stands; part and piece are None for what only the head says."""

    fact: Fact
    part: PartIndex | None
    piece: Piece | None
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class FactIndex:
    """The facts of one message under the keys that a claim can find them by, and the units that each part names."""

    by_key: dict[object, list[Place]]
    by_kind: dict[str, list[Place]]
    units: dict[str, frozenset[str]]
    year: int
    # What claims were found to stand on, without their own places.
    _found: dict[Fact, list[Place]] = field(default_factory=dict)

    def places(self, claim: Fact) -> list[Place]:
        """Where the message says what *claim* says, the first MAX_PLACES of them."""
        bare = replace(claim, start=0, end=0)
        if bare not in self._found:
            pool = (place for key in _keys_of_claim(claim) for place in self.by_key.get(key, ()))
            standing = (place for place in pool if supports(place.fact, claim, self.year, self._units_of(place)))
            self._found[bare] = list(islice(standing, MAX_PLACES))
        return self._found[bare]

    def _units_of(self, place: Place) -> frozenset[str]:
        return self.units.get(place.part.part.name, frozenset()) if place.part else frozenset()


def _keys_of_claim(claim: Fact) -> tuple[object, ...]:
    """The keys under which facts that could support *claim* are kept."""
    value = claim.value
    if claim.kind == "date" and isinstance(value, tuple):
        return (("month", value[1]),) if not value[2] else (("day", value[1], value[2]),)
    if claim.kind == "weekday":
        return ("weekday",)
    if claim.kind in ("time", "domain"):
        return (claim.kind,)
    if claim.kind == "number":
        share = (value * 100,) if claim.worded and isinstance(value, Decimal) and 0 < value < 1 else ()
        return value, ("year", value), *share, *((claim.text,) if is_numeral(claim) else ())
    return (value, Decimal(str(value)).normalize()) if is_long(claim) else (value,)


def _keys_of_fact(fact: Fact, year: int) -> list[object]:
    """The keys of a message's fact."""
    keys: list[object] = [fact.value]
    if fact.kind == "date" and isinstance(fact.value, tuple):
        keys = [("month", fact.value[1]), ("day", *fact.value[1:]), "weekday", ("year", Decimal(fact.value[0] or year))]
    elif fact.kind == "weekday":
        keys = ["weekday"]
    elif fact.kind == "time":
        keys = ["time"]
    elif fact.kind in ("domain", "email", "url"):
        keys.append("domain")
    return keys


def languages_of(*codes: str) -> tuple[str, ...]:
    """The languages whose number words count: those named and English, or the best tested ones where none is known."""
    known = tuple(dict.fromkeys(code for code in codes if code in _KNOWN))
    return (*known, "en") if known and "en" not in known else known or ("en", "de", "fr")


def languages_for(own: str, cited: Sequence[MessageIndex]) -> tuple[str, ...]:
    """The languages of the number words of a unit: its own, or where that can't be told those of what it cites too."""
    spoken = language_of(own)
    if spoken:
        return languages_of(spoken)
    sources = languages_of(*{part.language: None for index in cited for part in index.parts})
    return tuple(dict.fromkeys([*languages_of(), *sources]))


_KNOWN = ("en", "de", "fr", "es", "it", "nl", "pt", "pl")


def facts_of(index: MessageIndex) -> FactIndex:
    """All facts that *index* may support: of its visible text that is not quoted, and of its head. Made once."""
    made = index.memo.get("facts")
    if not isinstance(made, FactIndex):
        made = index.memo["facts"] = _build(index, borrowed=False)
    return made


def borrowed_facts_of(index: MessageIndex) -> FactIndex:
    """The facts that only stand in what the message quotes; they support nothing, but say why a fact was not found."""
    made = index.memo.get("borrowed")
    if not isinstance(made, FactIndex):
        made = index.memo["borrowed"] = _build(index, borrowed=True)
    return made


def _build(index: MessageIndex, *, borrowed: bool) -> FactIndex:
    places: list[Place] = [] if borrowed else list(_head_places(index))
    units: dict[str, frozenset[str]] = {}
    for part in index.parts:
        found = list(_part_places(part, borrowed=borrowed))
        units[part.part.name] = frozenset(
            place.fact.unit for place in found if place.fact.unit and place.fact.kind != "time"
        ) | _named_units(part)
        places.extend(found)
    by_key: dict[object, list[Place]] = {}
    by_kind: dict[str, list[Place]] = {}
    year = index.message.head.received_at.year
    for place in places:
        for key in _keys_of_fact(place.fact, year):
            by_key.setdefault(key, []).append(place)
        by_kind.setdefault(place.fact.kind, []).append(place)
    return FactIndex(by_key, by_kind, units, year)


def _named_units(part: PartIndex) -> frozenset[str]:
    """Currencies and the percent sign of headings and header rows, which stand beside no number."""
    text = part.text
    named = {code for sign, code in (("\u20ac", "eur"), ("$", "$"), ("\u00a3", "gbp"), ("%", "%")) if sign in text}
    named.update(
        code for code in ("eur", "usd", "gbp", "chf") if f" {code}" in text or f"({code})" in text or f"{code} " in text
    )
    return frozenset(named)


def _part_places(part: PartIndex, *, borrowed: bool) -> Iterable[Place]:
    for fact in _facts_in(part.text, languages_of(part.language)):
        piece = part.piece_at(fact.start)
        if (piece.borrowed == "quoted") is not borrowed:
            continue
        end = min(fact.end, piece.base + len(piece.normalised.text))
        start, stop = piece.normalised.span(fact.start - piece.base, max(end - piece.base, fact.start - piece.base + 1))
        yield Place(fact, part, piece, start, stop)


def _facts_in(text: str, languages: tuple[str, ...]) -> Iterable[Fact]:
    """The facts of a part's normal form; a word broken at a line end is read with its hyphen and without."""
    if JOINT not in text:
        return extract(text, languages)
    joints = [match.start() - number for number, match in enumerate(re.finditer(JOINT, text))]
    joined = extract(text.replace(JOINT, ""), languages)
    moved = (
        replace(f, start=f.start + bisect_right(joints, f.start), end=f.end + bisect_left(joints, f.end))
        for f in joined
    )
    return [*extract(text.replace(JOINT, "-"), languages), *moved]


def _head_places(index: MessageIndex) -> Iterable[Place]:
    head = index.message.head
    for address in (head.sender, *head.to, *head.cc):
        for fact in extract(normal_text(address.address) + " " + normal_text(address.name)):
            yield Place(fact, None, None)
    for attachment in head.attachments:
        for fact in extract(normal_text(attachment.filename)):
            yield Place(fact, None, None)
    for moment in (head.sent_at, head.received_at):
        if isinstance(moment, datetime):
            yield Place(Fact("date", dates.of_moment(moment), moment.date().isoformat(), 0, 0, head=True), None, None)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the facts of a unit; `reason` is empty where nothing is.

    `fact` is as claimed, `source` what the cited messages say instead.
    """

    reason: str = ""
    fact: str = ""
    source: str = ""
    # Messages of which only a forwarded stretch has a fact of the unit.
    relayed: tuple[Place, ...] = ()


def check(claims: Sequence[Fact], cited: Sequence[MessageIndex], quotes: Sequence[Match]) -> Finding:
    """Whether every claim occurs in the cited messages, all near one quotation or in one stored sentence."""
    indexes = [facts_of(index) for index in cited]
    found: list[list[tuple[int, Place]]] = []
    for claim in claims:
        places = [(number, place) for number, index in enumerate(indexes) for place in index.places(claim)]
        if not places:
            return Finding("fact_not_found", claim.text, _instead(claim, indexes))
        found.append(places)
    loose = [
        (claim, places)
        for claim, places in zip(claims, found, strict=True)
        if not any(
            place.part is None or place.part.part.name == "subject" or _near(place, quotes) for _, place in places
        )
    ]
    if len(loose) > 1 and not _together([places for _, places in loose], cited):
        return Finding("fact_scattered", "; ".join(dict.fromkeys(claim.text for claim, _ in loose)))
    if loose and quotes and not _beside(loose[0][1], quotes):
        return Finding("fact_scattered", loose[0][0].text)
    return Finding(relayed=tuple(_relayed(found)))


def _near(place: Place, quotes: Sequence[Match]) -> bool:
    return any(
        place.part is quote.part
        and place.start <= max(quote.end + REACH, quote.sentence[1])
        and place.end >= min(quote.start - REACH, quote.sentence[0])
        for quote in quotes
    )


def _beside(places: list[tuple[int, Place]], quotes: Sequence[Match]) -> bool:
    """A fact away from all quotations stands, if it is from another message than they are."""
    return any(all(place.part not in quote.index.parts for quote in quotes) for _, place in places)


def _relayed(found: list[list[tuple[int, Place]]]) -> Iterable[Place]:
    for places in found:
        if all(place.piece is not None and place.piece.borrowed for _, place in places):
            yield places[0][1]


def _together(found: list[list[tuple[int, Place]]], cited: Sequence[MessageIndex]) -> bool:
    """Whether one stored sentence (or row with its header) of each cited message covers all facts between them."""
    wanted = set(range(len(found)))
    options = [_coverings(found, number) for number in range(len(cited))]
    # Four messages with a few sentences each; the bound keeps a hostile answer from costing more.
    choices = islice(product(*options), 5000)
    return any(wanted <= set().union(*choice) for choice in choices)


def _coverings(found: list[list[tuple[int, Place]]], number: int) -> list[frozenset[int]]:
    """Which facts each stored sentence of the message with this *number* holds, the fullest first."""
    spans: dict[object, set[int]] = {}
    for claim, places in enumerate(found):
        mine = [place for owner, place in places if owner == number][:50]
        for key in (key for place in mine for key in _sentence_keys(place)):
            spans.setdefault(key, set()).add(claim)
    distinct = {frozenset(), *(frozenset(covered) for covered in spans.values())}
    return sorted(distinct, key=lambda covered: (-len(covered), sorted(covered)))


def _sentence_keys(place: Place) -> list[object]:
    """What the fact's stored sentence is called; a fact in a table's first row belongs to all rows below it."""
    if place.part is None or place.piece is None:
        return ["head"]
    if place.piece.kind == "row":
        rows = _table_of(place.part, place.piece)
        return (
            [(id(place.part), row.start) for row in rows]
            if rows[0] is place.piece
            else [(id(place.part), place.piece.start)]
        )
    start, _ = place.part.sentence_around(place.piece, place.start, place.end)
    return [(id(place.part), start)]


def _table_of(part: PartIndex, piece: Piece) -> list[Piece]:
    at = part.pieces.index(piece)
    first = at
    while first > 0 and part.pieces[first - 1].kind == "row":
        first -= 1
    last = at
    while last + 1 < len(part.pieces) and part.pieces[last + 1].kind == "row":
        last += 1
    return list(part.pieces[first : last + 1])


def _instead(claim: Fact, indexes: Sequence[FactIndex]) -> str:
    """What the cited messages say of the same kind, nearest in value."""
    alike = (
        place.fact
        for index in indexes
        for place in islice(index.by_kind.get(claim.kind, []), MAX_PLACES)
        if family(place.fact) == family(claim)
    )
    pool = [fact for fact in alike if fact.text]
    if not pool:
        return ""
    if isinstance(claim.value, Decimal):
        numeric = [fact for fact in pool if isinstance(fact.value, Decimal)]
        if numeric:
            wanted = claim.value
            return min(numeric, key=lambda fact: abs(Decimal(str(fact.value)) - wanted)).text
    return max(pool, key=lambda fact: _alike(fact.text, claim.text)).text


def _alike(first: str, second: str) -> int:
    return sum(a == b for a, b in zip(first, second, strict=False))
