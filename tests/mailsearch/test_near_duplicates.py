"""The same words fold, however they travelled and whatever was added on the way; other words never do."""

import base64
import quopri
from datetime import UTC, datetime

import pytest

from mailsearch.ingest import addresses, drafts, mime
from mailsearch.ingest.sources import RawMail

SAID = (
    "The roof was repaired on 4 March for 310 EUR, and the men from the firm will come again in spring to look at the"
    " gutters, she said.\nSecond: don't worry about it_all, die Räume sind größer als gedacht."
)
MAILMAN = (
    "\n_______________________________________________\nRoofs mailing list\nRoofs@l.example\nhttps://l.example/x\n"
)
GOOGLE = (
    '\n\n-- \nYou received this message because you are subscribed to the Google Groups "roofs" group.\nTo unsubscribe'
    " from this group and stop receiving emails from it, send an email to roofs+unsubscribe@l.example.\n"
)
APACHE = f"\n\n{'-' * 69}\nTo unsubscribe, e-mail: dev-unsubscribe@l.example\nFor more, e-mail: dev-help@l.example\n"
SEALED = 'multipart/signed; boundary="cut"'


def written(body: str, kind: str = "text/plain; charset=utf-8", codec: str = "utf-8", **headers: str) -> bytes:
    lines = ["From: Ann Abel <ann@abel.example>", "Date: Wed, 04 Mar 2026 09:00:00 +0100", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\n".join(lines).encode() + b"\n\n" + body.encode(codec)


def sealed(signature: str) -> bytes:
    parts = (
        f"Content-Type: text/plain; charset=utf-8\n\n{SAID}",
        f"Content-Type: application/pgp-signature; name=signature.asc\n\n{signature}",
    )
    return written("".join(f"--cut\n{one}\n" for one in parts) + "--cut--", SEALED)


def key(raw: bytes) -> bytes:
    """What copies share."""
    return drafts.draft(RawMail(raw, "x"), mime.parse(raw), b"x", datetime(2026, 3, 5, tzinfo=UTC)).words_sha256


@pytest.mark.parametrize(
    "copy",
    [
        written(SAID, Message_ID="<other@x.example>", Subject="[roofs] Roof"),
        written(SAID.replace("\n", "\r\n").replace(", ", ",\r\n")),
        written(SAID, "text/plain; charset=windows-1252", "cp1252"),
        written(quopri.encodestring(SAID.encode()).decode(), Content_Transfer_Encoding="quoted-printable"),
        written(base64.encodebytes(SAID.encode()).decode(), Content_Transfer_Encoding="base64"),
        written(f"<p>{SAID.replace(chr(10), '<hr><p>')}", "text/html; charset=utf-8"),
        written(SAID.replace("\n", f"\n{'_' * 30}\n")),
        written(SAID.replace("roof", "ro\u200bof").replace("Räume", "Rä\u00adume").replace("don't", "don’t")),
        *(
            written(SAID + footer, List_Id="<roofs.l.example>")
            for footer in (MAILMAN, GOOGLE, APACHE, GOOGLE + MAILMAN)
        ),
        sealed("one"),
        sealed("another"),
    ],
)
def test_copies_of_the_same_words_are_known_as_such(copy: bytes) -> None:
    assert key(copy) == key(written(SAID))


@pytest.mark.parametrize(
    "other",
    [
        SAID.replace("310", "320") + MAILMAN,
        f"{SAID}\n{'-' * 40}\nThe gutters were paid for. To unsubscribe, write to us.",
        f"{SAID}\n-- \nAnn Abel, Roofs and Gutters",
        f"{SAID}{MAILMAN}\n{'-' * 40}\nI forgot: the invoice is due on Friday.",
    ],
)
def test_what_says_more_or_something_else_is_no_copy(other: str) -> None:
    assert key(written(other)) != key(written(SAID))


def test_a_message_that_is_all_footer_keeps_its_words() -> None:
    assert key(written(MAILMAN)) != key(written(APACHE))


@pytest.mark.parametrize(
    ("written_name", "name"),
    [
        ("Ann\u200b Abel", "Ann Abel"),
        ("\u202eAnn\u00ad  Abel\u2060", "Ann Abel"),
        ("A\u0301nn Abel", "\u00c1nn Abel"),
        ("A\u200dnn Abel", "Ann Abel"),
        ("علی\u200cرضا", "علی\u200cرضا"),
    ],
)
def test_a_name_passes_for_no_other_one_by_what_nobody_sees(written_name: str, name: str) -> None:
    (found,), _ = addresses.read(f"{written_name} <eve@else.example>".encode(), "from", "utf-8")
    assert found.name == name
