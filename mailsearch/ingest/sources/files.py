"""Files and folders as sources see them: in a fixed order, links never followed, unreadable ones told."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from mailsearch.ingest.sources.raw import LARGEST_MESSAGE, RawMail


def entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """What stands in *folder*, by name, with its own status (a link is a link). Nothing if it can't be listed."""
    for entry, status in listed(folder):
        yield Path(entry.path), status


def listed(folder: Path) -> Iterator[tuple["os.DirEntry[str]", os.stat_result]]:
    """The same without a `Path` of each, which takes as long to make as to read the file."""
    try:
        with os.scandir(folder) as found:
            by_name = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in by_name:
        try:
            yield entry, entry.stat(follow_symlinks=False)
        except OSError:
            # Gone since it was listed.
            continue


def read_message(
    path: Path | str,
    status: os.stat_result,
    *,
    folder: str = "",
    flags: tuple[str, ...] = (),
    delivered_at: datetime | None = None,
) -> RawMail:
    """The message in the regular file *path*; one that can't be read says why."""
    data, unreadable = b"", ""
    try:
        # O_NOFOLLOW: what was a file when it was listed may be a link now.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            # Room for the largest message is made only where the file has grown since it was listed.
            expected = min(status.st_size, LARGEST_MESSAGE) + 1
            data = _read(file, expected)
            if len(data) == expected <= LARGEST_MESSAGE:
                data += _read(file, LARGEST_MESSAGE + 1 - expected)
        finally:
            os.close(file)
    except OSError as error:
        unreadable = error.strerror or type(error).__name__
    return RawMail(
        data=data[:LARGEST_MESSAGE],
        origin=str(path),
        folder=folder,
        flags=flags,
        delivered_at=delivered_at,
        weight=status.st_size,
        truncated=len(data) > LARGEST_MESSAGE,
        unreadable=unreadable,
    )


def _read(file: int, most: int) -> bytes:
    """So many bytes of *file*, or those up to its end. A file object would take longer to make than to read."""
    pieces: list[bytes] = []
    while most and (piece := os.read(file, most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
