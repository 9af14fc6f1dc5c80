"""Looks at a path and opens it as what it is."""

import codecs
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mailsearch.ingest.sources.files import listed, read_message
from mailsearch.ingest.sources.labels import folder_name
from mailsearch.ingest.sources.maildir import Maildir, is_maildir
from mailsearch.ingest.sources.mbox import Mbox, is_from_line
from mailsearch.ingest.sources.raw import RawMail, Source

_MESSAGE_ENDINGS = {".eml", ".msg", ".emlx", ".mime", ".mht"}
_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEADER = re.compile(rb"[!-9;-~]{2,70}[ \t]*:(?:[ \t]|\r?\n)")
_MAIL_HEADER = re.compile(
    rb"(?im)^(?:from|to|cc|subject|date|message-id|received|return-path|mime-version|content-type|delivered-to)[ \t]*:"
)
_HEAD = 4096


class NotASource(Exception):
    """The path holds no mail that can be read; the message says why."""


@dataclass(frozen=True, slots=True)
class SingleMessage:
    """One file with one message."""

    path: Path | str
    folder: str = ""
    # As it was when its folder was listed.
    status: os.stat_result | None = None

    @property
    def kind(self) -> str:
        return "msg" if _head(self.path).startswith(_COMPOUND_FILE) else "eml"

    @property
    def size(self) -> int:
        return (self.status or os.lstat(self.path)).st_size

    def messages(self) -> Iterator[RawMail]:
        """The message, without a From_ line that may stand before it."""
        mail = read_message(self.path, self.status or os.lstat(self.path), folder=self.folder)
        if mail.data.startswith(b"From "):
            first, _, rest = mail.data.partition(b"\n")
            if is_from_line(first):
                mail = replace(mail, data=rest)
        yield mail


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder with messages, mboxes and Maildirs, and folders with such; each folder becomes a folder of mail."""

    path: Path
    folder: str = ""

    @property
    def kind(self) -> str:
        return "folder"

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources())

    def messages(self) -> Iterator[RawMail]:
        """Every message of every source below, by name."""
        for source in self.sources():
            yield from source.messages()

    def sources(self) -> Iterator[Source]:
        """What stands below: files that are mail, mboxes, Maildirs. Links and everything else are passed over."""
        for entry, status in listed(self.path):
            if entry.name.startswith("."):
                continue
            if stat.S_ISDIR(status.st_mode):
                path, name = Path(entry.path), folder_name(entry.name)
                below = f"{self.folder}/{name}" if self.folder else name
                yield from [Maildir(path, below)] if is_maildir(path) else Tree(path, below).sources()
            elif stat.S_ISREG(status.st_mode):
                yield from _sources_of_file(entry.path, status, self.folder)


def open_source(path: Path) -> Source:
    """The source at *path*. Raises NotASource where nothing can be read, a link is given, or a file is no mail."""
    try:
        status = path.lstat()
    except OSError as error:
        raise NotASource(f"{path} can't be opened: {error.strerror}.") from error
    if stat.S_ISLNK(status.st_mode):
        raise NotASource(f"{path} is a link, and links are not followed; name what it points to.")
    if stat.S_ISDIR(status.st_mode):
        if not os.access(path, os.R_OK | os.X_OK):
            raise NotASource(f"{path} can't be listed by this user.")
        return Maildir(path) if is_maildir(path) else Tree(path)
    if not stat.S_ISREG(status.st_mode):
        raise NotASource(f"{path} is neither a file nor a folder.")
    found = next(iter(_sources_of_file(str(path), status, "")), None)
    if found is None:
        raise NotASource(f"{path} does not look like mail: no header, no From_ line, no Outlook message.")
    return found


def _sources_of_file(path: str, status: os.stat_result, folder: str) -> Iterator[Source]:
    """The file as a source, or nothing where it is no mail."""
    ending = os.path.splitext(path)[1].lower()
    if ending in _MESSAGE_ENDINGS:
        yield SingleMessage(path, folder, status)
        return
    head = _head(path)
    if is_from_line(head.lstrip(b"\r\n").partition(b"\n")[0]) or (ending in (".mbox", ".mbx") and status.st_size):
        file = Path(path)
        stem = folder_name(file.stem)
        yield Mbox(file, f"{folder}/{stem}" if folder else stem)
    elif head.startswith(_COMPOUND_FILE):
        # Word and Excel files of old begin the same way, so here the name decides.
        return
    elif _looks_like_mail(head):
        yield SingleMessage(path, folder, status)


def _looks_like_mail(head: bytes) -> bool:
    top = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0]
    return _HEADER.match(top) is not None and len(set(map(bytes.lower, _MAIL_HEADER.findall(top)))) >= 2


def _head(path: Path | str) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(_HEAD).removeprefix(codecs.BOM_UTF8)
    except OSError:
        return b""
