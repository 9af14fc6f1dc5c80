"""Invitations as programs write them: cut off, with words around, in other charsets, with HTML in them."""

import json

import pytest

from mailsearch.ingest import invitations, mime

START = "2024-03-12T13:00:00Z"
HEAD = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n"
EVENT = "BEGIN:VEVENT\r\nUID:u\r\nDTSTART:20240312T130000Z\r\nSUMMARY:Boiler\r\n"
TAIL = "END:VEVENT\r\nEND:VCALENDAR\r\n"


@pytest.mark.parametrize(
    "source",
    [
        HEAD + EVENT + TAIL,
        HEAD + EVENT + "END:VEVENT\r\n",
        HEAD + EVENT,
        HEAD + EVENT + "DESCRIPT",
        HEAD + EVENT + "BEGIN:VALARM\r\nTRIGGER:-PT15M\r\n",
        "Words above it.\r\n" + HEAD + EVENT + TAIL,
        "\ufeff" + HEAD + EVENT + TAIL,
    ],
)
def test_a_calendar_that_is_cut_off_or_stands_below_something_is_read(source: str) -> None:
    read = invitations.read(source.encode())
    assert read.sound
    assert read.text.text == "Boiler\n\nStart: Tuesday 2024-03-12 13:00 UTC"
    assert json.loads(read.facts["event"])["start"] == START


def test_a_fold_may_cut_a_character() -> None:
    source = (HEAD + EVENT).encode() + b"LOCATION:Gr\xc3\r\n \xbc\xc3\x9fe\r\n" + TAIL.encode()
    assert "Location: Grüße" in invitations.read(source).text.text


def test_a_calendar_is_read_in_the_charset_that_it_is_labelled_with() -> None:
    head = b"Content-Type: text/calendar; charset=shift_jis\r\n\r\n"
    source = (HEAD + EVENT + "LOCATION:会議室三\r\n" + TAIL).encode("cp932")
    assert "会議室三" in mime.parse(head + source).body.text


@pytest.mark.parametrize("key", ["DESCRIPTION", "X-ALT-DESC;FMTTYPE=text/html"])
def test_html_in_a_description_is_shown_as_what_it_says(key: str) -> None:
    source = f"{HEAD}{EVENT}{key}:<p>Bring the <b>log</b>.</p><p hidden>SECRET</p>\r\n{TAIL}"
    text = invitations.read(source.encode()).text
    assert text.text.endswith("Bring the log.")
    assert text.hidden_text == "SECRET"


@pytest.mark.parametrize("kind", ["text/calendar; name=meeting.ics", "application/ics"])
def test_a_message_that_is_nothing_but_an_invitation_says_it(kind: str) -> None:
    parsed = mime.parse(f"Subject: x\r\nContent-Type: {kind}\r\n\r\n{HEAD}{EVENT}{TAIL}".encode())
    assert parsed.body.text.startswith("Boiler")
    assert json.loads(parsed.extras["event"])["start"] == START
