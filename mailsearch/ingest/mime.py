"""One message from bytes to a value: headers, visible text, attachments, messages inside it, and what was wrong.

Nothing here raises on any bytes. Work on hostile bytes can still take long: `limits.Worker` runs it in a process that
can be killed.
"""

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from mailsearch.hits import Authentication, Region
from mailsearch.ingest import (
    addresses,
    authentication,
    blocks,
    bodies,
    charset,
    dates,
    entities,
    headers,
    invitations,
    language,
)
from mailsearch.ingest.bodies import Found, Leaf
from mailsearch.ingest.entities import Entity
from mailsearch.ingest.parsed import Defect, ParsedAddress, ParsedAttachment, ParsedMessage, ParsedText

if TYPE_CHECKING:
    from mailsearch.ingest.attachments import tnef

ReadText = Callable[[bytes, str, str], tuple[str, ParsedText]]

LARGEST = 50_000_000
# How Outlook's two kinds of files begin.
_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_TNEF = b"\x78\x9f\x3e\x22"
# The first line of Apple Mail's .emlx: how long the message is, below which stand facts of the program.
_COUNTED = re.compile(rb"([0-9]{1,10})[ ]*\r?\n(?=[!-9;-~]{1,70}:)")
_DEEPEST_MESSAGE = 10
_MOST_MESSAGES = 200
_OCTETS = "application/octet-stream"
_ROLES = ("from", "sender", "reply-to", "to", "cc", "bcc")
_FORWARDED = re.compile(
    r"^\s*(?:\[[^\]]{1,40}\]\s*)?(?:fwd?|wg|tr|rv|enc|i|vs|vb|pd|fs|doorst|ilt|továbbítás|转发|轉寄)\s?[:：]", re.I
)


def parse(raw: bytes, *, trusted_authserv_id: str = "", read_attachments: bool = True) -> ParsedMessage:
    """Read one message. Never raises.

    *trusted_authserv_id* names the border whose Authentication-Results may be believed; without one the result is
    unknown. Without *read_attachments* attachments are listed with their bytes and no text.
    """
    if not read_attachments:
        return parse_with(raw, _leave_unread, trusted_authserv_id)
    # The readers of files take longer to load than a hundred messages to parse.
    from mailsearch.ingest import attachments

    return parse_with(raw, attachments.read_text, trusted_authserv_id)


def parse_with(raw: bytes, read_text: ReadText, trusted_authserv_id: str = "") -> ParsedMessage:
    """`parse` with another way to read the text of attachments."""
    raw, unreadable = _unwrapped(raw)
    too_large = len(raw) > LARGEST
    root = entities.read(raw[:LARGEST] if too_large else raw)
    message = _Parser(read_text, trusted_authserv_id).message(root, 0)
    if len(message.body.text) > blocks.MOST_TEXT:
        message = replace(message, body=blocks.cut(message.body))
    if too_large:
        defect = Defect("too-large", "", f"The message has {len(raw)} bytes; {LARGEST} were read.")
        message = replace(message, defects=(*message.defects, defect))
    if unreadable:
        message = replace(message, defects=(*message.defects, Defect("outlook-unreadable", "", unreadable)))
    return message


def _unwrapped(raw: bytes) -> tuple[bytes, str]:
    """*raw*, or what a `.msg` file or one that an editor saved holds, and what was wrong with that."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace").encode("utf-8", "replace"), ""
    if not raw.startswith(_COMPOUND_FILE):
        counted = _COUNTED.match(raw)
        if counted and int(counted[1]) <= len(raw) - counted.end():
            return raw[counted.end() : counted.end() + int(counted[1])], ""
        return raw.removeprefix(codecs.BOM_UTF8), ""
    from mailsearch.ingest import outlook

    return outlook.unwrap(raw)


def _open_tnef(data: bytes) -> "tnef.Opened | None":
    """The container of Outlook that *data* is; None where it is none, or can't be read."""
    if not data.startswith(_TNEF):
        return None
    from mailsearch.ingest.attachments import tnef

    opened = tnef.open_container(data)
    return opened if opened.sound else None


def _leave_unread(_content: bytes, _content_type: str, _filename: str) -> tuple[str, ParsedText]:
    return "unsupported", ParsedText("")


