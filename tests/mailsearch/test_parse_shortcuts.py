"""The quick ways through usual headers give what the careful ways give, for any bytes."""

import random
import re
from collections.abc import Iterator

import pytest

from bench._mail import SAMPLE
from mailsearch.ingest import addresses, mime
from mailsearch.ingest.parsed import ParsedMessage

PIECES = [
    b"\r\n", b"\n", b"\r", b"\n\n", b"\n ", b"\n\t", b" ", b",", b";", b":", b"<", b">", b'"', b"(", b")", b"@", b"=?",
    b"?=", b"\x00", b"\xff", b"\xc3\x9f", b"-0000", b"+2400", b"31 Feb 2026", b"a" * 400, b"mailto:", b"..", b"\\",
]  # fmt: skip
FIELDS = [
    b"To: team: ann@x.example, bob@x.example;", b"Cc: Okafor, Ngozi <n@x.example>", b"To: a@X.Example,b@x.example",
    b"Date: Mon, 02 Mar 2026 09:00:60 +0100", b"Date: 2 Mar 2026 24:00:00 -0000", b"Date: 30 Feb 2026 09:00:00 +0000",
    b"From: Ann  Abel <ann@x.example>", b"From: 1.2 <a@b>", b"To: <a@b", b"To: a@b>", b"Sender: A <a@b> <c@d>",
]  # fmt: skip


def mutated(count: int) -> Iterator[bytes]:
    """*count* messages of the sample, each changed at a few places of its headers."""
    draw = random.Random(3)
    originals = [path.read_bytes() for path in sorted(SAMPLE.rglob("*.eml"))]
    for _ in range(count):
        raw = draw.choice(originals)
        if draw.random() < 0.5:
            raw = raw.replace(b"\r\n", b"\n")
        lines = raw.split(b"\n")
        lines.insert(draw.randrange(5), draw.choice(FIELDS) + (b"\r" if draw.random() < 0.5 else b""))
        raw = b"\n".join(lines)
        for _ in range(draw.randrange(4)):
            at = draw.randrange(min(len(raw), 800))
            raw = raw[:at] + draw.choice(PIECES) + raw[at + draw.randrange(3) :]
        yield raw


def parse(raw: bytes) -> ParsedMessage:
    addresses.read.cache_clear()
    return mime.parse(raw, read_attachments=False)


def test_messages_are_the_same_with_and_without_shortcuts(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = list(mutated(120))
    quickly = [parse(raw) for raw in messages]
    monkeypatch.setattr("mailsearch.ingest.entities._usual_fields", lambda *_: None)
    monkeypatch.setattr("mailsearch.ingest.addresses._USUAL", re.compile(rb"(?!)"))
    monkeypatch.setattr("mailsearch.ingest.dates._USUAL", re.compile(r"(?!)"))
    for raw, quick in zip(messages, quickly, strict=True):
        assert parse(raw) == quick
