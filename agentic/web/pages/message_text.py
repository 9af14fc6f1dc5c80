"""The text of a message cut into what the page shows: quoted parts to fold, pages, and the cited span to mark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mailsearch.hits import PartText, Region

# Characters of one part that a page shows at once; mail may hold five million in one line.
WINDOW = 60_000


@dataclass(frozen=True, slots=True)
class Span:
    """Where a citation points: code points of one part, end exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text of one kind: `own`, `quoted`, `forwarded`, `signature`."""

    kind: str
    said_by: str
    pieces: tuple[tuple[str, bool], ...]
    # The page of an attachment that begins here.
    page: int | None = None

    @property
    def folded(self) -> bool:
        """Whether it is what somebody else wrote, and nothing in it is cited."""
        return self.kind in ("quoted", "forwarded") and not any(marked for _, marked in self.pieces)


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


def window(part: PartText, span: Span | None, at: int) -> Window:
    """The window of *part* from *at* on, or around the cited span."""
    total = len(part.text)
    start = max(0, span.start - WINDOW // 2) if span is not None and total > WINDOW else min(at, total)
    end = min(total, start + WINDOW)
    return Window(tuple(_segments(part, span, start, end)), start, end, total)


def _segments(part: PartText, span: Span | None, start: int, end: int) -> Iterator[Segment]:
    for low, high, kind, said_by in _stretches(part.regions, start, end):
        cuts = [low, *(one for one in part.page_starts if low < one < high), high]
        for left, right in pairwise(cuts):
            page = part.page_at(left) if left in part.page_starts or (part.page_starts and left == start) else None
            yield Segment(kind, said_by, tuple(_pieces(part.text, left, right, span)), page)


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


def _pieces(text: str, start: int, end: int, span: Span | None) -> Iterator[tuple[str, bool]]:
    low = min(max(span.start, start), end) if span is not None else end
    high = min(max(span.end, low), end) if span is not None else end
    for left, right, marked in ((start, low, False), (low, high, True), (high, end, False)):
        if right > left:
            yield text[left:right], marked
