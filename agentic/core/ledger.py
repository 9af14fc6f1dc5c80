"""What one run has read: its evidence under labels, the ids that it may name, and the calls that it has made."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from agentic.core.evidence import EvidenceItem, FoundBy, text_sha256
from agentic.core.labels import Below, draw_label
from agentic.core.ports import ShownMessage, ToolMessage, ToolResult
from mailsearch.hits import Excerpt, MessageHead, MessageText

# What a message's own lines (label, sender, date, subject) take of the room for mail.
HEAD_CHARACTERS = 240
_SHORTEST_EXCERPT = 120
# With less room than this no message can be shown.
LEAST_CHARACTERS = HEAD_CHARACTERS + _SHORTEST_EXCERPT
_ID = re.compile(r"\b[a-z]{2,8}_[A-Za-z0-9_-]{16,64}")


@dataclass(frozen=True, slots=True)
class Admission:
    """What one result added. `shown` are its messages with the excerpts that the model had not seen before."""

    admitted: tuple[EvidenceItem, ...]
    seen_again: tuple[str, ...]
    shown: tuple[ShownMessage, ...]
    # Messages of the result for which no room was left. They are no evidence.
    left_out: int


class Ledger:
    """Grows with every result of a tool and with nothing else."""

    def __init__(self, question: str, below: Below) -> None:
        self.seen: frozenset[str] = frozenset(_ID.findall(question))
        self._below = below
        self._items: dict[str, EvidenceItem] = {}
        self._labels: dict[str, str] = {}
        self._texts: list[str] = [question]

    @property
    def evidence(self) -> Mapping[str, EvidenceItem]:
        """Label to item, in the order in which the messages came."""
        return self._items

    @property
    def sources(self) -> Mapping[str, MessageText]:
        """Label to the whole message: what a draft is verified against."""
        return {label: item.message for label, item in self._items.items()}

    @property
    def shown(self) -> tuple[ShownMessage, ...]:
        return tuple(ShownMessage(item.label, item.message, item.excerpts) for item in self._items.values())

    def head(self, label: str) -> MessageHead | None:
        """The head of the message with *label*, or None where there is none."""
        item = self._items.get(label)
        return item.message.head if item else None

    def admit(self, result: ToolResult, found_by: FoundBy, room: int) -> Admission:
        """Take *result*'s messages into the evidence, as many as *room* characters can show."""
        admitted: list[EvidenceItem] = []
        again: list[str] = []
        shown: list[ShownMessage] = []
        self._texts.extend(text for found in result.messages for text in _texts(found.message))
        for found in result.messages:
            known = self._items.get(self._labels.get(found.message.head.message_id, ""))
            excerpts = _cut(_unseen(found.excerpts, known), room - HEAD_CHARACTERS)
            if known is None and not excerpts and (room < HEAD_CHARACTERS or found.excerpts):
                break
            item = self._keep(found, known, excerpts, found_by)
            if known is None:
                admitted.append(item)
            else:
                again.append(item.message.head.message_id)
            shown.append(ShownMessage(item.label, item.message, excerpts))
            room -= HEAD_CHARACTERS + sum(len(excerpt.text) for excerpt in excerpts)
        self._note_ids(result, [view.message.head for view in shown])
        return Admission(tuple(admitted), tuple(again), tuple(shown), len(result.messages) - len(shown))

    def _keep(
        self, found: ToolMessage, known: EvidenceItem | None, excerpts: tuple[Excerpt, ...], found_by: FoundBy
    ) -> EvidenceItem:
        if known is not None:
            item = replace(known, excerpts=known.excerpts + excerpts, found_by=(*known.found_by, found_by))
        else:
            label = draw_label(self._texts, self._items, self._below)
            item = EvidenceItem(label, found.message, excerpts, (found_by,), text_sha256(found.message))
        self._items[item.label] = item
        self._labels[item.message.head.message_id] = item.label
        return item

    def _note_ids(self, result: ToolResult, heads: Iterable[MessageHead]) -> None:
        ids = set(result.nearest)
        for head in heads:
            ids |= {head.message_id, head.thread_id}
            ids |= {attachment.attachment_id for attachment in head.attachments}
        # Ids that tools put into lines of their own, such as a list of attachments.
        ids.update(found for line in result.notes for found in _ID.findall(line))
        self.seen |= ids - {""}


def _texts(message: MessageText) -> Iterable[str]:
    yield from (part.text for part in message.parts)
    head = message.head
    yield f"{head.sender.name} {head.sender.address} {head.subject}"
    yield " ".join(f"{person.name} {person.address}" for person in head.to + head.cc)
    yield " ".join(attachment.filename for attachment in head.attachments)


def _unseen(excerpts: Iterable[Excerpt], known: EvidenceItem | None) -> tuple[Excerpt, ...]:
    before = known.excerpts if known else ()
    return tuple(
        excerpt
        for excerpt in excerpts
        if not any(old.part == excerpt.part and old.start <= excerpt.start and excerpt.end <= old.end for old in before)
    )


def _cut(excerpts: Iterable[Excerpt], room: int) -> tuple[Excerpt, ...]:
    kept: list[Excerpt] = []
    for excerpt in excerpts:
        if len(excerpt.text) > room:
            if room >= _SHORTEST_EXCERPT:
                kept.append(_shorten(excerpt, room))
            break
        kept.append(excerpt)
        room -= len(excerpt.text)
    return tuple(kept)


def _shorten(excerpt: Excerpt, room: int) -> Excerpt:
    marks = tuple(mark for mark in excerpt.marks if mark[1] <= room)
    return replace(excerpt, text=excerpt.text[:room], end=excerpt.start + room, marks=marks)
