"""Outlook's files in all code pages, with recipients of all kinds, and with properties that are broken."""

from datetime import UTC, datetime

import pytest
from oxmsg.storage import Storage, Stream

from mailsearch.ingest import mime, outlook
from mailsearch.ingest.parsed import ParsedMessage

INTEGER, TIME, UNICODE, STRING8, BINARY = 0x0003, 0x0040, 0x001F, 0x001E, 0x0102
Property = tuple[int, int, bytes]


def storage(name: str, head: int, *properties: Property, inside: tuple[Storage, ...] = ()) -> Storage:
    listed = b"".join(
        kind.to_bytes(2, "little") + number.to_bytes(2, "little") + bytes(4) + value[:8].ljust(8, b"\0")
        for number, kind, value in properties
    )
    streams = [Stream(f"{name}/__properties_version1.0", bytes(head) + listed)]
    streams += [
        Stream(f"{name}/__substg1.0_{number:04X}{kind:04X}", value)
        for number, kind, value in properties
        if kind in (UNICODE, STRING8, BINARY)
    ]
    return Storage(name, tuple(streams), inside)


def number(value: int) -> bytes:
    return value.to_bytes(4, "little")


def recipient(place: int, kind: int, name: str, address: str) -> Storage:
    properties = (
        (0x0C15, INTEGER, number(kind)),
        (0x3001, UNICODE, name.encode("utf-16-le")),
        (0x39FE, UNICODE, address.encode("utf-16-le")),
    )
    return storage(f"__recip_version1.0_#{place:08X}", 8, *properties)


def parsed(*properties: Property, inside: tuple[Storage, ...] = ()) -> ParsedMessage:
    return mime.parse(outlook.written(storage("root", 32, *properties, inside=inside)))


@pytest.mark.parametrize(
    ("page", "codec", "text"),
    [
        (1251, "cp1251", "Встреча завтра в три часа"),
        (932, "cp932", "会議は水曜日です"),
        (950, "big5", "格式測試的郵件內容"),
        (20866, "koi8-r", "Встреча завтра в три часа"),
        (65001, "utf-8", "Größe"),
        (4_000_000_000, "cp1252", "plain words"),
    ],
)
def test_strings_are_in_the_code_page_that_the_message_names(page: int, codec: str, text: str) -> None:
    data = text.encode(codec)
    message = parsed((0x3FFD, INTEGER, number(page)), (0x0037, STRING8, data), (0x1000, STRING8, data))
    assert (message.subject, message.body.text) == (text, text)


def test_a_page_says_its_own_charset_and_broken_bytes_cost_only_themselves() -> None:
    page = "<p>Größe: Straße, Fuß, Köln, Äpfel</p>".encode("cp1252") + b"<p>\x81</p>"
    message = parsed((0x3FDE, INTEGER, number(1252)), (0x1013, BINARY, page), (0x0037, UNICODE, b"A\0\x3d\xd8"))
    assert message.body.text.startswith("Größe: Straße")
    assert message.subject.startswith("A")


def test_recipients_are_told_apart_by_their_kind() -> None:
    inside = (
        recipient(0, 1, "Ben", "ben@b.example"),
        recipient(1, 2, "Cleo", "cleo@c.example"),
        recipient(2, 3, "dan@d.example", "dan@d.example"),
    )
    sent = (datetime(2024, 3, 5, 8, 30, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()
    message = parsed(
        (0x0C1A, UNICODE, "Mond, Ada".encode("utf-16-le")),
        (0x5D01, UNICODE, "ada@a.example".encode("utf-16-le")),
        (0x0C1F, UNICODE, "/O=FIRM/CN=ADA".encode("utf-16-le")),
        (0x0E06, TIME, (int(sent) * 10**7).to_bytes(8, "little")),
        inside=inside,
    )
    assert [(one.role, one.name, one.address) for one in message.addresses] == [
        ("from", "Mond, Ada", "ada@a.example"),
        ("to", "Ben", "ben@b.example"),
        ("cc", "Cleo", "cleo@c.example"),
        ("bcc", "", "dan@d.example"),
    ]
    assert message.sent_at == datetime(2024, 3, 5, 8, 30, tzinfo=UTC)


def test_a_body_in_rich_text_alone_is_read_and_attachments_have_names() -> None:
    rich = rb"{\rtf1\ansi The roof is done.}"
    packed = (len(rich) + 12).to_bytes(4, "little") + len(rich).to_bytes(4, "little") + b"MELA" + bytes(4) + rich
    file = storage(
        "__attach_version1.0_#00000000", 8, (0x3704, STRING8, "план.txt".encode("cp1251")), (0x3701, BINARY, b"Slate.")
    )
    message = parsed((0x3FFD, INTEGER, number(1251)), (0x1009, BINARY, packed), inside=(file,))
    assert message.body.text == "The roof is done."
    assert [(one.filename, one.text.text) for one in message.attachments] == [("план.txt", "Slate.")]
