"""Outlook's `.msg` files as the messages that they were: written as MIME, so that everything else treats them alike.

A message that came over the Internet keeps its transport headers in the file; one that never left Outlook has none,
and its headers are written from its properties (MS-OXMSG, MS-OXPROPS).
"""

import codecs
import io
import re
from collections.abc import Sequence
from email import charset, encoders
from email.generator import BytesGenerator
from email.message import Message as EmailMessage
from email.mime.base import MIMEBase
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import format_datetime, formataddr

import oxmsg
from oxmsg.attachment import Attachment
from oxmsg.properties import Properties
from oxmsg.storage import Storage

from mailsearch.ingest.attachments import rtf, tnef

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RTF_COMPRESSED = 0x1009
_MESSAGE_ID = 0x1035
_IN_REPLY_TO = 0x1042
_REFERENCES = 0x1039
_EMBEDDED = "__substg1.0_3701000D"
_DEEPEST = 10
# What the parts written here say for themselves.
_OURS = ("content-", "mime-version")
_UTF8 = charset.Charset("utf-8")
_UTF8.body_encoding = charset.BASE64


def _windows_codec(name: str) -> codecs.CodecInfo | None:
    found = re.fullmatch(r"windows[-_](874|932|936|949|950)", name)
    return codecs.lookup(f"cp{found[1]}") if found else None


# The library asks for code pages by names that Python does not know.
codecs.register(_windows_codec)


def unwrap(raw: bytes) -> tuple[bytes, str]:
    """*raw* itself, or what is in it where it is a `.msg` file; and what is wrong with it, in words.

    A file that can't be read is given back as the attachment of an empty message, so that nothing is lost.
    Never raises.
    """
    if not raw.startswith(SIGNATURE):
        return raw, ""
    try:
        return _flat(_as_mime(oxmsg.Message.load(io.BytesIO(raw)), 0)), ""
    except Exception as error:  # noqa: BLE001
        # The library has no errors of its own: a broken file raises whatever its pieces lead to.
        container = MIMEMultipart("mixed")
        container.attach(_part("application/vnd.ms-outlook", raw, "message.msg"))
        return _flat(container), f"The Outlook message could not be read: {type(error).__name__}."


def _flat(message: EmailMessage) -> bytes:
    written = io.BytesIO()
    BytesGenerator(written, mangle_from_=False).flatten(message)
    return written.getvalue()


def _as_mime(message: oxmsg.Message, depth: int) -> EmailMessage:
    container = MIMEMultipart("mixed")
    for name, value in _headers(message):
        # A line end within a value would begin another header.
        container[name] = _encoded(" ".join(value.split()))
    container.attach(_body(message))
    for found in message.attachments:
        inner = next((one for one in _storages(found) if one.name == _EMBEDDED), None)
        if inner is not None and depth < _DEEPEST:
            container.attach(MIMEMessage(_as_mime(_Embedded(inner), depth + 1)))
        else:
            container.attach(_part(found.mime_type or "", found.file_bytes or b"", found.file_name or ""))
    return container


def _storages(found: Attachment) -> Sequence[Storage]:
    """What stands inside an attachment; the library has no name for it."""
    storage = found._storage
    return storage.storages if isinstance(storage, Storage) else ()


class _Embedded(oxmsg.Message):
    """A message inside a message; the head of its properties is shorter (MS-OXMSG 2.4.1.2)."""

    @property
    def _properties(self) -> Properties:
        return Properties(self._storage, properties_header_offset=24)


def _encoded(value: str) -> str:
    """*value* as it may stand in a header: encoded words where it isn't ASCII."""
    return value if value.isascii() else charset.Charset("utf-8").header_encode(value)


def _headers(message: oxmsg.Message) -> list[tuple[str, str]]:
    transport = [
        (name, str(value))
        for name, value in message.message_headers.items()
        if not name.lower().startswith(_OURS) and name.isascii() and name.isprintable()
    ]
    have = {name.lower() for name, _ in transport}
    return transport + [
        (name, value) for name, value in _from_properties(message) if name.lower() not in have and value
    ]


def _from_properties(message: oxmsg.Message) -> list[tuple[str, str]]:
    properties = message.properties
    people = [formataddr((one.name or "", one.email_address or ""), "utf-8") for one in message.recipients]
    return [
        ("From", message.sender or ""),
        ("To", ", ".join(people)),
        ("Subject", message.subject),
        ("Date", format_datetime(message.sent_date) if message.sent_date else ""),
        ("Message-ID", properties.str_prop_value(_MESSAGE_ID) or ""),
        ("In-Reply-To", properties.str_prop_value(_IN_REPLY_TO) or ""),
        ("References", properties.str_prop_value(_REFERENCES) or ""),
    ]


def _body(message: oxmsg.Message) -> MIMEMultipart:
    both = MIMEMultipart("alternative")
    plain, html = message.body or "", message.html_body or ""
    packed = message.properties.binary_prop_value(_RTF_COMPRESSED)
    if not plain.strip() and not html.strip() and packed:
        plain = rtf.read(tnef.unpack_rtf(packed))[1].text
    for text, kind in ((plain, "plain"), (html, "html")):
        if text.strip() or (kind == "plain" and not html):
            both.attach(MIMEText(text.encode("utf-8", "replace").decode(), kind, _UTF8))  # type: ignore[arg-type]
    return both


def _part(content_type: str, data: bytes, filename: str) -> MIMEBase:
    kind, _, subtype = content_type.partition("/")
    if kind in ("multipart", "message") or not (kind.isalnum() and subtype):
        kind, subtype = "application", "octet-stream"
    part = MIMEBase(kind, subtype)
    part.set_payload(data)
    encoders.encode_base64(part)
    name = " ".join(filename.split())
    part.add_header("Content-Disposition", "attachment", filename=name if name.isascii() else ("utf-8", "", name))
    return part
