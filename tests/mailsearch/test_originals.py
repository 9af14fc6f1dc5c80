"""Attachments come out of the raw message as they went in, for whoever may read the message."""

from email.message import EmailMessage
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync

from mailsearch.hits import SearchRequest
from mailsearch.ingest import pipeline
from mailsearch.ingest.sources import open_source
from mailsearch.originals import AttachmentFile, attachment_file
from mailsearch.scope import Scope
from mailsearch.search import engine, reading
from tests.mailsearch.posting import Office

pytestmark = pytest.mark.django_db(transaction=True)


def letter(subject: str, *files: tuple[str, bytes]) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ann@abel.example", "sales@shop.example", subject
    message["Message-ID"] = f"<{subject.replace(' ', '-')}@abel.example>"
    message.set_content(f"The text of {subject}.")
    for name, content in files:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    inner = letter("inner", ("first.bin", b"1" * 10), ("second.bin", b"2" * 20))
    outer = letter("outer", ("own.bin", b"own"))
    outer.add_attachment(letter("another", ("other.bin", b"other")))
    outer.add_attachment(inner)
    (tmp_path / "one.eml").write_bytes(outer.as_bytes())
    office = Office()
    pipeline.ingest(open_source(tmp_path / "one.eml"), mailbox=office.mailbox("sales"))
    return office.scope("sales")


def attachments(scope: Scope, subject: str) -> dict[str, str]:
    (hit,) = async_to_sync(engine.search)(scope, SearchRequest(f"subject:{subject}", "keyword")).hits
    return {one.filename: one.attachment_id for one in hit.head.attachments}


@pytest.mark.parametrize(
    ("subject", "name", "content"),
    [("outer", "own.bin", b"own"), ("inner", "second.bin", b"2" * 20), ("another", "other.bin", b"other")],
)
def test_a_file_comes_out_as_it_went_in(scope: Scope, subject: str, name: str, content: bytes) -> None:
    found = async_to_sync(attachment_file)(scope, attachments(scope, subject)[name])
    assert found == AttachmentFile(name, "application/octet-stream", content)


def test_out_of_scope_it_is_not_there(scope: Scope) -> None:
    inside = attachments(scope, "inner")["first.bin"]
    nobody = Office().scope("sales")
    assert async_to_sync(attachment_file)(nobody, inside) is None
    assert async_to_sync(attachment_file)(scope, "att_0000000000000000000000") is None


def test_a_message_inside_another_says_whose_it_was(scope: Scope) -> None:
    (hit,) = async_to_sync(engine.search)(scope, SearchRequest("subject:inner", "keyword")).hits
    message = async_to_sync(reading.message)(scope, hit.head.message_id)
    assert message is not None
    assert message.head.attached_to == "ann@abel.example"
