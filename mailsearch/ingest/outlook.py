"""Outlook's `.msg` files as the messages that they were: written as MIME, so that everything else treats them alike.

A message that came over the Internet keeps its transport headers in the file; one that never left Outlook has none,
and its headers are written from its properties (MS-OXMSG, MS-OXPROPS).
"""

import io
import re
from collections.abc import Iterator
from email import charset, encoders
from email.generator import BytesGenerator
from email.message import Message as EmailMessage
from email.mime.base import MIMEBase
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.parser import HeaderParser
from email.utils import format_datetime, formataddr

from olefile import OleFileIO  # type: ignore[import-untyped]
from oxmsg.storage import Storage

from mailsearch.ingest import charset as charsets
from mailsearch.ingest import outlook_properties
from mailsearch.ingest.attachments import encapsulated, rtf, tnef
from mailsearch.ingest.outlook_properties import Values

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Properties by what they hold (MS-OXPROPS).
_HEADERS, _SUBJECT, _BODY, _RTF, _BODY_HTML = 0x007D, 0x0037, 0x1000, 0x1009, 0x1013
_MESSAGE_ID, _REFERENCES, _IN_REPLY_TO = 0x1035, 0x1039, 0x1042
_SUBMITTED, _DELIVERED, _MADE = 0x0039, 0x0E06, 0x3007
_SENDER_NAME, _SENDER_SMTP, _SENDER_ADDRESS = 0x0C1A, 0x5D01, 0x0C1F
_ON_BEHALF_NAME, _ON_BEHALF_SMTP, _ON_BEHALF_ADDRESS = 0x0042, 0x5D02, 0x0065
_NAME, _ADDRESS, _SMTP, _RECIPIENT_KIND = 0x3001, 0x3003, 0x39FE, 0x0C15
_DISPLAYED = {"To": 0x0E04, "Cc": 0x0E03, "Bcc": 0x0E02}
_KINDS = {1: "To", 2: "Cc", 3: "Bcc"}
_LONG_NAME, _SHORT_NAME, _MIME_TYPE, _CONTENT_ID, _DATA = 0x3707, 0x3704, 0x370E, 0x3712, 0x3701
_MAIL_ADDRESS = re.compile(r"[^\s@<>()]+@[^\s@<>()]+")
_EMBEDDED = "__substg1.0_3701000D"
_DEEPEST = 10
# What the parts written here say for themselves.
_OURS = ("content-", "mime-version")
_UTF8 = charset.Charset("utf-8")
_UTF8.body_encoding = charset.BASE64


def unwrap(raw: bytes) -> tuple[bytes, str]:
    """*raw* itself, or what is in it where it is a `.msg` file; and what is wrong with it, in words.

    A file that can't be read is given back as the attachment of an empty message, so that nothing is lost.
    Never raises.
    """
    if not raw.startswith(SIGNATURE):
        return raw, ""
    try:
        with OleFileIO(io.BytesIO(raw)) as container:
            storage = Storage.from_ole(container)
        return written(storage), ""
    except Exception as error:  # noqa: BLE001
        # The library has no errors of its own: a broken file raises whatever its pieces lead to.
        kept = MIMEMultipart("mixed")
        kept.attach(_part("application/vnd.ms-outlook", raw, "message.msg"))
        return _flat(kept), f"The Outlook message could not be read: {type(error).__name__}."


def written(storage: Storage) -> bytes:
    """The message in *storage*, the root of an opened file, as MIME."""
    return _flat(_as_mime(storage, Values(storage, outlook_properties.OF_MESSAGE), 0))


def _flat(message: EmailMessage) -> bytes:
    written = io.BytesIO()
    BytesGenerator(written, mangle_from_=False).flatten(message)
    return written.getvalue()


def _as_mime(storage: Storage, values: Values, depth: int) -> EmailMessage:
    container = MIMEMultipart("mixed")
    for name, value in _headers(storage, values):
        # A line end within a value would begin another header.
        container[name] = _encoded(" ".join(value.split()))
    container.attach(_body(values))
    for found in storage.iter_attachment_storages():
        own = Values(found, outlook_properties.OF_OTHERS, values)
        inner = next((one for one in found.storages if one.name == _EMBEDDED), None)
        if inner is not None and depth < _DEEPEST:
            embedded = Values(inner, outlook_properties.OF_EMBEDDED, values)
            container.attach(MIMEMessage(_as_mime(inner, embedded, depth + 1)))
        else:
            name = own.text(_LONG_NAME, _SHORT_NAME, _NAME)
            part = _part(own.text(_MIME_TYPE), own.binary(_DATA), name)
            if identity := own.text(_CONTENT_ID):
                part["Content-ID"] = _encoded(f"<{' '.join(identity.split())}>")
            container.attach(part)
    return container


