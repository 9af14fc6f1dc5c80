"""A message on its way into the store: every value that its rows will hold, before any of them exists.

Nothing here touches the database. What a source knows and what the message says are brought together by the rules of
the store: which hash is its identity, when it was received, which passages are worth an embedding.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from mailsearch import keeping
from mailsearch.hits import PartText, Region
from mailsearch.ingest import passages
from mailsearch.ingest.bodies import SIGNATURES
from mailsearch.ingest.lexemes import Field, Tokens, tokens
from mailsearch.ingest.parsed import Defect, ParsedAttachment, ParsedMessage, ParsedText
from mailsearch.ingest.sources.raw import RawMail
from mailsearch.ingest.threads import Letter, Link, link, subject_key
from mailsearch.ingest.words import hash_of, without_list_footer, words

DISPUTED = timedelta(hours=48)
# Passages of one message that get an embedding; keyword search knows all of it.
MOST_PASSAGES = 400
# Bodies of fewer words say the same by chance ("Thanks!"), so they count as equal only from the same sender.
_FEW_WORDS = 20
_EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)
_LINE_END = re.compile(rb"\r\n?")


class Span(NamedTuple):
    """A passage: offsets into the body (`attachment` None) or into the attachment of that number."""

    attachment: int | None
    start: int
    end: int


@dataclass(slots=True)
class Draft:
    """One message with all that hangs on it. `nested` are messages inside it."""

    mail: RawMail
    parsed: ParsedMessage
    content_sha256: bytes
    words_sha256: bytes
    received_at: datetime
    date_disputed: bool
    link: Link
    subject_key: bytes | None
    index: Tokens
    spans: list[Span]
    # As its row keeps it; None for messages inside others, whose bytes are in their container's.
    raw: bytes | None
    defects: list[Defect] = field(default_factory=list)
    quarantined: bool = False
    nested: list["Draft"] = field(default_factory=list)

    @property
    def letter(self) -> Letter:
        people = frozenset(one.address.lower() for one in self.parsed.addresses if one.address)
        return Letter(self.parsed.subject, people, self.parsed.sent_at or self.received_at, not self.link.chain)

    def family(self) -> "Iterable[Draft]":
        """This message, then those inside it at any depth."""
        yield self
        for one in self.nested:
            yield from one.family()


def content_hash(data: bytes) -> bytes:
    """The identity of a message's bytes. Line ends are no part of it: they change on the way between mail systems."""
    return hashlib.sha256(_LINE_END.sub(b"\n", data).rstrip(b"\n")).digest()


def draft(mail: RawMail, parsed: ParsedMessage, identity: bytes, now: datetime) -> Draft:
    """The draft of a message that came by itself."""
    received = _received_at(mail, parsed, now)
    made = _draft(mail, parsed, identity, received)
    made.raw = keeping.kept(mail.data)
    if mail.truncated:
        made.defects.append(Defect("too-large", "", "The message is larger than what is kept; its end was cut off."))
    if mail.unreadable:
        made.defects.append(Defect("unreadable", "", f"The file could not be read: {mail.unreadable}."))
    return made


def bare(mail: RawMail, parsed: ParsedMessage, identity: bytes, now: datetime, reason: str) -> Draft:
    """What can be stored of any message whatever is wrong with it: its bytes and a defect that says *reason*."""
    empty = ParsedMessage(
        rfc_message_id="",
        in_reply_to=(),
        references=(),
        subject="",
        addresses=(),
        sent_at=None,
        received_at=None,
        body=ParsedText(""),
        language="",
        authentication=parsed.authentication,
        attachments=(),
        defects=(*(one for one in parsed.defects if one.code.isascii()), Defect("not-stored", "", reason)),
    )
    return draft(replace(mail, flags=(), labels=()), empty, identity, now)


def _draft(mail: RawMail, parsed: ParsedMessage, identity: bytes, received: datetime) -> Draft:
    made = Draft(
        mail=mail,
        parsed=parsed,
        content_sha256=identity,
        words_sha256=_words_hash(parsed, identity),
        received_at=received,
        date_disputed=parsed.sent_at is not None and abs(parsed.sent_at - received) > DISPUTED,
        link=link(parsed.rfc_message_id, parsed.references, parsed.in_reply_to, identity.hex()),
        subject_key=subject_key(parsed.subject),
        index=tokens(_fields(parsed)),
        spans=[],
        raw=None,
        defects=list(parsed.defects),
    )
    made.spans = _spans(parsed, made.defects)
    for number, inner in enumerate(parsed.nested):
        own = hashlib.sha256(identity + number.to_bytes(4)).digest()
        made.nested.append(_draft(mail, inner, own, received))
    return made


