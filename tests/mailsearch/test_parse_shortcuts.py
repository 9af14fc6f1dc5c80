"""The quick ways through usual headers give what the careful ways give, for any bytes."""

import random
import re
from collections.abc import Iterator

import pytest

from bench._mail import SAMPLE
from mailsearch.ingest import addresses, charset, entities, headers, language, mime
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


def test_ids_are_the_same_with_and_without_the_shortcut() -> None:
    draw = random.Random(5)
    pieces = [
        b"<a@x.example>", b"<b@x.example>", b"<" + b"c" * 990 + b">", b"<" + b"d" * 991 + b">", b" ", b"\r\n ", b"\t",
        b"<", b">", b"<>", b"x", b"@", b"\x00", b"\x0b", b"\x1c", b"\x7f", b"\xff", b"=?utf-8?Q?=3Ca=40x=3E?=", b",",
    ]  # fmt: skip
    for _ in range(3_000):
        value = b"".join(draw.choices(pieces, k=draw.randrange(6)))
        quick = headers._usual_ids(value)
        assert quick is None or quick == headers._any_ids(value)
        assert headers.message_ids(value) == headers._any_ids(value)


def test_text_is_cleaned_the_same_with_and_without_the_shortcut(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    pieces = [
        "word", "Übung", "写道", "\n", "\r\n", "\r", "\t", "\x00", "\x0b", "\x0c", "\x7f", "\x85", "\x86", "\u2028",
        "\u2029", "\ufffe", "\uffff", "\ud800", "\udfff", "\ufffd", "\U000e0041", "\U000e0001", "\U000e0100",
        "\U0001f3f4", "\U000f0000", "😀",
    ]  # fmt: skip
    texts = ["".join(draw.choices(pieces, k=draw.randrange(6))) for _ in range(5_000)]
    quickly = [charset.clean(text) for text in texts]
    monkeypatch.setattr(charset, "_is_clean", lambda _: False)
    assert [charset.clean(text) for text in texts] == quickly


def test_parts_are_told_apart_as_an_expression_for_the_boundary_would() -> None:
    draw = random.Random(11)
    pieces = [b"--b", b"--", b"\n", b"\r\n", b"\r", b" ", b"\t", b"x", b"b", b"--b--", b"--b-", b"-"]
    line = re.compile(rb"--b(--)?[ \t]*(?=[\r\n]|\Z)")
    for _ in range(5_000):
        raw = b"".join(draw.choices(pieces, k=draw.randrange(12)))
        start, end = sorted((draw.randrange(len(raw) + 1), draw.randrange(len(raw) + 1)))
        entity = entities.Entity(raw, "1", 0, [], start, end)
        found = [(at, after[1], after.end()) for at, after in entities._lines_of(b"--b", raw, entity)]
        assert found == [
            (match.start(), match[1], match.end())
            for match in line.finditer(raw, start, end)
            if match.start() == start or raw[match.start() - 1] in b"\r\n"
        ]


def test_the_beginning_of_a_text_tells_the_same_as_all_of_it() -> None:
    draw = random.Random(13)
    pieces = [
        "word ",
        "two-words ",
        "\n",
        "> quoted line\n",
        "a@b.example ",
        "https://x.example/a ",
        "===",
        "Übung ",
        "x" * 90,
    ]
    for _ in range(2_000):
        text = "".join(draw.choices(pieces, k=draw.randrange(200)))
        begun, whole = language._said(text[:600], whole=False), language._said(text[:1200])
        assert whole.startswith(begun)
