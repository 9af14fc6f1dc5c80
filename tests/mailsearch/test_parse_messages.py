"""Whole messages: what a reader sees, what hangs on it, and a defect for everything that was wrong."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mailsearch.ingest import entities, mime
from mailsearch.ingest.language import detect
from mailsearch.ingest.parsed import ParsedMessage
from mailsearch.ingest.words import words_hash

HEAD = (
    b"From: Ada Mond <ada@a.example>\r\nTo: Ben <ben@b.example>\r\nSubject: Roof\r\n"
    b"Date: Tue, 05 Mar 2024 09:30:00 +0100\r\nMessage-ID: <one@a.example>\r\nMIME-Version: 1.0\r\n"
)


def message(body: bytes, head: bytes = HEAD) -> ParsedMessage:
    return mime.parse(head + body)


def parts(subtype: str, *contents: bytes, closed: bool = True) -> bytes:
    text = b"".join(b"--cut\r\n" + content + b"\r\n" for content in contents)
    end = b"--cut--\r\n" if closed else b""
    return f"Content-Type: multipart/{subtype}; boundary=cut\r\n\r\n".encode() + text + end


def codes(parsed: ParsedMessage) -> set[str]:
    return {defect.code for defect in parsed.defects}


PLAIN = b"Content-Type: text/plain; charset=utf-8\r\n\r\n"
HTML = b"Content-Type: text/html; charset=utf-8\r\n\r\n"


def test_a_sound_message_has_no_defect() -> None:
    parsed = message(PLAIN + b"The roof is done.\r\n")
    assert parsed.body.text == "The roof is done."
    assert parsed.subject == "Roof"
    assert parsed.rfc_message_id == "one@a.example"
    assert [(one.role, one.address) for one in parsed.addresses] == [("from", "ada@a.example"), ("to", "ben@b.example")]
    assert parsed.defects == ()


@pytest.mark.parametrize(
    ("plain", "page", "expected"),
    [
        (b"The roof is done and paid.", b"<p>The roof is done and paid.</p>", "The roof is done and paid."),
        (b" \r\n", b"<p>The roof is done.</p>", "The roof is done."),
        (
            b"Your program does not support HTML messages.",
            b"<p>The roof is done. The crane left, and the bill comes on Monday.</p>",
            "The roof is done. The crane left, and the bill comes on Monday.",
        ),
        (
            b"Se non visualizza il messaggio clicchi qui",
            b"<p>The roof is done. The crane left, and the bill comes on Monday.</p>",
            "The roof is done. The crane left, and the bill comes on Monday.",
        ),
        (b"[cid:image001.png]", b"<p>The roof is done. The crane left us.</p>", "The roof is done. The crane left us."),
        (b"View this message in a browser.", b"<p>" + b"The roof is done. " * 20 + b"</p>", "The roof is done. " * 20),
        (b"Words of the text.", b"", "Words of the text."),
    ],
)
def test_text_wins_unless_it_is_blank_or_a_stub(plain: bytes, page: bytes, expected: str) -> None:
    assert message(parts("alternative", PLAIN + plain, HTML + page)).body.text == expected.strip()


def test_alternatives_that_say_different_things_are_flagged() -> None:
    same = message(parts("alternative", PLAIN + b"The roof is done.", HTML + b"<p>The <b>roof</b> is done.</p>"))
    other = message(parts("alternative", PLAIN + b"Pay nothing today please.", HTML + b"<p>Transfer all money now</p>"))
    assert not same.alternatives_differ
    assert other.alternatives_differ


def test_hidden_text_of_the_losing_alternative_is_still_kept_apart() -> None:
    page = HTML + b"<p>The roof is done.</p><p style='display:none'>obey</p>"
    parsed = message(parts("alternative", PLAIN + b"The roof is done.", page))
    assert "obey" not in parsed.body.text
    assert "obey" in parsed.body.hidden_text


def test_every_inline_text_belongs_to_the_body() -> None:
    image = b"Content-Type: image/png; name=a.png\r\n\r\nx"
    parsed = message(parts("mixed", PLAIN + b"First.", image, PLAIN + b"Last."))
    assert parsed.body.text == "First.\n\nLast."
    assert [one.filename for one in parsed.attachments] == ["a.png"]


@pytest.mark.parametrize(
    ("head", "body", "expected", "code"),
    [
        (b"charset=utf-8", "żółty".encode(), "żółty", ""),
        (b"charset=iso-8859-2", "żółty".encode(), "żółty", "charset-mismatch"),
        (b"charset=iso-8859-1", b"it\x92s \x96 fine", "it’s – fine", ""),
        (b"charset=unknown-8bit", "crème brûlée".encode(), "crème brûlée", "charset-unknown"),
        (b"charset=utf-7", b"+ADw-script+AD4-", "+ADw-script+AD4-", ""),
        (b"charset=idna", "déjà".encode(), "déjà", "charset-unknown"),
        (b"charset=koi8-r", "автобус".encode("koi8-r"), "автобус", ""),
        (b"charset=gb2312", "图书馆".encode("gbk"), "图书馆", ""),
        (b"charset=utf-8", b"a\x00b", "ab", "nul-characters"),
    ],
)
def test_text_is_read_in_the_charset_that_it_is_in(head: bytes, body: bytes, expected: str, code: str) -> None:
    parsed = message(b"Content-Type: text/plain; " + head + b"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n" + body)
    assert parsed.body.text == expected
    assert code in codes(parsed) | {""}


def test_tag_characters_are_hidden_text() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "obey me")
    for part in (PLAIN + f"The roof.{tags}".encode(), HTML + f"<p>The roof.{tags}</p>".encode()):
        parsed = message(part)
        assert (parsed.body.text, parsed.body.hidden_text) == ("The roof.", "obey me")


def test_nothing_that_leaves_is_unstorable() -> None:
    parsed = mime.parse(HEAD + b"\r\n" + bytes(range(256)) * 3)
    parsed.body.text.encode()
    assert "\x00" not in parsed.body.text


@pytest.mark.parametrize(
    ("body", "words", "code"),
    [
        (b"*!VGhlIHJvb2YgaXMgZG9uZS4=", "The roof is done.", "base64-damaged"),
        (b"VGhlIHJvb2YgaXMgZG9uZS4gVGhlI", "The roof is done. The", "base64-truncated"),
        (b"VGhlIHJvb2Yg=\r\naXMgZG9uZS4=", "The roof is done.", ""),
        (b"VGhlIHJvb2YgaXMgZG9uZS4=\r\n____\r\nThe list", "The roof is done.\n\n____\nThe list", "base64-trailer"),
        (b"The roof is done, and paid.", "The roof is done, and paid.", "base64-absent"),
        (b"Scanned.\r\n\r\n" + base64.b64encode(b"The roof is done. " * 3), "The roof is done. " * 3, "base64-damaged"),
        (base64.encodebytes(b"The roof is done. " * 9)[3:], "roof is done. The roof is done. The", "base64-truncated"),
        (b"w5xiZXIgZGFzIERhY2ggPz8_Pj4-Lg", "Über das Dach ???>>>.", "base64-truncated"),
    ],
)
def test_damaged_base64_is_read_as_far_as_it_goes(body: bytes, words: str, code: str) -> None:
    parsed = message(b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n" + body)
    assert words.strip() in parsed.body.text
    assert code in codes(parsed) | {""}


def test_a_missing_closing_boundary_loses_nothing() -> None:
    parsed = message(parts("mixed", PLAIN + b"First.", PLAIN + b"Last.", closed=False))
    assert parsed.body.text == "First.\n\nLast."
    assert "missing-closing-boundary" in codes(parsed)


def test_parts_are_told_by_another_boundary_where_the_named_one_never_occurs() -> None:
    parsed = message(parts("mixed", PLAIN + b"First.", PLAIN + b"Last.").replace(b"boundary=cut", b"boundary=other"))
    assert parsed.body.text == "First.\n\nLast."
    assert "missing-boundary" in codes(parsed)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r", b"\r\r\n"])
def test_line_ends_of_all_kinds_are_read(line_end: bytes) -> None:
    raw = (HEAD + parts("mixed", PLAIN + b"First.\r\nSecond.", PLAIN + b"Last.")).replace(b"\r\n", line_end)
    parsed = mime.parse(raw)
    assert parsed.subject == "Roof"
    assert parsed.body.text == "First.\nSecond.\n\nLast."


@pytest.mark.parametrize("depth", [90, 150, 2_000])
def test_deep_nesting_still_gives_its_text(depth: int) -> None:
    lines = [b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d" % (level, level) for level in range(depth)]
    parsed = mime.parse(HEAD + b"\r\n".join([*lines, b"\r\nhalibut\r\n"]))
    assert "halibut" in parsed.body.text
    assert ("nesting-depth" in codes(parsed)) == (depth > entities.DEEPEST)


def test_headers_that_are_missing_or_repeated_are_noted() -> None:
    bare = mime.parse(b"Subject: Ladder\r\n\r\nwords")
    assert {"message-id-missing", "date-missing"} <= codes(bare)
    twice = mime.parse(HEAD + b"Message-ID: <two@a.example>\r\n\r\nwords")
    assert twice.rfc_message_id == "one@a.example"
    assert "message-id-repeated" in codes(twice)


def test_a_from_line_before_the_headers_is_passed_over() -> None:
    assert mime.parse(b"From ada@a.example Tue Mar  5 09:30:00 2024\r\n" + HEAD + b"\r\nwords").subject == "Roof"


def test_received_tells_when_the_message_came() -> None:
    raw = b"Received: from a by b; Tue, 5 Mar 2024 10:00:00 +0000\r\n" + HEAD + b"\r\nwords"
    received = mime.parse(raw).received_at
    assert received is not None
    assert received.isoformat() == "2024-03-05T10:00:00+00:00"


EVENT = (
    b"BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:1@a.example\r\nSUMMARY:Roof\\, west side\r\n"
    b"DTSTART;TZID=Europe/Berlin:20240312T140000\r\nDTEND;TZID=Europe/Berlin:20240312T150000\r\n"
    b"DESCRIPTION:Bring the lad\r\n der.\r\nORGANIZER;CN=Ada:mailto:ada@a.example\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


def test_an_invitation_without_other_text_says_what_the_event_says() -> None:
    parsed = message(b"Content-Type: text/calendar; method=REQUEST\r\n\r\n" + EVENT)
    assert "Roof, west side" in parsed.body.text
    assert "Bring the ladder." in parsed.body.text
    event = json.loads(parsed.extras["event"])
    assert event["start"] == "2024-03-12T13:00:00Z"
    assert event["organizer"] == "ada@a.example"


@pytest.mark.parametrize("broken", [b"DTSTART:", b"DTSTART:20", b"DTEND:tomorrow", b"DURATION:x"])
def test_an_event_with_a_moment_that_is_none_says_the_rest(broken: bytes) -> None:
    event = b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Roof\r\n" + broken + b"\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    parsed = message(b"Content-Type: text/calendar\r\n\r\n" + event)
    assert "Roof" in parsed.body.text


def test_an_answer_to_an_invitation_says_who_comes() -> None:
    event = b"BEGIN:VCALENDAR\r\nMETHOD:REPLY\r\nBEGIN:VEVENT\r\nSUMMARY:Roof\r\nDTSTART:20240304T093000Z\r\n"
    event += b"ATTENDEE;PARTSTAT=DECLINED;CN=Ben:mailto:ben@b.example\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    parsed = message(b"Content-Type: text/calendar\r\n\r\n" + event)
    assert "Attendee: Ben <ben@b.example> (declined)" in parsed.body.text


def test_an_invitation_beside_text_is_an_attachment() -> None:
    parsed = message(parts("alternative", PLAIN + b"Please come.", b"Content-Type: text/calendar\r\n\r\n" + EVENT))
    assert parsed.body.text == "Please come."
    assert [one.filename for one in parsed.attachments] == ["invite.ics"]
    assert "event" in parsed.extras


INNER = b"From: Cara <cara@c.example>\r\nSubject: Survey\r\nMessage-ID: <in@c.example>\r\n\r\nheron colony"


@pytest.mark.parametrize(
    "part",
    [
        b"Content-Type: message/rfc822\r\n\r\n" + INNER,
        b"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.encodebytes(INNER),
        b"Content-Type: application/octet-stream; name=survey.eml\r\n\r\n" + INNER,
    ],
)
def test_a_message_inside_is_a_message_of_its_own(part: bytes) -> None:
    parsed = message(parts("mixed", PLAIN + b"See below.", part))
    assert parsed.body.text == "See below."
    assert [one.rfc_message_id for one in parsed.nested] == ["in@c.example"]
    assert parsed.nested[0].body.text == "heron colony"
    (attached,) = parsed.attachments
    assert attached.filename.endswith(".eml")
    assert [(one.kind, one.said_by) for one in attached.text.regions] == [("forwarded", "Cara <cara@c.example>")]


def test_messages_nest_only_so_deep() -> None:
    raw = INNER
    for _ in range(40):
        raw = HEAD + b"Content-Type: message/rfc822\r\n\r\n" + raw
    parsed = mime.parse(raw)
    depth = 0
    while parsed.nested:
        parsed, depth = parsed.nested[0], depth + 1
    assert depth == 10


def test_a_file_name_on_the_only_text_does_not_empty_the_body() -> None:
    assert message(b"Content-Type: text/plain; name=body.txt\r\n\r\nwords").body.text == "words"


def test_the_language_is_that_of_the_new_words() -> None:
    assert detect("Guten Tag, das Dach ist fertig und die Rechnung liegt bei.") == "de"
    assert detect("Hello, the roof is done and the invoice is enclosed.") == "en"
    assert detect("ok") == ""


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Thanks, see you tomorrow at the station.", "en"),
        ("Please find the invoice attached. Regards, Ben", "en"),
        ("How far? The goods don reach, you fit come", "en"),
        ("Vielen Dank, wir sehen uns morgen am Bahnhof.", "de"),
        ("Merci beaucoup, à demain à la gare.", "fr"),
        ("Muchas gracias, nos vemos mañana en la estación.", "es"),
        ("Bedankt, tot morgen op het station.", "nl"),
        ("Děkuji, uvidíme se zítra na nádraží.", "cs"),
        ("Спасибо за счёт, мы увидимся с вами завтра на вокзале.", "ru"),
        ("ありがとうございます、明日駅で会いましょう。", "ja"),
        ("谢谢，明天在车站见。请带上发票。", "zh"),
        ("감사합니다, 내일 역에서 만나요.", "ko"),
        ("ขอบคุณครับ เจอกันพรุ่งนี้ที่สถานี", "th"),
        ("شكرا جزيلا، نراكم غدا في المحطة", "ar"),
        ("תודה רבה, נתראה מחר בתחנה", "he"),
        ("धन्यवाद, कल स्टेशन पर मिलते हैं", "hi"),
    ],
)
def test_short_texts_are_in_a_language_that_search_knows(text: str, language: str) -> None:
    assert detect(text) == language


def test_near_duplicates_share_a_hash() -> None:
    assert words_hash("The roof\nis done.") == words_hash("> the ROOF is   done")
    assert words_hash("The roof is done.") != words_hash("The roof is not done.")
    assert words_hash(" \n") == ""


SEED = HEAD + parts(
    "mixed",
    parts("alternative", PLAIN + b"Words \xc3\xa9\xff.", HTML + b"<p>Words <b>x</b>"),
    b"Content-Type: message/rfc822\r\n\r\n" + INNER,
    b"Content-Type: text/calendar\r\n\r\n" + EVENT,
    b"Content-Type: application/pdf; name*0*=utf-8''a%C3; name*1=b.pdf\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\nJVBERi0x",
)


SAMPLE = Path(__file__).resolve().parents[2] / "sample" / "mail"
SEEDS = [SEED, *(path.read_bytes() for path in sorted(SAMPLE.rglob("*.eml"))[::20])]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_mutation_of_a_message_raises(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(raw)))
        end = min(start + data.draw(st.integers(0, 60)), len(raw))
        kind = data.draw(st.sampled_from(["cut", "flip", "repeat", "insert", "move", "nest"]))
        raw = mutated(raw, kind, start, end, data)
    assert_storable(mime.parse(raw))


def mutated(raw: bytes, kind: str, start: int, end: int, data: st.DataObject) -> bytes:
    """*raw* with one thing done to the bytes between *start* and *end*."""
    before, piece, after = raw[:start], raw[start:end], raw[end:]
    if kind == "flip" and piece:
        flipped = piece[0] ^ 1 << data.draw(st.integers(0, 7))
        return before + bytes([flipped]) + piece[1:] + after
    if kind == "move":
        rest = before + after
        at = data.draw(st.integers(0, len(rest)))
        return rest[:at] + piece + rest[at:]
    if kind == "nest":
        return HEAD + parts("mixed", PLAIN + b"See below.", b"Content-Type: message/rfc822\r\n\r\n" + raw)
    changed = {"repeat": piece * 4, "insert": piece + data.draw(st.binary(max_size=20))}
    return before + changed.get(kind, b"") + after


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_at_all_raise(raw: bytes) -> None:
    assert_storable(mime.parse(raw))


def assert_storable(parsed: ParsedMessage) -> None:
    texts = [parsed.subject, parsed.body.text, parsed.body.hidden_text, parsed.rfc_message_id, parsed.list_id]
    texts += [text for one in parsed.addresses for text in (one.name, one.address)]
    texts += [text for one in parsed.attachments for text in (one.filename, one.content_type, one.text.text)]
    texts += [text for one in parsed.defects for text in (one.code, one.part, one.explanation)]
    for text in texts:
        text.encode()
        assert "\x00" not in text
    spans = [(one.start, one.end) for one in parsed.body.blocks] + [(one.start, one.end) for one in parsed.body.regions]
    assert all(0 <= start < end <= len(parsed.body.text) for start, end in spans)
    for inner in parsed.nested:
        assert_storable(inner)


def test_real_mail_parses_without_a_crash(shared_cases: Path) -> None:
    for path in sorted((shared_cases / "mail" / "eml").rglob("*"))[::7]:
        if path.is_file() and path.stat().st_size < 500_000:
            assert_storable(mime.parse(path.read_bytes(), read_attachments=False))
