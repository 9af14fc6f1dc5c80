"""Where the links of a page lead, apart from its text: targets, and where the words of each stand in that text.

On its way to visible text only the blank space of a page changes. So a link's place is counted in characters that are
not blank, and found again in the text that came of it. Nobody follows a link here.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from mailsearch.hits import Link, PartLinks

# Links that are kept of one part, and the characters kept of the target of each.
MOST_LINKS = 200
LONGEST_TARGET = 2_000
# Tables let links stand inside of links. Each that is open is noted with every block that it goes over.
_MOST_OPEN = 2
# Characters of a text in which the words of another one's links are looked for.
_LOOKED_AT = 1_000_000
# Occurrences of a link's words that are looked at to find one that is no part of a longer word.
_TRIES = 5
_SCHEME = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
_BROKEN = re.compile(r"[\t\n\r]")
_ENDS = "".join(map(chr, range(33)))
_WORD = re.compile(r"\S+")


@dataclass(slots=True)
class Lead:
    """A link on its way: it counts once a reader could see something of it."""

    target: str
    start: int = -1
    end: int = -1
    worded: bool = False
    pictured: bool = False


# A link, and its first and last place in a text counted in characters that are not blank.
Span = tuple[Lead, int, int]


@dataclass(slots=True)
class _Mark:
    lead: Lead
    # Places in the inline text that is open; None: the link goes on.
    start: int
    end: int | None = None


@dataclass(slots=True)
class Links:
    """The links that a walk over a page meets."""

    found: list[Lead] = field(default_factory=list)
    more: int = 0
    marks: list[_Mark] = field(default_factory=list)
    _open: list[_Mark | None] = field(default_factory=list)
    _going_on: int = 0
    # Without words of their own: they stand where the next block begins.
    waiting: list[Lead] = field(default_factory=list)

    def enter(self, href: str, at: int, *, shows: bool) -> None:
        """A link begins at place *at* of the inline text. One that no reader sees is passed over."""
        target = target_of(href) if href and shows else ""
        if target and (len(self.found) >= MOST_LINKS or self._going_on >= _MOST_OPEN):
            self.more += 1
            target = ""
        if not target:
            self._open.append(None)
            return
        mark = _Mark(Lead(target), at)
        self.found.append(mark.lead)
        self.marks.append(mark)
        self._open.append(mark)
        self._going_on += 1

    def leave(self, at: int) -> None:
        """The innermost link ends at place *at*."""
        mark = self._open.pop() if self._open else None
        if mark is not None:
            mark.end = at
            self._going_on -= 1

    def picture(self) -> None:
        """An image that a reader sees stands here."""
        mark = self._open[-1] if self._open else None
        if mark is not None:
            mark.lead.pictured = True

    def take(self, inline: Sequence[str], *, blank: bool) -> tuple[Span, ...]:
        """The spans of links in *inline*, which becomes a block unless it is *blank*."""
        counts = [0, *accumulate(0 if blank else solid(text) for text in inline)]
        spans: list[Span] = [] if blank else [(lead, 0, 0) for lead in self.waiting]
        if not blank:
            self.waiting.clear()
        going_on = []
        for mark in self.marks:
            start, end = counts[mark.start], counts[len(inline) if mark.end is None else mark.end]
            if end > start:
                mark.lead.worded = True
                spans.append((mark.lead, start, end))
            elif mark.end is not None and not mark.lead.worded:
                if blank:
                    self.waiting.append(mark.lead)
                else:
                    spans.append((mark.lead, start, start))
            if mark.end is None:
                mark.start = 0
                going_on.append(mark)
        self.marks = going_on
        return tuple(spans)

    def part(self, length: int) -> PartLinks:
        """What was found, in the order of the page, in a text of *length* characters."""
        kept = []
        for lead in self.found:
            if lead.worded or lead.pictured:
                start = length if lead.start < 0 else lead.start
                kept.append(Link(start, max(start, lead.end), lead.target))
        return PartLinks(tuple(kept), self.more)


def target_of(href: str) -> str:
    """*href* as a browser reads it, at most LONGEST_TARGET characters; "" unless it is http, https or mailto."""
    target = href if href.isprintable() and href[0] != " " != href[-1] else _BROKEN.sub("", href.strip(_ENDS))
    return target[:LONGEST_TARGET] if _SCHEME.match(target) else ""


def solid(text: str) -> int:
    """How many characters of *text* are not blank."""
    return sum(map(len, text.split()))


def place(spans: Iterable[Span], text: str, base: int) -> None:
    """Tell the links of *spans* where they stand in *text*, which begins at offset *base* of its part."""
    words = [word.span() for word in _WORD.finditer(text)]
    starts = [start for start, _ in words]
    counts = [0, *accumulate(end - start for start, end in words)]
    count = counts.pop()

    def offset(at: int) -> int:
        if at >= count:
            return base + len(text)
        word = bisect_right(counts, at) - 1
        return base + starts[word] + at - counts[word]

    for lead, first, last in spans:
        start = offset(first)
        if lead.start < 0:
            lead.start = start
        lead.end = max(lead.end, start if last == first else min(offset(last - 1) + 1, base + len(text)))


def shifted(links: PartLinks, by: int) -> PartLinks:
    """*links* of a text that now begins at offset *by*."""
    return PartLinks(tuple(replace(one, start=one.start + by, end=one.end + by) for one in links.kept), links.more)


def together(several: Sequence[PartLinks]) -> PartLinks:
    """The links of *several* texts that are one."""
    kept = [one for links in several for one in links.kept]
    left_out = max(len(kept) - MOST_LINKS, 0)
    return PartLinks(tuple(kept[:MOST_LINKS]), left_out + sum(links.more for links in several))


def moved(links: PartLinks, source: str, text: str) -> PartLinks:
    """The links of *source* in *text*, which says the same otherwise.

    Each stands at the next occurrence of its words, or any; one whose words are not there stretches over none.
    """
    if not links.kept:
        return links
    flat, at, kept = text[:_LOOKED_AT].replace("\n", " "), 0, []
    for one in links.kept:
        words = source[one.start : one.end].replace("\n", " ")
        start = _find(flat, words, at) if words else -1
        if start < 0 and words and at:
            start = _find(flat, words, 0)
        end = at if start < 0 else start + len(words)
        kept.append(Link(end if start < 0 else start, end, one.target))
        at = end
    return PartLinks(tuple(kept), links.more)


def _find(text: str, words: str, at: int) -> int:
    """Where *words* stand by themselves in *text* from *at* on, or -1."""
    for _ in range(_TRIES):
        start = text.find(words, at)
        if start < 0:
            return -1
        before, after = text[start - 1 : start] if start else "", text[start + len(words) : start + len(words) + 1]
        if not (before.isalnum() and words[0].isalnum()) and not (after.isalnum() and words[-1].isalnum()):
            return start
        at = start + 1
    return -1