def _encoded(value: str) -> str:
    """*value* as it may stand in a header: encoded words where it isn't ASCII."""
    return value if value.isascii() else charset.Charset("utf-8").header_encode(value)


def _headers(storage: Storage, values: Values) -> list[tuple[str, str]]:
    transport = [
        (name, str(value))
        for name, value in HeaderParser().parsestr(values.text(_HEADERS).lstrip()).items()
        if not name.lower().startswith(_OURS) and name.isascii() and name.isprintable()
    ]
    have = {name.lower() for name, _ in transport}
    written = [*_people(storage, values), *_from_properties(values)]
    return transport + [(name, value) for name, value in written if name.lower() not in have and value]


def _people(storage: Storage, values: Values) -> Iterator[tuple[str, str]]:
    yield "From", _sender(values)
    found: dict[str, list[str]] = {}
    for recipient in storage.iter_recipient_storages():
        own = Values(recipient, outlook_properties.OF_OTHERS, values)
        # The upper bits tell whether the message was sent again.
        kind = _KINDS.get(own.integer(_RECIPIENT_KIND) & 15, "To")
        found.setdefault(kind, []).append(_person(own.text(_NAME), own.text(_SMTP), own.text(_ADDRESS)))
    for kind, displayed in _DISPLAYED.items():
        names = [_person(name, "", "") for name in values.text(displayed).split(";") if name.strip()]
        yield kind, ", ".join(found.get(kind, names))


def _sender(values: Values) -> str:
    name = values.text(_ON_BEHALF_NAME, _SENDER_NAME)
    smtp = values.text(_ON_BEHALF_SMTP, _SENDER_SMTP)
    return _person(name, smtp, values.text(_ON_BEHALF_ADDRESS, _SENDER_ADDRESS))


def _person(name: str, smtp: str, address: str) -> str:
    """Someone as a header has them. An address of Exchange's own directory counts only where there is no other."""
    name = " ".join(name.split()).strip("'\"")
    found = [one for one in (smtp, address, name) if _MAIL_ADDRESS.fullmatch(one)]
    chosen = found[0] if found else " ".join(address.split())
    if not chosen:
        return formataddr((name, ""), "utf-8").replace("<>", "").strip() if name else ""
    shown = "" if name == chosen else name
    return formataddr((shown, chosen), "utf-8") if chosen.isascii() else f"{_encoded(shown)} <{chosen}>"


def _from_properties(values: Values) -> list[tuple[str, str]]:
    sent = values.moment(_SUBMITTED, _DELIVERED, _MADE)
    return [
        ("Subject", values.text(_SUBJECT)),
        ("Date", format_datetime(sent) if sent else ""),
        ("Message-ID", values.text(_MESSAGE_ID)),
        ("In-Reply-To", values.text(_IN_REPLY_TO)),
        ("References", values.text(_REFERENCES)),
    ]


def _body(values: Values) -> MIMEMultipart:
    both = MIMEMultipart("alternative")
    plain, html = values.text(_BODY), _html(values)
    packed = values.binary(_RTF)
    if packed and not html.strip():
        plain, html = _of_rtf(tnef.unpack_rtf(packed), plain)
    for text, kind in ((plain, "plain"), (html, "html")):
        if text.strip() or (kind == "plain" and not html):
            both.attach(MIMEText(text.encode("utf-8", "replace").decode(), kind, _UTF8))  # type: ignore[arg-type]
    return both


def _of_rtf(source: bytes, plain: str) -> tuple[str, str]:
    """The body as text and as HTML: what the RTF was made from, and the text of RTF only where there is no other."""
    made_from = encapsulated.original(source)
    if made_from is not None and made_from.kind == "html":
        return plain, made_from.text
    if plain.strip():
        return plain, ""
    return (made_from.text if made_from is not None else rtf.read(source)[1].text), ""


def _html(values: Values) -> str:
    data = values.binary(_BODY_HTML)
    return charsets.decode(data, values.page_of_html()).text if data else values.text(_BODY_HTML)


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
