"""Headers: decoded whatever their state, and never able to become another header."""

from datetime import UTC, datetime, timedelta

import pytest

from mailsearch.hits import Authentication
from mailsearch.ingest import addresses, authentication, dates, headers


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"plain words", "plain words"),
        ("schöne Grüße".encode(), "schöne Grüße"),
        (b"=?utf-8?Q?caf=C3=A9_au_lait?=", "café au lait"),
        (b"=?UTF-8?B?w5xiZXI=?= uns", "Über uns"),
        # A character cut between two words, and words of different encodings.
        (b"=?utf-8?Q?gr=C3?=\r\n =?utf-8?Q?=BCn?=", "grün"),
        (b"=?utf-8?B?w7w=?= =?utf-8?Q?ber?=", "über"),
        (b"=?utf-8*de?Q?T=C3=BCr?=", "Tür"),
        # Blanks and a question mark inside, missing padding, and an end that never comes.
        (b"=?utf-8?Q?what is it??=", "what is it?"),
        (b"=?utf-8?B?SGFsbG8?=", "Hallo"),
        (b"=?utf-8?Q?open end", "=?utf-8?Q?open end"),
        (b"=?iso-8859-1?Q?it=92s?=", "it’s"),
        (b"=?iso-8859-2?Q?za=C5=BCalenie?=", "zażalenie"),
        (b"a\r\n\tfolded line", "a folded line"),
    ],
)
def test_a_header_is_decoded(raw: bytes, expected: str) -> None:
    assert headers.text(raw).value == expected


def test_an_encoded_line_break_stays_inside_its_header() -> None:
    value = headers.text(b"=?utf-8?Q?Hi=0D=0ABcc:_eve@evil.example=0D=0A=0D=0Abody?=").value
    assert "\n" not in value
    assert "\r" not in value


def test_nul_and_controls_leave_a_header() -> None:
    assert headers.text(b"=?utf-8?Q?a=00b=07c?=").value == "abc"


def test_charsets_that_are_no_charsets_are_refused() -> None:
    decoded = headers.text(b"=?utf-7?Q?+ADw-script+AD4-?=")
    assert "<script>" not in decoded.value
    assert decoded.problem


def test_raw_bytes_follow_the_charset_of_the_body() -> None:
    assert headers.text("Расписание".encode("koi8-r"), hint="koi8-r").value == "Расписание"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"Ada <ada@a.example>", [("Ada", "ada@a.example")]),
        (b'"Mond, Ada" <ada@A.Example>', [("Mond, Ada", "ada@a.example")]),
        (b"=?utf-8?Q?Wei=C3=9F=2C_J=C3=B6rg?= <j@a.example>", [("Weiß, Jörg", "j@a.example")]),
        (b"ada@a.example (Ada Mond)", [("Ada Mond", "ada@a.example")]),
        (b"a@a.example, b@b.example", [("", "a@a.example"), ("", "b@b.example")]),
        (b"team: a@a.example, Ben <b@b.example>;", [("", "a@a.example"), ("Ben", "b@b.example")]),
        (b"undisclosed-recipients:;", []),
        (b"Mond, Ada <ada@a.example>", [("Mond, Ada", "ada@a.example")]),
        (b'"=?utf-8?Q?Zo=C3=AB?=" <z@a.example>', [("Zoë", "z@a.example")]),
        (b'"ceo@bank.example" <eve@evil.example>', [("ceo@bank.example", "eve@evil.example")]),
        (b"root", [("", "root")]),
        (b'Ada <"ada m"@A.example>', [("Ada", '"ada m"@a.example')]),
        (b"=?utf-8?Q?Zo=C3=AB_=3Cz=40a.example=3E?=", [("Zoë", "z@a.example")]),
        (b"Ada @ Work, Ltd <ada@a.example>", [("Ada @ Work, Ltd", "ada@a.example")]),
        (b"<>", []),
    ],
)
def test_addresses_are_split_before_they_are_decoded(raw: bytes, expected: list[tuple[str, str]]) -> None:
    found, _ = addresses.read(raw, "to")
    assert [(one.name, one.address) for one in found] == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"attachment; filename=report.pdf", "report.pdf"),
        (b'attachment; filename="a; b.pdf"', "a; b.pdf"),
        (b"attachment; filename*=utf-8''%E2%82%AC%20rates.txt", "€ rates.txt"),
        (b"attachment; filename*0*=UTF-8''%C3; filename*1*=%9Cber; filename*2=.csv", "Über.csv"),
        (b"attachment; filename*1=b.txt; filename*0=a", "ab.txt"),
        (b'attachment; filename="=?utf-8?Q?=C3=9Cber.pdf?="', "Über.pdf"),
        ("attachment; filename=prüfung.pdf".encode("latin-1"), "prüfung.pdf"),
        (b'attachment; filename*0="=?utf-8?B?w5xiZXIu"; filename*1="dHh0?="', "Über.txt"),
        (b'attachment filename="x.txt"', "x.txt"),
        (b'filename="x.txt"', "x.txt"),
    ],
)
def test_parameters_are_joined_before_they_are_decoded(raw: bytes, expected: str) -> None:
    assert headers.parameters(raw)[1]["filename"] == expected


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "C:\\Windows\\win.ini",
        "a/b/..",
        "x\r\nX-Bad: yes\x00.txt",
        "..",
        ".bashrc",
        "CON.txt",
        "a" * 400,
    ],
)
def test_a_file_name_names_no_place(name: str) -> None:
    safe = headers.safe_filename(name)
    assert "/" not in safe
    assert "\\" not in safe
    assert not safe.startswith(".")
    assert safe.isprintable()
    assert len(safe) <= 200
    assert not safe.lower().startswith("con.")


