"""What a file is, from its first bytes; its name and declared type decide only between kinds of text."""

import codecs
import io
import re
import zipfile
from pathlib import PurePosixPath

import olefile  # type: ignore[import-untyped]

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"{\\rtf", "rtf"),
    (b"\x78\x9f\x3e\x22", "tnef"),
    (b"\x1f\x8b", "packed"),
    (b"BZh", "packed"),
    (b"7z\xbc\xaf", "packed"),
    (b"Rar!", "packed"),
    (b"\xfd7zXZ", "packed"),
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"BM", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"\x00\x00\x01\x00", "image"),
    (b"ID3", "sound"),
    (b"OggS", "sound"),
    (b"MZ", "program"),
    (b"\x7fELF", "program"),
)
_OLE = ((b"EncryptedPackage", "encrypted"), (b"__properties_version1.0", "msg"), (b"Workbook", "xls"), (b"Book", "xls"))
_BY_EXTENSION = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".ics", ".vcs"), "calendar"),
    **dict.fromkeys((".txt", ".md", ".log", ".json", ".xml", ".yaml", ".yml", ".rst", ".patch", ".diff"), "text"),
    **dict.fromkeys((".ini", ".conf", ".py", ".sql", ".sh", ".tex", ".c", ".h", ".js", ".css", ".asc"), "text"),
    ".vcf": "contacts",
    ".eml": "mail",
}
_BY_TYPE = {
    **dict.fromkeys(("text/html", "application/xhtml+xml"), "html"),
    **dict.fromkeys(("text/csv", "text/tab-separated-values"), "csv"),
    **dict.fromkeys(("text/calendar", "application/ics"), "calendar"),
    **dict.fromkeys(("text/vcard", "text/x-vcard", "text/directory"), "contacts"),
    **dict.fromkeys(("application/json", "application/xml", "application/x-sh", "application/sql"), "text"),
    "message/rfc822": "mail",
}
_HTML = re.compile(
    rb"^\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype html|html|head|body|table)[\s>]", re.IGNORECASE | re.DOTALL
)


def kind(content: bytes, content_type: str, filename: str) -> str:
    """One of: pdf docx xlsx pptx odf rtf html csv text calendar contacts mail msg tnef xls zip encrypted, or "other".

    "encrypted" are documents in a container that needs a password.
    """
    head = content[:2048].removeprefix(codecs.BOM_UTF8)
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_kind(content)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _ole_kind(content)
    for magic, found in _MAGIC:
        if head.startswith(magic):
            return found if found in ("rtf", "tnef") else "other"
    return _text_kind(head, content_type.lower(), filename)


def _text_kind(head: bytes, content_type: str, filename: str) -> str:
    stripped = head.lstrip(b" \t\r\n").upper()
    if stripped.startswith(b"BEGIN:VCALENDAR"):
        return "calendar"
    if stripped.startswith(b"BEGIN:VCARD"):
        return "contacts"
    extension = PurePosixPath(filename.lower()).suffix
    if _HTML.match(head):
        return "html"
    found = _BY_EXTENSION.get(extension) or _BY_TYPE.get(content_type)
    if found is None and content_type.startswith("text/"):
        found = "text"
    return found if found and _is_text(head) else "other"


def _is_text(head: bytes) -> bool:
    """Whether bytes that call themselves text are: they hold few zeros, or those of UTF-16."""
    zeros = head.count(b"\x00")
    if zeros < max(5, len(head) / 20) or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return zeros * 3 > len(head) and max(head[::2].count(b"\x00"), head[1::2].count(b"\x00")) * 20 > zeros * 19


def _zip_kind(content: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = set(archive.namelist()[:5_000])
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, RuntimeError):
        return _broken_zip_kind(content)
    for prefix, found in (("word/", "docx"), ("xl/", "xlsx"), ("ppt/", "pptx")):
        if "[Content_Types].xml" in names and any(name.startswith(prefix) for name in names):
            return found
    if "mimetype" in names and "encrypted-package" in names:
        return "encrypted"
    return "odf" if "mimetype" in names and "content.xml" in names else "zip"


def _broken_zip_kind(content: bytes) -> str:
    """The directory at the end is gone: local names still tell what it was."""
    for mark, found in ((b"word/", "docx"), (b"xl/", "xlsx"), (b"ppt/", "pptx"), (b"content.xml", "odf")):
        if mark in content[:200_000]:
            return found
    return "zip"


def _ole_kind(content: bytes) -> str:
    try:
        with olefile.OleFileIO(io.BytesIO(content)) as container:
            names = {entry[0] for entry in container.listdir(streams=True, storages=True)}
    except (OSError, ValueError, IndexError, TypeError):
        return "other"
    return next((found for name, found in _OLE if name.decode() in names), "other")
