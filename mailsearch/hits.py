"""What a search gives back: plain frozen values that anything may hold.

All offsets are Unicode code points into the stored text of one part, end exclusive.
A *part* is named `subject`, `body` or `attachment:<public id of the attachment>`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

BlockKind = Literal["paragraph", "row", "item", "heading", "code"]
RegionKind = Literal["quoted", "forwarded", "signature"]
Mode = Literal["keyword", "semantic", "hybrid"]


@dataclass(frozen=True, slots=True)
class Address:
    """One person or list on a message, as the message shows them."""

    name: str
    address: str
    # A name that the reader's scope knows from another address.
    name_conflict: bool = False


@dataclass(frozen=True, slots=True)
class Authentication:
    """Results that a trusted border recorded (RFC 8601); `unknown` where none may be believed."""

    spf: str = "unknown"
    dkim: str = "unknown"
    dmarc: str = "unknown"

    @property
    def passed(self) -> bool:
        return self.dmarc == "pass"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text that is one paragraph, table row, list item, heading or piece of code."""

    start: int
    end: int
    kind: BlockKind = "paragraph"


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch that somebody else wrote (quoted, forwarded) or that says nothing (signature)."""

    start: int
    end: int
    kind: RegionKind
    # Who wrote it, as the text itself claims ("On … Ann wrote:", "From: Ann"); empty where it does not say.
    said_by: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A stretch of a part's visible text that leads somewhere, and its target: http, https or mailto.

    It stretches over no text (`start` is `end`) where it shows an image, or where its words stand in an alternative
    that is not shown.
    """

    start: int
    end: int
    target: str


@dataclass(frozen=True, slots=True)
class PartLinks:
    """The links of one part that a reader could follow, in their order; `more` were found and are not kept.

    Apart from `PartText`: a target is nothing that the sender wrote in view, so no search, no model and no check of a
    quote gets to see it.
    """

    kept: tuple[Link, ...] = ()
    more: int = 0


NO_LINKS = PartLinks()


def page_at(page_starts: Sequence[int], offset: int) -> int | None:
    """The 1-based page that holds *offset*, or None for text without pages."""
    if not page_starts:
        return None
    return max(1, sum(1 for start in page_starts if start <= offset))


@dataclass(frozen=True, slots=True)
class PartText:
    """The visible text of one part of a message."""

    name: str
    text: str
    blocks: tuple[Block, ...] = ()
    regions: tuple[Region, ...] = ()
    # Offsets where the pages of a paged document begin; empty for text without pages.
    page_starts: tuple[int, ...] = ()
    # The attachment's file name; empty for body and subject.
    filename: str = ""

    def page_at(self, offset: int) -> int | None:
        """The 1-based page that holds *offset*, or None for text without pages."""
        return page_at(self.page_starts, offset)

    @property
    def starts(self) -> list[int]:
        """Where its blocks begin."""
        return [block.start for block in self.blocks]


@dataclass(frozen=True, slots=True)
class AttachmentInfo:
    """An attachment as a list shows it."""

    attachment_id: str
    filename: str
    content_type: str
    size: int
    # ok empty encrypted corrupt truncated too_large unsupported timed_out
    state: str


@dataclass(frozen=True, slots=True)
class MessageHead:
    """Everything about a message but its text."""

    message_id: str
    thread_id: str
    rfc_message_id: str
    mailbox: str
    folder: str
    subject: str
    sender: Address
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    sent_at: datetime | None
    received_at: datetime
    date_disputed: bool = False
    language: str = ""
    authentication: Authentication = Authentication()
    attachments: tuple[AttachmentInfo, ...] = ()
    # Names of the sender of the message that this one was attached to; empty for mail that came by itself.
    attached_to: str = ""


@dataclass(frozen=True, slots=True)
class MessageText:
    """One message with all its visible text: what evidence is made of and what quotes are looked up in."""

    head: MessageHead
    # Always holds a part `subject` and a part `body`, then one for each attachment with text.
    parts: tuple[PartText, ...]
    # What the sender hid from readers; never shown, never a source. Kept to tell `hidden_text` from "not there".
    hidden_text: str = ""

    def part(self, name: str) -> PartText | None:
        return next((part for part in self.parts if part.name == name), None)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of one part that shows why a message was found."""

    part: str
    start: int
    end: int
    text: str
    page: int | None = None
    # Matched words, as offsets into `text`.
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A message as a search returns it. No raw score leaves the search."""

    head: MessageHead
    rank: int
    found_by: tuple[str, ...]
    excerpts: tuple[Excerpt, ...]
    # In-scope messages with the same words, this one included.
    copies: int = 1


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows a search beyond the scope. None and empty mean "not narrowed".

    Every filter only narrows: one that names nothing in scope gives an empty result.
    """

    mailboxes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    senders: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    has_attachment: bool | None = None
    unread: bool | None = None
    larger: int | None = None
    threads: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search as a caller asks for it. `text` is in the query language; `filters` come on top."""

    text: str
    mode: Mode = "hybrid"
    filters: Filters = Filters()
    limit: int = 20
    cursor: str = ""
    # IANA zone and moment in which relative dates are meant.
    timezone: str = "UTC"
    now: datetime | None = None
    # At most three messages of a thread, and of a sender without passed authentication (tool results).
    spread: bool = False


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of one search and all that a caller needs to know about how they were found."""

    mode: Mode
    text: str
    # The query as it was understood, and the filters as they were applied: JSON-ready.
    parsed: Mapping[str, object]
    applied: Mapping[str, object]
    refused: tuple[str, ...]
    hits: tuple[Hit, ...]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    indexed_until: datetime | None
    why_empty: str | None
    took_ms: int
    # The messages of the hits, whole, by public id: read on the way to their excerpts.
    texts: Mapping[str, MessageText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contact:
    """A participant seen over many messages of the scope."""

    address: str
    names: tuple[str, ...]
    messages: int
    first_seen: datetime
    last_seen: datetime
    is_list: bool = False
    name_conflict: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much mail the scope holds and how far it is indexed."""

    messages_in_scope: int
    received_from: datetime | None
    received_to: datetime | None
    indexed_until: datetime | None
    # 0.0 to 1.0: passages of the scope that have a vector of the current model.
    embedded_share: float
    attachments_unread: int
    sources: tuple[Mapping[str, object], ...] = field(default=())
