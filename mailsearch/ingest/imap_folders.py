"""What an IMAP server holds: folders, what is in them, and the messages themselves, in bounded portions.

Only commands that change nothing are given: EXAMINE instead of SELECT, BODY.PEEK instead of BODY (RFC 3501).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientAbortError, IMAPClientError

from mailsearch.ingest.placements import store_path
from mailsearch.ingest.sources.labels import folder_name
from mailsearch.ingest.sources.raw import LARGEST_MESSAGE, RawMail

# Messages asked for at once: command lines stay under 8 KB (RFC 7162, 4), answers under what is kept of one message.
_LISTED = 800
_FETCHED = 100
_FETCHED_BYTES = 16_000_000
_HEADER_BYTES = 1_000_000
_CLOSED = {b"\\noselect", b"\\nonexistent"}
# Views that repeat what stands in other folders (RFC 6154), without being a place of their own.
_VIEWS = {b"\\flagged", b"\\important"}
_EVERYTHING = b"\\all"
_ROLES = {b"\\sent": "sent", b"\\junk": "junk", b"\\trash": "trash"}
_FLAGS = {
    b"\\seen": "seen",
    b"\\answered": "answered",
    b"\\flagged": "flagged",
    b"\\draft": "draft",
    b"\\deleted": "deleted",
    b"$forwarded": "passed",
}


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """A folder of the server: its name on the wire, its path and role in the store's words."""

    name: str
    path: str
    role: str
    holds_everything: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """What EXAMINE said. `modseq` is 0 where the server keeps none (RFC 7162)."""

    uidvalidity: int
    uidnext: int
    exists: int
    modseq: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A message that the folder holds; `size` in bytes by the server's word."""

    uid: int
    size: int
    flags: tuple[str, ...]


def folders(client: IMAPClient) -> list[RemoteFolder]:
    """Every folder that can be opened, INBOX first, and those that repeat everything last."""
    found = []
    for flags, delimiter, name in client.list_folders():
        marks = {flag.lower() for flag in flags}
        if marks & _CLOSED or marks & _VIEWS:
            continue
        wire = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else str(name)
        role = next((role for mark, role in _ROLES.items() if mark in marks), "")
        found.append(RemoteFolder(wire, _path(wire, delimiter), role, _EVERYTHING in marks))
    return sorted(found, key=lambda one: (one.holds_everything, one.path != "INBOX", one.path))


def _path(wire: str, delimiter: bytes | None) -> str:
    steps = wire.split(delimiter.decode("ascii", "replace")) if delimiter else [wire]
    if steps[0].upper() == "INBOX":
        steps[0] = "INBOX"
    # A slash within a name must not make a level of its own.
    names = [folder_name(step).replace("/", "%2F") for step in steps if step]
    return store_path("/".join(names))


def open_folder(client: IMAPClient, name: str) -> Opened:
    """Open the folder for reading alone. Raises IMAPClientError where the server refuses."""
    said = client.select_folder(name, readonly=True)
    return Opened(
        uidvalidity=int(said[b"UIDVALIDITY"]),
        uidnext=int(said.get(b"UIDNEXT", 0)),
        exists=int(said[b"EXISTS"]),
        modseq=int(said.get(b"HIGHESTMODSEQ", 0)),
    )


def listing(client: IMAPClient, exists: int, *, since: int = 0) -> Iterator[Listed]:
    """The *exists* messages of the open folder; with *since*, only those that changed after that MODSEQ.

    By sequence numbers: no server may renumber while one of these commands runs (RFC 3501, 7.4.1), and no answer
    grows with the folder.
    """
    modifiers = [f"CHANGEDSINCE {since}"] if since else None
    for first in range(1, exists + 1, _LISTED):
        numbers = list(range(first, min(first + _LISTED, exists + 1)))
        for item in _by_number(client, numbers, modifiers):
            if b"UID" in item:
                yield Listed(int(item[b"UID"]), int(item.get(b"RFC822.SIZE", 0)), _flags(item))