@dataclass(slots=True)
class _Heads:
    """Reads headers and notes what was wrong with them."""

    root: Entity
    hint: str
    defects: list[Defect] = field(default_factory=list)

    def text(self, name: str) -> str:
        value = self.root.header(name)
        if not value:
            return ""
        decoded = headers.text(value, self.hint)
        if decoded.problem:
            self.note("header-encoding", name, decoded.problem)
        return decoded.value

    def note(self, code: str, name: str, explanation: str) -> None:
        self.defects.append(Defect(code, name, explanation))


@dataclass(slots=True)
class _Parser:
    read_text: ReadText
    trusted: str

    def message(self, root: Entity, depth: int) -> ParsedMessage:
        """The message whose headers and body *root* is; *depth* counts the messages around it."""
        heads = _Heads(root, _charset_hint(root))
        subject = heads.text("subject")
        found = bodies.read(root, forwards=_FORWARDED.match(subject) is not None, subject=subject)
        listed, nested, defects = self._attached(found, depth)
        body = found.text
        people = _addresses(heads)
        sent = _sent_at(heads)
        identity = _message_id(heads)
        return ParsedMessage(
            rfc_message_id=identity,
            in_reply_to=headers.message_ids(root.header("in-reply-to")),
            references=headers.message_ids(root.header("references")),
            subject=subject,
            addresses=people,
            sent_at=sent,
            received_at=_received_at(root.fields),
            body=body,
            language=language.detect(_own_words(body)),
            authentication=authentication.read(root.fields, self.trusted) if depth == 0 else Authentication(),
            attachments=listed,
            defects=tuple(dict.fromkeys((*heads.defects, *found.defects, *defects))),
            list_id=_list_id(heads),
            auto_submitted=_is_automatic(root),
            encrypted=found.encrypted,
            signed=found.signed,
            alternatives_differ=found.differ,
            extras=found.facts,
            nested=nested,
        )

    def _attached(
        self, found: Found, depth: int
    ) -> tuple[tuple[ParsedAttachment, ...], tuple[ParsedMessage, ...], list[Defect]]:
        listed: list[ParsedAttachment] = []
        nested: list[ParsedMessage] = []
        defects: list[Defect] = []
        for item in found.order:
            if isinstance(item, Leaf):
                files, messages = self._leaf(item, found, depth)
                listed += files
                nested += messages
            elif depth < _DEEPEST_MESSAGE and len(nested) < _MOST_MESSAGES:
                inner = self.message(item.children[0], depth + 1)
                nested.append(inner)
                _, title = bodies.disposition(item)
                name = headers.safe_filename(title)
                listed.append(_as_attachment(name, item.content_type, item.body, inner))
            else:
                defects.append(Defect("nesting-depth", item.path, "Messages nest too deep; this one was kept unread."))
        for name, data in found.files:
            opened = self._opened(data, found)
            listed += [self._file(name, _OCTETS, data)] if opened is None else opened
        return tuple(listed), tuple(nested), defects

    def _leaf(self, leaf: Leaf, found: Found, depth: int) -> tuple[list[ParsedAttachment], list[ParsedMessage]]:
        """The attachments and messages that one part comes to: containers of mail programs are opened."""
        kind, data = leaf.entity.content_type, leaf.content.data
        name = headers.safe_filename(leaf.filename)
        if depth < _DEEPEST_MESSAGE and _is_mail(kind, name, data):
            inner = _Parser(self.read_text, "").message(entities.read(data), depth + 1)
            return [_as_attachment(name, kind, data, inner)], [inner]
        opened = self._opened(data, found)
        if opened is not None:
            return opened, []
        readable = _relabelled(leaf.entity, data)
        if kind == "text/calendar" or name.lower().endswith(".ics"):
            facts = invitations.read(readable).facts
            found.facts |= {key: value for key, value in facts.items() if key not in found.facts}
        listed = replace(self._file(name, kind, readable), content=data, inline=leaf.inline)
        if leaf.sealed:
            listed = replace(listed, state="encrypted", text=ParsedText(""))
        elif leaf.content.truncated and listed.state == "ok":
            listed = replace(listed, state="truncated")
        return [listed], []

    def _opened(self, data: bytes, found: Found) -> list[ParsedAttachment] | None:
        """The files in a container of Outlook, whose text is noted in *found*; None where *data* is none."""
        opened = _open_tnef(data)
        if opened is None:
            return None
        found.beside(opened.body)
        return [self._file(title, _OCTETS, content) for title, content in opened.files]

    def _file(self, filename: str, content_type: str, data: bytes) -> ParsedAttachment:
        filename = headers.safe_filename(filename)
        state, text = self.read_text(data, content_type, filename)
        return ParsedAttachment(filename, content_type, data, state, text)


