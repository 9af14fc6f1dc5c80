"""Reports, pieces of messages, and what is signed, compressed or encrypted."""

import base64
import json
import zlib

import pytest

from tests.mailsearch.test_parse_messages import PLAIN, codes, message, parts


def test_a_bounce_can_be_read() -> None:
    report = b"Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.b.example\r\n\r\n"
    report += b"Final-Recipient: rfc822; ben@b.example\r\nAction: failed\r\nStatus: 5.1.1\r\n"
    parsed = message(parts("report", PLAIN + b"It did not arrive.", report))
    assert "ben@b.example" in parsed.body.text
    assert json.loads(parsed.extras["bounce"])["recipient"] == "ben@b.example"


def test_a_bounce_of_several_recipients_names_one_that_failed_first() -> None:
    report = b"Content-Type: message/global-delivery-status\r\n\r\nReporting-MTA: dns; mx.b.example\r\n\r\n"
    report += b"Final-Recipient: rfc822; late@b.example\r\nAction: delayed\r\n\r\n"
    report += (
        b"Final-Recipient: rfc822;gone@b.example\r\nAction: failed\r\nDiagnostic-Code: smtp; 550 No\r\n such user\r\n"
    )
    facts = json.loads(message(parts("report", PLAIN + b"It did not arrive.", report)).extras["bounce"])
    assert (facts["recipient"], facts["diagnostic"]) == ("gone@b.example", "550 No such user")
    assert facts["recipients"] == ["late@b.example", "gone@b.example"]


def test_a_report_of_abuse_can_be_read() -> None:
    report = b"Content-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nSource-IP: 192.0.2.1\r\n"
    parsed = message(parts("report", PLAIN + b"A report.", report))
    assert "Feedback-Type: abuse" in parsed.body.text
    assert parsed.attachments == ()


@pytest.mark.parametrize("number", [1, 2])
def test_a_piece_of_a_message_is_read_and_marked(number: int) -> None:
    head = f"Content-Type: message/partial; id=a; number={number}; total=2\r\n\r\n".encode()
    parsed = message(head + (b"Subject: Whole\r\n\r\n" if number == 1 else b"") + b"Words of it.")
    assert parsed.body.text == "Words of it."
    assert "message-partial" in codes(parsed)


def test_signed_text_is_read_and_encrypted_text_is_kept() -> None:
    signature = b"Content-Type: application/pgp-signature; name=signature.asc\r\n\r\nx"
    signed = message(parts("signed", PLAIN + b"I signed this.", signature))
    assert signed.signed
    assert signed.body.text == "I signed this."
    control = b"Content-Type: application/pgp-encrypted\r\n\r\nVersion: 1"
    sealed = message(parts("encrypted", control, b"Content-Type: application/octet-stream\r\n\r\nxyz"))
    assert sealed.encrypted
    assert {one.state for one in sealed.attachments} == {"encrypted"}


def test_a_file_beside_an_encrypted_stretch_is_not_taken_for_encrypted() -> None:
    armour = b"-----BEGIN PGP MESSAGE-----\r\nxyz\r\n-----END PGP MESSAGE-----"
    file = b"Content-Type: application/octet-stream; name=a.txt\r\n\r\nplain words"
    parsed = message(parts("mixed", PLAIN + armour, file))
    assert parsed.encrypted
    assert [one.state for one in parsed.attachments] == ["ok"]


def der(tag: int, *content: bytes) -> bytes:
    body = b"".join(content)
    return bytes((tag, 0x82)) + len(body).to_bytes(2, "big") + body


OPAQUE = b"Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: base64\r\n\r\n"
NAMED = b"Content-Type: application/octet-stream; name=smime.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\n"


def cms(kind: str, *before: bytes, content: bytes) -> bytes:
    outer, data = (bytes.fromhex(number) for number in (kind, "06092a864886f70d010701"))
    inner = der(0x30, data, der(0xA0, der(0x04, content)))
    return der(0x30, outer, der(0xA0, der(0x30, b"\x02\x01\x01", *before, inner)))


@pytest.mark.parametrize("head", [OPAQUE, NAMED])
@pytest.mark.parametrize("armoured", [False, True])
def test_the_message_inside_an_opaque_signature_is_read(head: bytes, *, armoured: bool) -> None:
    content = cms("06092a864886f70d010702", der(0x31), content=PLAIN + b"Signed words.")
    if armoured:
        content = b"-----BEGIN PKCS7-----\n" + base64.encodebytes(content) + b"-----END PKCS7-----\n"
    parsed = message(head + base64.encodebytes(content))
    assert parsed.body.text == "Signed words."
    assert parsed.signed
    assert not parsed.encrypted


def test_the_message_inside_compressed_data_is_read() -> None:
    content = cms("060b2a864886f70d0109100109", content=zlib.compress(PLAIN + b"Packed words."))
    parsed = message(OPAQUE + base64.encodebytes(content))
    assert (parsed.body.text, parsed.signed) == ("Packed words.", False)
