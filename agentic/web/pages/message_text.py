"""The text of a message cut into what the page shows: quoted parts to fold, pages, the cited span to mark, and where
links lead that do not say so themselves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from mailsearch import hosts
from mailsearch.hits import Link, PartText, Region

# Characters of one part that a page shows at once; mail may hold five million in one line.
WINDOW = 60_000


@dataclass(frozen=True, slots=True)
class Span:
    """Where a citation points: code points of one part, end exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Destination:
    """The host that a link leads to; `differs` where its text names another one."""

    host: str
    differs: bool


class Piece(NamedTuple):
    """Text, whether it is cited, and where the links lead that end with it."""

    text: str
    marked: bool
    leads: tuple[Destination, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text of one kind: `own`, `quoted`, `forwarded`, `signature`."""

    kind: str
    said_by: str
    pieces: tuple[Piece, ...]
    # The page of an attachment that begins here.
    page: int | None = None

    @property
    def folded(self) -> bool:
        """Whether it is what somebody else wrote, and nothing in it is cited."""
        return self.kind in ("quoted", "forwarded") and not any(piece.marked for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a text that is shown, and where to read on."""

    segments: tuple[Segment, ...]
    start: int
    end: int
    total: int

    @property
    def earlier(self) -> int | None:
        return max(0, self.start - WINDOW) if self.start else None

    @property
    def later(self) -> int | None:
        return self.end if self.end < self.total else None


def window(part: PartText, span: Span | None, at: int, links: Sequence[Link] = ()) -> Window:
    """The window of *part* from *at* on, or around the cited span, with the destinations of its *links*."""
    total = len(part.text)
    start = max(0, span.start - WINDOW // 2) if span is not None and total > WINDOW else min(at, total)
    end = min(total, start + WINDOW)
    leads = _leads(part.text, links, start, end)
    return Window(tuple(_segments(part, span, start, end, leads)), start, end, total)


def _leads(text: str, links: Sequence[Link], start: int, end: int) -> dict[int, tuple[Destination, ...]]:
    """Where links that end in [start, end] lead, by their end: of those whose text does not name that host alone."""
    found: dict[int, dict[Destination, None]] = {}
    for link in links:
        if not start <= link.end <= end:
            continue
        words, host = text[link.start : link.end], hosts.host_of(link.target)
        differs = hosts.leads_elsewhere(words, link.target)
        if host and (differs or host not in hosts.hosts_named(words)):
            found.setdefault(link.end, {})[Destination(host, differs)] = None
    return {at: tuple(several) for at, several in found.items()}


def _segments(
    part: PartText, span: Span | None, start: int, end: int, leads: Mapping[int, tuple[Destination, ...]]
) -> Iterator[Segment]:
    if start in leads:
        yield Segment("own", "", (Piece("", False, leads[start]),))
    for low, high, kind, said_by in _stretches(part.regions, start, end):
        cuts = [low, *(one for one in part.page_starts if low < one < high), high]
        for left, right in pairwise(cuts):
            page = part.page_at(left) if left in part.page_starts or (part.page_starts and left == start) else None
            yield Segment(kind, said_by, tuple(_pieces(part.text, left, right, span, leads)), page)


def _stretches(regions: Sequence[Region], start: int, end: int) -> Iterator[tuple[int, int, str, str]]:
    """[start, end) without gaps: the outermost regions, and what lies between them."""
    at = start
    for region in sorted(regions, key=lambda one: (one.start, -one.end)):
        low, high = max(region.start, at), min(region.end, end)
        if high <= low:
            continue
        if low > at:
            yield at, low, "own", ""
        yield low, high, region.kind, region.said_by
        at = high
    if at < end:
        yield at, end, "own", ""


def _pieces(
    text: str, start: int, end: int, span: Span | None, leads: Mapping[int, tuple[Destination, ...]]
) -> Iterator[Piece]:
    low = min(max(span.start, start), end) if span is not None else end
    high = min(max(span.end, low), end) if span is not None else end
    ends = sorted(at for at in leads if start < at < end)
    for left, right, marked in ((start, low, False), (low, high, True), (high, end, False)):
        cuts = [left, *(at for at in ends if left < at < right), right]
        for one, other in pairwise(cuts):
            if other > one:
                yield Piece(text[one:other], marked, leads.get(other, ()))
