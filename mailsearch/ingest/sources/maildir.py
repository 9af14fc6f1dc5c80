"""Maildirs: one file a message under `cur` and `new`, subfolders as Maildir++ (`.Archive.2023`) or as plain folders.

`tmp` holds deliveries that are not finished; dot files and files beside `cur` and `new` are control files.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mailsearch.ingest.sources.files import entries, read_message
from mailsearch.ingest.sources.labels import folder_name, maildir_flags
from mailsearch.ingest.sources.raw import RawMail

# `:` ends the unique part; file systems that forbid it use one of the others.
_INFO = re.compile(r"[:;!_,-]2,([A-Za-z]*)$")
_DELIVERED = re.compile(r"(\d{9,10})[._]")


def is_maildir(path: Path) -> bool:
    """Whether *path* is a Maildir: it has `cur`, or both `new` and `tmp`."""
    return _is_folder(path / "cur") or (_is_folder(path / "new") and _is_folder(path / "tmp"))


@dataclass(frozen=True, slots=True)
class Maildir:
    """One Maildir with all its subfolders."""

    path: Path
    folder: str = ""

    @property
    def kind(self) -> str:
        return "maildir"

    @property
    def size(self) -> int:
        return sum(status.st_size for _, _, status in self._files())

    def messages(self) -> Iterator[RawMail]:
        """Every message of every folder, the main one first."""
        for file, folder, status in self._files():
            info = _INFO.search(file.name)
            yield read_message(
                file,
                status,
                folder=folder,
                flags=maildir_flags(info[1]) if info else (),
                delivered_at=_delivered_at(file.name),
            )

    def _files(self) -> Iterator[tuple[Path, str, os.stat_result]]:
        for folder, name in _folders(self.path, self.folder):
            for file, status in (*entries(folder / "cur"), *entries(folder / "new")):
                if stat.S_ISREG(status.st_mode) and not file.name.startswith("."):
                    yield file, name, status


def _folders(path: Path, name: str) -> Iterator[tuple[Path, str]]:
    yield path, name
    for child, status in entries(path):
        if not stat.S_ISDIR(status.st_mode) or child.name in ("cur", "new", "tmp") or not is_maildir(child):
            continue
        below = folder_name(child.name[1:].replace(".", "/") if child.name.startswith(".") else child.name)
        yield from _folders(child, f"{name}/{below}" if name else below)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _delivered_at(name: str) -> datetime | None:
    """The moment that begins a name that a delivery made (`1709627400.M1P1.host`)."""
    found = _DELIVERED.match(name)
    if not found or int(found[1]) < 300_000_000:
        return None
    return datetime.fromtimestamp(int(found[1]), UTC)
