"""What a reader of units is shown of a cited message: its head, and of each part what a unit may rest on.

The same for units that were kept, units that were removed and plants: how much is shown would otherwise tell which is
which, and what is left out could have borne a unit that verification removed.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentic.core.evidence import EvidenceItem
from agentic.core.verify.words import every_stop_word
from mailsearch.hits import Address, PartText

# A text up to this length is shown whole; of a longer one what stands around the places that share most with the unit.
_WHOLE, _AROUND, _PLACES = 4_000, 600, 3
# Attachments that are shown of one message, and words that a place of one must share with the unit.
_ATTACHMENTS, _SHARED = 2, 2
_PEOPLE = 6
_CUT = "[…]"
_WORD = re.compile(r"\w{3,}|[0-9]+")
_SENTENCE = re.compile(r"[^\n.!?]{0,400}[\n.!?]*")


@dataclass(frozen=True, slots=True)
class Source:
    """A part of a cited message: who wrote it to whom and when, under which subject, and its words.

    `part` is `body` or `attachment` with the file's name. Words that are left out are marked.
    """

    sender: str
    date: str
    subject: str
    part: str
    text: str
    to: str = ""


class Span(NamedTuple):
    """Characters of one part that a unit is known to cite."""

    part: str
    start: int
    end: int


def sources(item: EvidenceItem, unit: str, spans: Collection[Span] = ()) -> tuple[Source, ...]:
    """The body of *item*'s message and those attachments that *unit* may rest on, as a reader is shown them."""
    words = _words(unit)
    found = [_Part(part, words, [span for span in spans if span.part == part.name]) for part in item.message.parts]
    attached = sorted(
        (one for one in found if one.part.name not in ("body", "subject") and (one.spans or one.shared >= _SHARED)),
        key=lambda one: (not one.spans, -one.shared),
    )
    bodies = [one for one in found if one.part.name == "body"]
    return tuple(_source(item, one) for one in (*bodies, *attached[:_ATTACHMENTS]))


class _Part:
    """One part, and how many words its best place shares with the unit."""

    def __init__(self, part: PartText, words: frozenset[str], spans: Sequence[Span]) -> None:
        self.part, self.spans = part, spans
        shared = [(len(words & _words(match[0])), match.start(), match.end())
                  for match in _SENTENCE.finditer(part.text) if match[0]]  # fmt: skip
        self._best = sorted((one for one in shared if one[0]), key=lambda one: (-one[0], one[1]))[:_PLACES]
        self.shared = self._best[0][0] if self._best else 0

    def text(self) -> str:
        """The part whole, or in pieces with marks where something is left out."""
        text = self.part.text
        if len(text) <= _WHOLE:
            return text
        places = [(start, end) for _, start, end in self._best] or [(0, _AROUND)]
        pieces = list(_joined([*places, *((span.start, span.end) for span in self.spans)], len(text)))
        told = f"\n{_CUT}\n".join(text[start:end].strip("\n") for start, end in pieces)
        before = f"{_CUT}\n" if pieces[0][0] else ""
        return before + told + (f"\n{_CUT}" if pieces[-1][1] < len(text) else "")


def _joined(places: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    """*places* with what is around them, those that touch made one."""
    open_start = open_end = -1
    for place_start, place_end in sorted(places):
        start, end = max(0, place_start - _AROUND), min(length, place_end + _AROUND)
        if open_start >= 0 and start > open_end:
            yield open_start, open_end
            open_start = start
        open_start = start if open_start < 0 else open_start
        open_end = max(open_end, end)
    yield open_start, open_end


def _source(item: EvidenceItem, one: _Part) -> Source:
    head, part = item.message.head, one.part
    to = [_named(person) for person in (*head.to, *head.cc)]
    more = [f"and {len(to) - _PEOPLE} more"] if len(to) > _PEOPLE else []
    return Source(
        sender=_named(head.sender),
        date=(head.sent_at or head.received_at).isoformat(),
        subject=head.subject,
        part="body" if part.name == "body" else f"attachment {part.filename}".rstrip(),
        text=one.text(),
        to=", ".join([*to[:_PEOPLE], *more]),
    )


def _named(person: Address) -> str:
    return f"{person.name} <{person.address}>".strip()


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - every_stop_word()
