"""HTML that Outlook and Exchange wrapped in RTF is the HTML that it was, with its links and what it hides."""

import struct
from pathlib import Path

import pytest

from mailsearch.ingest import html, mime
from mailsearch.ingest.attachments import encapsulated, read_text, tnef
from tests.mailsearch.test_outlook_properties import BINARY, UNICODE, parsed
from tests.mailsearch.test_tnef import attribute, body, container, properties

FONTS = (
    r"{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fnil\fcharset204 Arial;}{\f2\fnil\fcharset128 MS Gothic;}"
    r"{\f3\fnil\fcharset2 Symbol;}}{\colortbl\red0\green0\blue0;\red5\green99\blue193;}"
)


def wrapped(content: str, made_from: str = "html1", page: int = 1252) -> bytes:
    head = rf"{{\rtf1\ansi\ansicpg{page}\from{made_from} \deff0{FONTS}" + "\r\n"
    return (head + r"\uc1\pard\plain\deftab360 \f0\fs24 " + content + "}").encode("latin-1")


def packed(source: bytes) -> bytes:
    return struct.pack("<II", len(source) + 12, len(source)) + b"MELA" + bytes(4) + source


LINKED = (
    r"{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Pay at "
    r'{\*\htmltag84 <a href="http://thief.example/pay">}\htmlrtf {\field{\*\fldinst{HYPERLINK "x"}}{\fldrslt\htmlrtf0'
    r" www.bank.example\htmlrtf }}\htmlrtf0 {\*\htmltag92 </a>}"
    r"{\*\mhtmltag84 <a href=3D>}{\*\htmltag84 <span style='display:none'>}ZEBRA{\*\htmltag92 </span>}"
    r"{\*\htmltag84 &nbsp;}\htmlrtf \'a0\htmlrtf0 today.\htmlrtf\par}\htmlrtf0" + "\r\n" + r"{\*\htmltag72 </p>}"
)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (LINKED, "Pay at www.bank.example today."),
        (r"One{\*\htmltag84 <br>}\htmlrtf\line\htmlrtf0 two", "One\ntwo"),
        (r"{\*\htmltag84 &lt;}\htmlrtf <\htmlrtf0 b> & \{c\}", "<b> & {c}"),
        (r"{\f1 \'cf\'f0\'e8\'e2\'e5\'f2} and {\f2 \'89\'ef\'8b\'63}", "Привет and 会議"),
        (r"\u1055 ?\u1088\'3f \uc2\u-10179 ??\u-8704 ??\uc1 !", "Пр 😀!"),
        (r"It\rquote s \'80 5 {\pntext\f3\'b7\tab}{\*\bkmkstart ZEBRA}\endash  done", "It’s € 5 – done"),
        (r"{\*\htmltag241 <style>.x \{display:none\}</style>}{\*\htmltag84 <b class=x>}ZEBRA{\*\htmltag92 </b>}A", "A"),
        (r"{\*\htmltag64}A {\*\htmltag84 <b title='\'e9'>}b{\*\htmltag92 </b>", "A b"),
        (r"A{\bin3 }}}B}{\pict\bin6 \par }ff}C", "ABC"),
    ],
)
def test_the_page_is_what_it_was_before(content: str, text: str) -> None:
    original = encapsulated.original(wrapped(content))
    assert original is not None
    assert original.kind == "html"
    page = html.visible_text(original.text)
    assert page.text == text
    assert ("ZEBRA" in page.hidden_text) == ("<span" in content or "<b class" in content)


def test_wrapped_text_keeps_its_lines() -> None:
    original = encapsulated.original(wrapped(r"Dear Bob,\par \'80 < 5 &amp;\par \tab x", "text"))
    assert original == encapsulated.Original("plain", "Dear Bob,\n€ < 5 &amp;\n\tx")


def test_rtf_of_its_own_was_made_from_nothing() -> None:
    assert encapsulated.original(rb"{\rtf1\ansi\fromhtmlx Words \'80}") is None
    assert encapsulated.original(b"") is None


def test_a_flood_of_groups_takes_linear_time() -> None:
    original = encapsulated.original(wrapped("{" * 200_000 + "Deep" + r"{\*\htmltag84 <i>}" * 20_000))
    assert original is not None
    assert original.text.startswith("Deep<i>")


def test_the_body_of_an_outlook_message_has_the_links_and_the_flags_of_its_page() -> None:
    message = parsed((0x1009, BINARY, packed(wrapped(LINKED))))
    assert message.body.text == "Pay at www.bank.example today."
    assert message.body.hidden_text == "ZEBRA"
    assert [one.target for one in message.body.links.kept] == ["http://thief.example/pay"]


def test_a_plain_form_that_says_something_else_is_flagged() -> None:
    other = "The meeting about the roof was moved to Thursday afternoon, in the small room.".encode("utf-16-le")
    assert parsed((0x1000, UNICODE, other), (0x1009, BINARY, packed(wrapped(LINKED)))).alternatives_differ
    same = "Pay at www.bank.example today.".encode("utf-16-le")
    message = parsed((0x1000, UNICODE, same), (0x1009, BINARY, packed(wrapped(LINKED))))
    assert not message.alternatives_differ
    assert [(one.start, one.end) for one in message.body.links.kept] == [(7, 23)]


def test_a_container_tells_the_same_of_its_body() -> None:
    held = container(attribute(1, 0x9003, properties((BINARY, 0x1009, packed(wrapped(LINKED))))))
    found = tnef.open_container(held).body
    assert (found.text.text, found.text.hidden_text) == ("Pay at www.bank.example today.", "ZEBRA")
    assert len(found.text.links.kept) == 1
    assert read_text(held, "", "winmail.dat")[1].text == "Pay at www.bank.example today."


def test_a_container_beside_a_text_adds_what_it_alone_tells() -> None:
    held = container(body(b"Pay at"), attribute(1, 0x9003, properties((BINARY, 0x1009, packed(wrapped(LINKED))))))
    head = b'From: a@a.example\nContent-Type: multipart/mixed; boundary="x"\n\n--x\n\n%s\n'
    tail = b"\n--x\nContent-Type: application/ms-tnef; name=winmail.dat\n\n" + held + b"\n--x--\n"
    message = mime.parse(head % b"Pay at www.bank.example today." + tail)
    assert message.body.text == "Pay at www.bank.example today."
    assert message.body.hidden_text == "ZEBRA"
    assert [(one.start, one.end) for one in message.body.links.kept] == [(7, 23)]
    assert not message.alternatives_differ
    assert mime.parse(head % b"Quite another text about the roof." + tail).alternatives_differ


def test_pages_of_real_messages_have_their_words_and_links(shared_cases: Path) -> None:
    found = 0
    for path in sorted((shared_cases / "mail").rglob("*HtmlSampleEmail.msg")):
        message = mime.parse(path.read_bytes())
        found += len(message.body.links.kept) > 1 and not message.alternatives_differ
    assert found