def _received_at(mail: RawMail, parsed: ParsedMessage, now: datetime) -> datetime:
    """The first believable of: the source's word, the message's topmost Received, delivery's hint; else *now*."""
    for moment in (mail.received_at, parsed.received_at, mail.delivered_at):
        if moment is not None and _EARLIEST <= moment <= now + timedelta(days=1):
            return moment.astimezone(UTC)
    return now


def _words_hash(parsed: ParsedMessage, identity: bytes) -> bytes:
    """Equal for messages that say the same: body and attached files; for short ones the sender too.

    What a list's program adds at the end and a signature's bytes, which are others each time, say nothing.
    """
    text = without_list_footer(parsed.body.text)
    found = words(text)
    said = hash_of(found)
    files = sorted(
        hashlib.sha256(one.content).hexdigest()
        for one in parsed.attachments
        if not one.inline and one.content_type not in SIGNATURES
    )
    if not said and not files:
        return identity
    sender = ""
    # Nearly always the first lines alone have enough, which is seen without cutting them into words.
    if len(found) < _FEW_WORDS or not (_begins_with_words(text) or len(words(text[:1000])) >= _FEW_WORDS):
        sender = next((one.address.lower() for one in parsed.addresses if one.role == "from"), "")
    return hashlib.sha256("\n".join([said, sender, *files]).encode("utf-8", "replace")).digest()


def _begins_with_words(text: str) -> bool:
    """Whether the beginning of *text* surely has as many words as tell it from others; the last one may be cut."""
    return sum(map(str.isalnum, text[:300].split())) > _FEW_WORDS


def _fields(parsed: ParsedMessage) -> Iterable[Field]:
    yield Field("A", parsed.subject)
    for one in parsed.addresses:
        yield Field("B", f"{one.name} {one.address}")
    for attachment in parsed.attachments:
        if attachment.filename:
            yield Field("B", attachment.filename)
    quoted = [region for region in parsed.body.regions if region.kind == "quoted"]
    own, others = _apart(parsed.body.text, quoted)
    yield Field("C", own)
    for attachment in parsed.attachments:
        if attachment.text.text and not attachment.is_message:
            yield Field("C", attachment.text.text)
    if others:
        yield Field("D", others)


def _apart(text: str, regions: Sequence[Region]) -> tuple[str, str]:
    """*text* outside and inside of *regions*."""
    if not regions:
        return text, ""
    outside, inside, position = [], [], 0
    for region in sorted(regions, key=lambda one: one.start):
        start = max(region.start, position)
        outside.append(text[position:start])
        inside.append(text[start : region.end])
        position = max(position, region.end)
    return "\n".join([*outside, text[position:]]), "\n".join(inside)


def _spans(parsed: ParsedMessage, defects: list[Defect]) -> list[Span]:
    spans = _body_spans(parsed.body)
    for number, attachment in enumerate(parsed.attachments):
        # A message inside this one is found as a message of its own.
        if attachment.text.text and not attachment.is_message:
            spans += _attachment_spans(number, attachment)
    if len(spans) > MOST_PASSAGES:
        said = f"{len(spans)} passages; the first {MOST_PASSAGES} are found by meaning, all by their words."
        defects.append(Defect("passages-capped", "", said))
    return spans[:MOST_PASSAGES]


def _body_spans(body: ParsedText) -> list[Span]:
    """Passages of the body, without those that only repeat other messages, unless there are no others."""
    part = PartText("body", body.text, body.blocks, body.regions)
    spans = [Span(None, start, end) for start, end in passages.split(part)]
    quoted = [region for region in body.regions if region.kind == "quoted"]
    # What a passage repeats of the one before it is no news.
    before = [0, *(span.end for span in spans)]
    own = [span for span, end in zip(spans, before, strict=False) if _says_something(body.text, span, end, quoted)]
    return own or spans


def _says_something(text: str, span: Span, start: int, quoted: Sequence[Region]) -> bool:
    position, own = max(span.start, start), 0
    for region in quoted:
        if region.end > position and region.start < span.end:
            own += len(text[position : max(region.start, position)].strip())
            position = max(position, region.end)
    return own + len(text[position : span.end].strip()) > 0


def _attachment_spans(number: int, attachment: ParsedAttachment) -> list[Span]:
    text = attachment.text
    part = PartText(attachment.filename, text.text, text.blocks, text.regions, text.page_starts)
    return [Span(number, start, end) for start, end in passages.split(part)]