def _is_mail(kind: str, name: str, data: bytes) -> bool:
    """Whether an attachment is a message of its own: said so under an encoding, or called so."""
    if kind in ("message/rfc822", "message/global"):
        return True
    return name.lower().endswith(".eml") and re.match(rb"(?:>?From |[A-Za-z][\w-]{1,60}:[ \t])", data) is not None


def _relabelled(entity: Entity, data: bytes) -> bytes:
    """The bytes of an attached text in a form that tells its charset, where the part's label does."""
    label = entity.parameters.get("charset", "") if entity.content_type.startswith("text/") else ""
    if charset.lookup(label) in ("", "ascii", "utf-8"):
        return data
    return codecs.BOM_UTF8 + charset.decode(data, label).text.encode("utf-8", "replace")


def _charset_hint(root: Entity) -> str:
    pending = [root]
    while pending:
        entity = pending.pop(0)
        label = entity.parameters.get("charset", "")
        if entity.content_type.startswith("text/") and charset.lookup(label) not in ("", "ascii", "utf-8"):
            return label
        pending += entity.children[:20]
    return ""


def _addresses(heads: _Heads) -> tuple[ParsedAddress, ...]:
    people: list[ParsedAddress] = []
    for role in _ROLES:
        for name, value in heads.root.fields:
            if name != role:
                continue
            found, problem = addresses.read(value, role, heads.hint)
            people += found
            if problem:
                heads.note("address-malformed", role, problem)
            if role in ("from", "sender"):
                break
    return tuple(dict.fromkeys(people))


def _sent_at(heads: _Heads) -> datetime | None:
    value = heads.root.header("date")
    if not value:
        heads.note("date-missing", "date", "The message has no date.")
        return None
    read = dates.read(headers.text(value).value)
    if read.problem:
        heads.note("date-invalid" if read.moment is None else "date-repaired", "date", read.problem)
    return read.moment


def _received_at(fields: Sequence[tuple[str, bytes]]) -> datetime | None:
    value = next((value for name, value in fields if name == "received"), b"")
    stamp = headers.text(value).value.rpartition(";")[2] if b";" in value else ""
    return dates.read(stamp).moment if stamp else None


def _message_id(heads: _Heads) -> str:
    values = [value for name, value in heads.root.fields if name == "message-id"]
    identity = headers.message_id(values[0]) if values else ""
    if not identity:
        heads.note("message-id-missing", "message-id", "The message has no Message-ID.")
    if len(values) > 1:
        heads.note("message-id-repeated", "message-id", "The message has several Message-IDs; the first counts.")
    return identity


def _list_id(heads: _Heads) -> str:
    value = heads.text("list-id")
    match = re.search(r"<([^<>]{1,200})>", value)
    return (match[1] if match else value).strip().lower()[:200]


def _is_automatic(root: Entity) -> bool:
    stated = root.header("auto-submitted").strip().lower()
    if stated and not stated.startswith(b"no"):
        return True
    return root.header("precedence").strip().lower() in (b"auto_reply", b"bulk", b"junk") or bool(
        root.header("x-autoreply")
    )


def _own_words(body: ParsedText) -> str:
    """What the sender wrote now; all of it where that is nothing."""
    pieces, position = [], 0
    for region in body.regions:
        pieces.append(body.text[position : region.start])
        position = region.end
    own = "".join([*pieces, body.text[position:]])
    return own if len(own.strip()) > 40 else body.text


def _as_attachment(name: str, kind: str, content: bytes, message: ParsedMessage) -> ParsedAttachment:
    """A message inside this one as an attachment, its text marked as forwarded."""
    sender = next((one for one in message.addresses if one.role == "from"), None)
    said_by = f"{sender.name} <{sender.address}>" if sender and sender.name else sender.address if sender else ""
    text = message.body
    if text.text:
        text = replace(text, regions=(Region(0, len(text.text), "forwarded", said_by),))
    name = name or headers.safe_filename(f"{message.subject[:80] or 'message'}.eml")
    return ParsedAttachment(name, kind, content, "ok" if text.text else "empty", text, is_message=True)
