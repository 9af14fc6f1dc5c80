"""mbox files of all dialects, read line by line.

A message begins at a line `From sender date` that a header follows; a line of prose that begins with "From " has no
date in that form or no header after it, so bodies with unescaped lines stay whole (mboxo, mboxrd, files without blank
lines between messages, Takeout's, Mailman's "user at host"). `>From ` loses one `>` as RFC 4155's mboxrd says, which
is right for mboxo too but for lines that were quoted before. Git's patches carry a From_ line with a fixed date;
it begins a message only where the file itself begins with one. A file that begins with a From_ line of another form is
divided at such lines, each below an empty line and above a header that mail has. A Content-Length is believed where
the message it measures ends at a border. MMDF's mailboxes, whose borders are four control characters, are read too.
"""

import codecs
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO

from mailsearch.ingest.sources.labels import status_flags, takeout_place
from mailsearch.ingest.sources.raw import LARGEST_MESSAGE, RawMail

# The longest line that is looked at in one piece; longer ones come in pieces, which changes nothing in the middle.
_LONGEST_LINE = 1_000_000
_HEAD = 65_536
_DAYS = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTHS = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_FROM_LINE = re.compile(
    rb"From (?:(?:\"[^\"\r\n]*\"\S*|\S+)(?: at \S+)?)?\s+"
    rb"(?P<date>" + _DAYS + rb",?\s+(?:" + _MONTHS + rb"\s+\d{1,2}|\d{1,2}\s+" + _MONTHS + rb"\s+\d{4})"
    rb"\s+\d{1,2}:\d{2}(?::\d{2})?(?:\s+[-+A-Za-z0-9()]+){0,3}?)(?:\s+remote from \S+)?\s*$"
)
_LOOSE_FROM_LINE = re.compile(rb"From \S+(?:\s.{0,80}|)$")
# What stands above and below each message in MMDF's mailboxes.
_MMDF = b"\x01\x01\x01\x01"
_GIT = re.compile(rb"From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001\s*$")
_HEADER = re.compile(rb"(?:[!-9;-~]+[ \t]*:|>From )")
_MAIL_HEADER = re.compile(
    rb"(?i)(?:from|to|cc|subject|date|message-id|received|return-path|mime-version|delivered-to|reply-to|status"
    rb"|content-type|x-[\w-]+)[ \t]*:"
)
_CONTENT_LENGTH = re.compile(rb"(?i)content-length[ \t]*:[ \t]*([0-9]{1,12})\s*$")
# What programs keep at the beginning of their files for themselves.
_OWN_DATA = re.compile(rb"(?im)^Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\r?$")
_ESCAPED = re.compile(rb">+From ")
_CLOCK = re.compile(rb"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_ZONE = re.compile(rb"\s([-+])(\d{2})(\d{2})\b")
_YEAR = re.compile(rb"\b(\d{4})\b(?!:)")
_MONTH_NAMES = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")


def is_from_line(line: bytes) -> bool:
    """Whether *line* can begin a message of an mbox."""
    return line.startswith(b"From ") and _FROM_LINE.match(line) is not None


@dataclass(frozen=True, slots=True)
class Mbox:
    """One mbox file."""

    path: Path
    folder: str = ""

    @property
    def kind(self) -> str:
        return "mbox"

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def messages(self) -> Iterator[RawMail]:
        """Every message in the order of the file; flags and folder as its headers tell, where they do."""
        for number, (from_line, data, weight) in enumerate(_split(self.path), 1):
            if number == 1 and _OWN_DATA.search(data[:4_000]):
                continue
            mail = RawMail(
                data=data[:LARGEST_MESSAGE],
                origin=f"{self.path}:{number}",
                folder=self.folder,
                flags=status_flags(data),
                delivered_at=_from_date(from_line),
                weight=weight,
                truncated=len(data) > LARGEST_MESSAGE,
            )
            place = takeout_place(data)
            if place is not None:
                mail = replace(mail, folder=place.folder, flags=place.flags, labels=place.labels)
            yield mail


def _split(path: Path) -> Iterator[tuple[bytes, bytes, int]]:
    """From_ line, message and bytes in the file of each message."""
    collector: _Collector | None = None
    loose = False
    mmdf = False
    with path.open("rb") as again:
        for line, following, offset in _lines_with_next(path):
            mmdf = mmdf or (collector is None and line.rstrip(b"\r\n") == _MMDF)
            border = mmdf and line.rstrip(b"\r\n") == _MMDF
            if border or collector is None:
                yield from [collector.finish()] if collector is not None else []
                loose = line.startswith(b"From ") and not is_from_line(line)
                collector = None if border else _Collector(line)
            elif collector.ends_before(line, following, loose=loose) and not collector.measures(again, offset):
                yield collector.finish()
                collector = _Collector(line)
            else:
                collector.add(line, offset)
    if collector is not None:
        yield collector.finish()


def _is_border(line: bytes) -> bool:
    return is_from_line(line) or _LOOSE_FROM_LINE.match(line.strip(b"\r\n")) is not None


class _Collector:
    """The lines of one message."""

    def __init__(self, first: bytes) -> None:
        self._from_line = first if first.startswith(b"From ") else b""
        self._lines = [] if self._from_line else [first]
        self._weight = len(first)
        self._kept = sum(map(len, self._lines))
        self._in_header = True
        self._whole_line = first.endswith(b"\n")
        self._after_blank = False
        self._git = _GIT.match(first) is not None
        # Where the body ends in the file, if a header says so.
        self._length: int | None = None
        self._end: int | None = None

    def ends_before(self, line: bytes, following: bytes, *, loose: bool) -> bool:
        """Whether *line* begins the next message; *loose* says that the file's From_ lines have no date."""
        # Most lines are told apart by their first bytes.
        if not line.startswith(b"From ") or not self._whole_line:
            return False
        if not is_from_line(line):
            border = loose and self._after_blank and _LOOSE_FROM_LINE.match(line.rstrip()) is not None
            return border and _MAIL_HEADER.match(following) is not None
        if _GIT.match(line) and not self._git:
            return False
        return _HEADER.match(following) is not None

    def measures(self, file: BinaryIO, offset: int) -> bool:
        """Whether the message goes on at *offset* by its Content-Length, which *file* bears out."""
        if self._end is None or offset >= self._end:
            return False
        if self._end > file.seek(0, os.SEEK_END):
            return False
        file.seek(self._end)
        rest = file.read(400)
        return not rest.strip() or _is_border(rest.lstrip(b"\r\n").partition(b"\n")[0])

    def add(self, line: bytes, offset: int) -> None:
        """Take *line*, which begins at *offset* in the file."""
        self._weight += len(line)
        self._after_blank = line in (b"\n", b"\r\n")
        if self._in_header:
            self._head(line, offset)
        elif line.startswith(b">") and self._whole_line and _ESCAPED.match(line):
            line = line[1:]
        self._whole_line = line.endswith(b"\n")
        # One byte over the limit tells that something was cut off.
        if self._kept <= LARGEST_MESSAGE:
            self._lines.append(line)
            self._kept += len(line)

    def _head(self, line: bytes, offset: int) -> None:
        if line[:1] in b"cC" and (measured := _CONTENT_LENGTH.match(line)):
            self._length = int(measured[1])
        self._in_header = bool(line.strip(b"\r\n"))
        if not self._in_header and self._length is not None:
            self._end = offset + len(line) + self._length

    def finish(self) -> tuple[bytes, bytes, int]:
        # The blank line before the next From_ line belongs to the file, not to the message.
        if len(self._lines) > 1 and not self._lines[-1].strip(b"\r\n") and self._lines[-2].endswith(b"\n"):
            self._lines.pop()
        return self._from_line, b"".join(self._lines), self._weight


def _lines_with_next(path: Path) -> Iterator[tuple[bytes, bytes, int]]:
    """Each line, the one after it, and where it begins in the file."""
    with path.open("rb", buffering=1 << 20) as file:
        read = _reader(file)
        offset, line = 0, read().removeprefix(codecs.BOM_UTF8)
        while line in (b"\n", b"\r\n"):
            offset += len(line)
            line = read()
        while line:
            following = read()
            yield line, following, offset
            offset += len(line)
            line = following


def _reader(file: BinaryIO) -> Callable[[], bytes]:
    """What reads the next line, or a piece of one that is too long; lone carriage returns come as line feeds."""
    head = file.read(_HEAD)
    file.seek(0)
    if b"\r" in head and b"\n" not in head:
        lines = _lines_of_old_macs(file)
        return lambda: next(lines, b"")
    return lambda: file.readline(_LONGEST_LINE)


def _lines_of_old_macs(file: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while piece := file.read(_LONGEST_LINE):
        *lines, rest = (rest + piece).split(b"\r")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest


def _from_date(line: bytes) -> datetime | None:
    """The moment that a From_ line names, UTC where it names no zone; None where it is no date."""
    found = _FROM_LINE.match(line)
    if not found or _GIT.match(line):
        return None
    text = found["date"]
    clock, year = _CLOCK.search(text), _YEAR.search(_ZONE.sub(b" ", text))
    month = next((number for number, name in enumerate(_MONTH_NAMES, 1) if name in text), None)
    day = re.search(rb"\s(\d{1,2})\s", text)
    if not (clock and year and month and day):
        return None
    try:
        moment = datetime(
            int(year[1]), month, int(day[1]), int(clock[1]), int(clock[2]), int(clock[3] or 0), tzinfo=_zone(text)
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year >= 1970 else None


def _zone(text: bytes) -> timezone:
    found = _ZONE.search(text)
    if not found:
        return UTC
    offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(-offset if found[1] == b"-" else offset)
