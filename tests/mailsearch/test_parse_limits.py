"""The child that parses: it can be killed, and what it can't do still comes back as a message."""

import io
import os
import resource
import signal
import threading
import zipfile
from collections.abc import Iterator

import pytest

from mailsearch.ingest.limits import Worker
from mailsearch.ingest.parsed import ParsedMessage

HEAD = (
    b"From: Ada Mond <ada@a.example>\r\nSubject: Roof\r\nDate: Tue, 05 Mar 2024 09:30:00 +0100\r\n"
    b"Message-ID: <one@a.example>\r\nMIME-Version: 1.0\r\n"
)
SOUND = HEAD + b"\r\nThe roof is done."
# The tree builder's time grows with the square of an element's attributes.
SLOW_PAGE = b"<p " + b" ".join(b"a%d=1" % number for number in range(60_000)) + b">x"


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker(parse_seconds=5, attachment_seconds=3) as started:
        yield started


def mixed(*attachments: tuple[str, bytes]) -> bytes:
    parts = [b"Content-Type: text/plain\r\n\r\nSee the files."]
    for name, content in attachments:
        parts.append(f"Content-Type: application/octet-stream; name={name}\r\n\r\n".encode() + content)
    body = b"".join(b"--cut\r\n" + part + b"\r\n" for part in parts)
    return HEAD + b"Content-Type: multipart/mixed; boundary=cut\r\n\r\n" + body + b"--cut--"


def codes(parsed: ParsedMessage) -> set[str]:
    return {defect.code for defect in parsed.defects}


def test_a_message_comes_back_as_it_was_parsed(worker: Worker) -> None:
    parsed = worker.parse(SOUND)
    assert parsed.body.text == "The roof is done."
    assert parsed.defects == ()


def test_many_messages_come_back_in_order(worker: Worker) -> None:
    raws = [SOUND.replace(b"Roof", b"Roof %d" % number) for number in range(50)]
    assert [parsed.subject for parsed in worker.parse_many(raws)] == [f"Roof {number}" for number in range(50)]


def test_a_message_that_takes_too_long_keeps_its_head(worker: Worker) -> None:
    worker.parse(SOUND)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    parsed = worker.parse(HEAD + b"Content-Type: text/html\r\n\r\n" + SLOW_PAGE * 3)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The child's processor time, with that of its start: the clock says as much on a machine that does nothing else.
    assert ended.ru_utime + ended.ru_stime - used.ru_utime - used.ru_stime < 10
    assert "timed_out" in codes(parsed)
    assert parsed.subject == "Roof"
    assert [one.address for one in parsed.addresses] == ["ada@a.example"]
    assert worker.parse(SOUND).defects == ()


def test_a_child_that_a_busy_machine_keeps_waiting_is_waited_for() -> None:
    with Worker(parse_seconds=1) as patient:
        patient.parse(SOUND)
        assert patient.process_id
        os.kill(patient.process_id, signal.SIGSTOP)
        going_on = threading.Timer(2, os.kill, (patient.process_id, signal.SIGCONT))
        going_on.start()
        assert patient.parse(SOUND).defects == ()
        going_on.join()


def test_a_child_that_never_comes_back_is_not_waited_for_without_end() -> None:
    with Worker(parse_seconds=1) as patient:
        patient.parse(SOUND)
        assert patient.process_id
        os.kill(patient.process_id, signal.SIGSTOP)
        assert codes(patient.parse(SOUND)) == {"timed_out"}


def test_one_attachment_that_takes_too_long_costs_only_itself(worker: Worker) -> None:
    parsed = worker.parse(mixed(("slow.html", SLOW_PAGE * 3), ("good.txt", b"the cistern is full")))
    assert parsed.body.text == "See the files."
    assert [(one.filename, one.state) for one in parsed.attachments] == [("slow.html", "timed_out"), ("good.txt", "ok")]
    assert parsed.attachments[1].text.text == "the cistern is full"


def test_a_child_that_dies_is_replaced(worker: Worker) -> None:
    worker.parse(SOUND)
    assert worker.process_id
    os.kill(worker.process_id, 9)
    first = worker.parse(SOUND)
    assert first.subject == "Roof"
    assert worker.parse(SOUND).body.text == "The roof is done."


def test_an_attachment_that_eats_memory_costs_only_itself() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", b"<a>" + b"<b/>" * 20_000_000 + b"</a>")
    with Worker(memory=400 << 20) as small:
        parsed = small.parse(mixed(("big.docx", buffer.getvalue())))
        assert parsed.body.text == "See the files."
        assert parsed.attachments[0].state in ("too_large", "corrupt", "timed_out")
        assert small.parse(SOUND).body.text == "The roof is done."


def test_the_child_knows_nothing_of_our_environment(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PM_TEST_SECRET", "confidential")
    worker.parse(SOUND)
    with open(f"/proc/{worker.process_id}/environ", "rb") as environment:
        assert b"confidential" not in environment.read()


def test_closing_ends_the_child() -> None:
    worker = Worker()
    worker.parse(SOUND)
    child = worker.process_id
    worker.close()
    assert child
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