def test_references_come_in_order_and_once() -> None:
    assert headers.message_ids(b"<long-one-\r\n folded@x.example> <a@x.example>") == (
        "long-one-folded@x.example",
        "a@x.example",
    )
    many = b"\r\n ".join(b"<%d@x.example>" % number for number in range(10_000))
    assert headers.message_ids(many)[-1] == "9999@x.example"
    assert headers.message_ids(b"=?utf-8?Q?=3Ca=40x.example=3E?=") == ("a@x.example",)
    assert headers.message_ids(b"<a@x.example>\r\n <b@x.example> junk <a@x.example>") == ("a@x.example", "b@x.example")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Tue, 05 Mar 2024 09:30:00 +0100", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("5 Mar 24 09:30 EST", datetime(2024, 3, 5, 14, 30, tzinfo=UTC)),
        ("Tue, 05 Mar 2024 09:30:00 +0100 (CET)", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("2024-03-05T09:30:00+01:00", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("Tue, 05 Mar 2024 09:30:00 +01:00", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("(a) Tue (b), 05 Mar 2024 (c) 09:30 +0100 (CET (winter))", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("Tue, 5 Mar 2024 12:30:00 AM +0100", datetime(2024, 3, 4, 23, 30, tzinfo=UTC)),
        ("Tue Mar  5 09:30:00 2024", datetime(2024, 3, 5, 9, 30, tzinfo=UTC)),
        ("Thu, 13 Dec 101 15:30:00 +0000", datetime(2001, 12, 13, 15, 30, tzinfo=UTC)),
        ("Tue, 05 Mar 2024 09:30:60 +0000", datetime(2024, 3, 5, 9, 30, 59, tzinfo=UTC)),
        ("Fri, 1 Feb 19102 15:30:00 +0000", datetime(2002, 2, 1, 15, 30, tzinfo=UTC)),
        ("Tue, 05 Mar 2024 09:30:00 CET", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("Tue Mar  5 09:30:00 JST 2024", datetime(2024, 3, 5, 0, 30, tzinfo=UTC)),
        ("Tue, 05 Mar 2024 09:30:00.250 +0100", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("Dienstag, 5. März 2024 09:30:00 +0100", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("mar., 5 mars 2024 09:30:00 +0100", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
        ("Вт, 05 мар 2024 09:30:00 +0100", datetime(2024, 3, 5, 8, 30, tzinfo=UTC)),
    ],
)
def test_dates_are_read_in_their_zone(value: str, expected: datetime) -> None:
    moment = dates.read(value).moment
    assert moment is not None
    assert moment.astimezone(UTC) == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday",
        "Tue, 05 Mar 9999999999 09:30:00 +0000",
        "Fri, 30 Feb 2024 10:00:00 +0000",
        "1 Jan 0001 00:00:00 +1200",
        "Tue, 05 Mar -2024 09:30:00 +0100",
    ],
)
def test_a_date_that_cannot_be_is_none_and_says_why(value: str) -> None:
    read = dates.read(value)
    assert read.moment is None
    assert read.problem


def test_an_impossible_zone_does_not_lose_the_date() -> None:
    read = dates.read("Tue, 05 Mar 2024 09:30:00 -1600")
    assert read.moment == datetime(2024, 3, 5, 9, 30, tzinfo=UTC)
    assert read.problem
    read = dates.read("Tue, 05 Mar 2024 09:30:00 XYZ")
    assert read.moment == datetime(2024, 3, 5, 9, 30, tzinfo=UTC)
    assert read.problem


def test_a_date_keeps_the_senders_offset() -> None:
    moment = dates.read("Tue, 05 Mar 2024 09:30:00 +0545").moment
    assert moment is not None
    assert moment.utcoffset() == timedelta(hours=5, minutes=45)


OURS = (
    "received",
    b" from mail.a.example (mail.a.example [192.0.2.1]) by mx.ours.example; Tue, 5 Mar 2024 09:30:00 +0000",
)
REAL = (
    "authentication-results",
    b" mx.ours.example; spf=fail smtp.mailfrom=a.example; dmarc=fail header.from=a.example",
)
FORGED = ("authentication-results", b" mx.ours.example; spf=pass; dkim=pass; dmarc=pass header.from=a.example")
THEIRS = ("received", b" from home by mail.a.example; Tue, 5 Mar 2024 09:29:00 +0000")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([OURS, FORGED, THEIRS], "pass"),
        ([FORGED, OURS, THEIRS], "pass"),
        # What the sender wrote below the border's own result, or below another hop, counts for nothing.
        ([OURS, REAL, FORGED, THEIRS], "fail"),
        ([REAL, OURS, FORGED], "fail"),
        ([OURS, THEIRS, FORGED], "unknown"),
        ([THEIRS, FORGED], "unknown"),
        ([OURS, ("authentication-results", b" mx.evil.example; dmarc=pass")], "unknown"),
        ([OURS, ("authentication-results", b' mx.ours.example; spf=none (dmarc=pass) x="; dmarc=pass"')], "unknown"),
    ],
)
def test_only_the_border_says_who_sent_a_message(fields: list[tuple[str, bytes]], expected: str) -> None:
    assert authentication.read(fields, "mx.ours.example").dmarc == expected


def test_without_a_trusted_border_nothing_is_known() -> None:
    assert authentication.read([OURS, FORGED], "") == Authentication()