def _by_number(client: IMAPClient, numbers: list[int], modifiers: list[str] | None) -> list[dict[bytes, Any]]:
    client.use_uid = False
    try:
        return list(client.fetch(numbers, ["UID", "FLAGS", "RFC822.SIZE"], modifiers).values())
    finally:
        client.use_uid = True


def portions(listed: Iterable[Listed]) -> Iterator[list[Listed]]:
    """Parts of *listed*, each small enough to be fetched and held at once."""
    portion: list[Listed] = []
    size = 0
    for one in listed:
        weight = min(one.size, LARGEST_MESSAGE)
        if portion and (len(portion) >= _FETCHED or size + weight > _FETCHED_BYTES):
            yield portion
            portion, size = [], 0
        portion.append(one)
        size += weight
    if portion:
        yield portion


def fetch(client: IMAPClient, folder: RemoteFolder, portion: Sequence[Listed]) -> Iterator[tuple[int, RawMail]]:
    """The messages of *portion* with their UIDs. Those that are gone meanwhile are passed over.

    Of a message that is larger than what is kept only the header is fetched. One that the server won't give while it
    gives others comes as unreadable.
    """
    large = [one for one in portion if one.size > LARGEST_MESSAGE]
    small = [one for one in portion if one.size <= LARGEST_MESSAGE]
    if small:
        yield from _fetch(client, folder, small, "BODY.PEEK[]", truncated=False)
    for one in large:
        yield from _fetch(client, folder, [one], f"BODY.PEEK[HEADER]<0.{_HEADER_BYTES}>", truncated=True)


def _fetch(
    client: IMAPClient, folder: RemoteFolder, portion: Sequence[Listed], what: str, *, truncated: bool
) -> Iterator[tuple[int, RawMail]]:
    try:
        items = client.fetch([one.uid for one in portion], ["FLAGS", "INTERNALDATE", what])
    except IMAPClientAbortError:
        raise
    except IMAPClientError:
        if len(portion) == 1:
            raise
        yield from _one_by_one(client, folder, portion, what)
        return
    for uid, item in items.items():
        data = next((value for key, value in item.items() if key.startswith(b"BODY[")), None)
        if data is not None:
            yield uid, _mail(folder, uid, item, data, truncated=truncated)


def _one_by_one(
    client: IMAPClient, folder: RemoteFolder, portion: Sequence[Listed], what: str
) -> Iterator[tuple[int, RawMail]]:
    refused: list[int] = []
    failure: IMAPClientError | None = None
    for one in portion:
        try:
            yield from _fetch(client, folder, [one], what, truncated=False)
        except IMAPClientAbortError:
            raise
        except IMAPClientError as error:
            refused.append(one.uid)
            failure = error
    if failure is not None and len(refused) == len(portion):
        # Not about a message.
        raise failure
    for uid in refused:
        origin = f"imap:{folder.path};UID={uid}"
        yield uid, RawMail(b"", origin, folder.path, unreadable="the server would not hand it over")


def _mail(folder: RemoteFolder, uid: int, item: dict[bytes, Any], data: bytes, *, truncated: bool) -> RawMail:
    arrived = item.get(b"INTERNALDATE")
    return RawMail(
        data=data[:LARGEST_MESSAGE],
        origin=f"imap:{folder.path};UID={uid}",
        folder=folder.path,
        flags=_flags(item),
        received_at=arrived if isinstance(arrived, datetime) else None,
        weight=len(data),
        truncated=truncated or len(data) > LARGEST_MESSAGE,
    )


def _flags(item: dict[bytes, Any]) -> tuple[str, ...]:
    set_ = {flag.lower() for flag in item.get(b"FLAGS", ()) if isinstance(flag, bytes)}
    return tuple(word for flag, word in _FLAGS.items() if flag in set_)
