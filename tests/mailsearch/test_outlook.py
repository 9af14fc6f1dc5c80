"""Outlook's files are read as the messages that they were."""

from pathlib import Path

from mailsearch.ingest import mime, outlook


def test_every_outlook_file_of_the_cases_has_text_a_subject_or_a_defect(shared_cases: Path) -> None:
    files = [
        path for path in sorted((shared_cases / "mail").rglob("*.msg")) if path.read_bytes()[:8] == outlook.SIGNATURE
    ]
    messages = [mime.parse(path.read_bytes()) for path in files]
    assert len(messages) > 10
    assert all(
        one.subject or one.body.text or "outlook-unreadable" in {d.code for d in one.defects} for one in messages
    )
    assert sum(bool(one.addresses) for one in messages) > len(messages) / 2
    # Messages attached as Outlook objects are messages, with their files.
    assert any(inner.attachments for one in messages for inner in one.nested)


def test_a_broken_outlook_file_is_kept_whole_with_a_defect() -> None:
    raw = outlook.SIGNATURE + b"\0" * 2000
    message = mime.parse(raw)
    assert "outlook-unreadable" in {defect.code for defect in message.defects}
    assert message.attachments[0].content == raw


def test_other_bytes_stay_as_they_are() -> None:
    assert outlook.unwrap(b"Subject: Hello\n\nHi") == (b"Subject: Hello\n\nHi", "")
