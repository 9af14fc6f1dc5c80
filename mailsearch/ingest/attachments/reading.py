"""Choosing how an attachment is read, and keeping every failure inside its own attachment."""

from collections.abc import Callable

from mailsearch.ingest import invitations
from mailsearch.ingest.attachments import (
    archives,
    contacts,
    docx,
    mail,
    odf,
    pdf,
    rtf,
    slides,
    sniff,
    spreadsheets,
    texts,
    tnef,
)
from mailsearch.ingest.attachments.packages import EncryptedError, TooLargeError
from mailsearch.ingest.parsed import ParsedText

Read = Callable[[bytes], tuple[str, ParsedText]]

LARGEST = 50_000_000
_EMPTY = ParsedText("")


def read_text(content: bytes, content_type: str, filename: str) -> tuple[str, ParsedText]:
    """State and visible text of an attachment.

    The state is one of: ok empty encrypted corrupt truncated too_large unsupported. Never raises; may take long and
    much memory on hostile bytes, so it belongs into a process that can be killed.
    """
    if not content.strip(b"\x00 \r\n\t"):
        return "empty", _EMPTY
    if len(content) > LARGEST:
        return "too_large", _EMPTY
    kind = sniff.kind(content, content_type, filename)
    if kind == "encrypted":
        return "encrypted", _EMPTY
    read = _READERS.get(kind)
    return _guarded(read, content) if read else ("unsupported", _EMPTY)


def _guarded(read: Read, content: bytes) -> tuple[str, ParsedText]:
    try:
        return read(content)
    except EncryptedError:
        return "encrypted", _EMPTY
    except (TooLargeError, MemoryError):
        return "too_large", _EMPTY
    # Readers are other people's parsers on hostile bytes: whatever they raise means that this file can't be read.
    except Exception:  # noqa: BLE001
        return "corrupt", _EMPTY


def _read_calendar(content: bytes) -> tuple[str, ParsedText]:
    invitation = invitations.read(content)
    if not invitation.sound:
        return "corrupt", invitation.text
    return ("ok" if invitation.text.text else "empty"), invitation.text


def _read_tnef(content: bytes) -> tuple[str, ParsedText]:
    opened = tnef.open_container(content)
    if not opened.sound:
        return "corrupt", _EMPTY
    text = archives.join_members(opened.body.text, ((name, _read_member(data, name)[1]) for name, data in opened.files))
    return ("ok" if text.text else "empty"), text


def _read_archive(content: bytes) -> tuple[str, ParsedText]:
    return archives.read(content, _read_member)


def _read_member(content: bytes, filename: str) -> tuple[str, ParsedText]:
    """A file of an archive; archives inside archives stay closed."""
    kind = sniff.kind(content, "", filename)
    read = _READERS.get(kind)
    if read is None or kind == "zip":
        return ("encrypted" if kind == "encrypted" else "unsupported"), _EMPTY
    return _guarded(read, content)


_READERS: dict[str, Read] = {
    "pdf": pdf.read,
    "docx": docx.read,
    "xlsx": spreadsheets.read,
    "xls": spreadsheets.read,
    "pptx": slides.read,
    "odf": odf.read,
    "rtf": rtf.read,
    "html": texts.read_html,
    "csv": texts.read_csv,
    "text": texts.read_plain,
    "calendar": _read_calendar,
    "contacts": contacts.read,
    "mail": mail.read_eml,
    "msg": mail.read_msg,
    "tnef": _read_tnef,
    "zip": _read_archive,
}
