"""Outlook's winmail.dat: files and text in all code pages, and what is left of broken containers."""

import struct

import pytest

from mailsearch.ingest import mime
from mailsearch.ingest.attachments import tnef


def attribute(level: int, name: int, data: bytes) -> bytes:
    head = struct.pack("<BHHI", level, name, 6, len(data))
    return head + data + struct.pack("<H", sum(data) & 0xFFFF)


def properties(*listed: tuple[int, int, bytes]) -> bytes:
    written = struct.pack("<I", len(listed))
    for kind, number, data in listed:
        written += struct.pack("<HHII", kind, number, 1, len(data)) + data + bytes(-len(data) % 4)
    return written


def container(*attributes: bytes, page: int = 1252) -> bytes:
    head = attribute(1, 0x9006, struct.pack("<I", 0x10000)) + attribute(1, 0x9007, struct.pack("<II", page, 0))
    return b"\x78\x9f\x3e\x22\x01\x00" + head + b"".join(attributes)


def file(name: bytes, content: bytes, *more: bytes) -> bytes:
    head = attribute(2, 0x9002, bytes(14)) + attribute(2, 0x8010, name + b"\0")
    return head + attribute(2, 0x800F, content) + b"".join(more)


def body(text: bytes) -> bytes:
    return attribute(1, 0x800C, text + b"\0")


@pytest.mark.parametrize(
    ("page", "codec", "name", "text"),
    [
        (1252, "cp1252", "Grüße.txt", "Größe der Räume"),
        (1251, "cp1251", "план.txt", "Встреча завтра в три"),
        (932, "cp932", "計画.txt", "会議は水曜日です"),
        (65000, "ascii", "a.txt", "Plain words"),
    ],
)
def test_names_and_text_are_in_the_code_page_of_the_container(page: int, codec: str, name: str, text: str) -> None:
    opened = tnef.open_container(container(body(text.encode(codec)), file(name.encode(codec), b"Slate."), page=page))
    assert (opened.body.text.text, opened.files) == (text, ((name, b"Slate."),))


def test_a_long_name_wins() -> None:
    named = attribute(2, 0x9005, properties((0x1F, 0x3707, "Long näme.txt\0".encode("utf-16-le"))))
    assert tnef.open_container(container(file(b"LONGN~1.TXT", b"x", named))).files == (("Long näme.txt", b"x"),)


def test_what_a_broken_attribute_stands_beside_is_read() -> None:
    broken = attribute(1, 0x8000, b"\4\0\x10\0\3\0\3\0abcdef")
    whole = container(broken, body(b"Words."), file(b"a.txt", b"alpha"), file(b"b.txt", b"beta words"))
    opened = tnef.open_container(whole[:-6])
    assert (opened.body.text.text, opened.files) == ("Words.", (("a.txt", b"alpha"), ("b.txt", b"beta w")))


@pytest.mark.parametrize(
    "listed",
    [
        (0x102, 0x1013, b"<p>The roof is done.</p>"),
        (0x102, 0x1009, struct.pack("<II", 41, 29) + b"MELA" + bytes(4) + rb"{\rtf1\ansi The roof is done.}"),
    ],
)
def test_a_body_is_read_in_each_of_its_forms(listed: tuple[int, int, bytes]) -> None:
    opened = tnef.open_container(container(attribute(1, 0x9003, properties(listed))))
    assert opened.body.text.text == "The roof is done."


def test_a_message_inside_is_read_with_its_files() -> None:
    inner = container(body(b"Inner words."), file(b"i.txt", b"Slate."))
    kind = bytes.fromhex("0703020000000000c000000000000046")
    held = attribute(2, 0x9005, properties((0x0D, 0x3701, kind + inner)))
    outer = container(attribute(2, 0x9002, bytes(14)), attribute(2, 0x8010, b"Inner\0"), held)
    parsed = mime.parse(b"From: a@a.example\nContent-Type: application/ms-tnef; name=winmail.dat\n\n" + outer)
    assert [one.filename for one in parsed.attachments] == ["Inner"]
    assert "Inner words." in parsed.attachments[0].text.text
    assert "Slate." in parsed.attachments[0].text.text


def test_what_is_no_container_is_not_sound() -> None:
    assert not tnef.open_container(b"Words.").sound
