"""What parsing a raw message yields: plain frozen values, before anything is stored."""

from dataclasses import dataclass, field
from datetime import datetime

from mailsearch.hits import NO_LINKS, Authentication, Block, PartLinks, Region


@dataclass(frozen=True, slots=True)
class Defect:
    """Something in a message that could not be read as it should.

    `code` is a stable kebab-case word, `part` the MIME path ("1.2") or header name, `explanation` one sentence.
    """

    code: str
    part: str
    explanation: str


@dataclass(frozen=True, slots=True)
class ParsedAddress:
    """One address of one header. `role`: from sender reply-to to cc bcc."""

    role: str
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class ParsedText:
    """Visible text with its structure, and apart from it what the sender hid and where links lead."""

    text: str
    blocks: tuple[Block, ...] = ()
    regions: tuple[Region, ...] = ()
    page_starts: tuple[int, ...] = ()
    hidden_text: str = ""
    links: PartLinks = NO_LINKS


@dataclass(frozen=True, slots=True)
class ParsedAttachment:
    """An attachment: its bytes, and its text where it could be read."""

    filename: str
    content_type: str
    content: bytes
    # ok empty encrypted corrupt truncated too_large unsupported timed_out
    state: str
    text: ParsedText
    inline: bool = False
    # A message that also stands in `nested`. Its text is here to be read, and there to be found.
    is_message: bool = False


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """One message as far as it could be read. Nothing in here can fail to be stored: no NUL, no lone surrogate.

    `rfc_message_id`, `in_reply_to` and `references` are without angle brackets. `sent_at` is aware, with the
    sender's offset, or None where the header is missing or no date. `received_at` is what the message itself says
    (topmost trustworthy Received), or None; the source may know better. `nested` are messages inside this one.
    """

    rfc_message_id: str
    in_reply_to: tuple[str, ...]
    references: tuple[str, ...]
    subject: str
    addresses: tuple[ParsedAddress, ...]
    sent_at: datetime | None
    received_at: datetime | None
    body: ParsedText
    language: str
    authentication: Authentication
    attachments: tuple[ParsedAttachment, ...]
    defects: tuple[Defect, ...]
    list_id: str = ""
    auto_submitted: bool = False
    encrypted: bool = False
    signed: bool = False
    # Visible text/plain and text/html of this message differ in words.
    alternatives_differ: bool = False
    # Free-form facts about the message that searches and pages may show, for example the event of an invitation.
    extras: dict[str, str] = field(default_factory=dict)
    nested: tuple["ParsedMessage", ...] = ()
