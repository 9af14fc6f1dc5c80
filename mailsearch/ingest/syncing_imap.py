"""An IMAP account followed, folder by folder, by UIDVALIDITY, UIDs and, where there are any, MODSEQs.

What is new is fetched in portions, and each is written down once it is stored, so that an interrupted sync goes on
where it was. Nothing counts as deleted before every folder has been looked at: it may have moved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientAbortError, IMAPClientError

from mailsearch.ingest import imap_folders, placements
from mailsearch.ingest.imap_folders import Listed, Opened, RemoteFolder
from mailsearch.ingest.imap_session import session
from mailsearch.ingest.intake import Intake
from mailsearch.ingest.placements import Known
from mailsearch.models import SourceFolder
from mailsearch.sessions import bound


@dataclass(slots=True)
class _Findings:
    """What is written at the end of it all."""

    lost: list[int] = field(default_factory=list)
    read: list[SourceFolder] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def follow(intake: Intake) -> list[str]:
    """Take in what is new and follow what changed; returns the paths of folders that could not be read.

    Raises SyncFailed.
    """
    found = _Findings()
    with session(intake.source) as client:
        remote = imap_folders.folders(client)
        for folder in remote:
            place = placements.place_of(intake.source, folder.name, folder.path, folder.role)
            try:
                _follow_folder(intake, client, folder, place, found)
            except IMAPClientAbortError:
                raise
            except IMAPClientError:
                # The server refuses this one; the others are not to wait for it.
                found.unread.append(folder.path)
        gone = _gone(intake, {folder.name for folder in remote})
    interrupted = intake.source.last_sync_at is None or bool(intake.source.error)
    if found.read or gone or interrupted:
        intake.total.settle(placements.settle(intake.source, found.lost, found.read, gone))
    intake.tell()
    return found.unread


def _gone(intake: Intake, names: set[str]) -> list[SourceFolder]:
    """Folders on record that the server has no more."""
    with bound(placements.binding(intake.source)):
        return [one for one in SourceFolder.objects.filter(source=intake.source) if one.name not in names]


def _follow_folder(
    intake: Intake, client: IMAPClient, folder: RemoteFolder, place: SourceFolder, found: _Findings
) -> None:
    opened = imap_folders.open_folder(client, folder.name)
    if _is_as_it_was(place, opened):
        return
    if place.uidvalidity != opened.uidvalidity:
        placements.outdate(intake.source, place, opened.uidvalidity)
        place.uidvalidity, place.modseq = opened.uidvalidity, Decimal(0)
    on_record = placements.known(intake.source, place)
    changed, present = _listed(client, place, opened, on_record)
    fresh = [one for one in changed if one.uid not in on_record]
    for portion in imap_folders.portions(fresh):
        intake.take(place, list(imap_folders.fetch(client, folder, portion)))
    _reflag(intake, on_record, changed)
    found.lost += [one.id for uid, one in on_record.items() if uid not in present]
    place.uidvalidity, place.uidnext = opened.uidvalidity, opened.uidnext
    place.modseq, place.exists = Decimal(opened.modseq), opened.exists
    found.read.append(place)


def _is_as_it_was(place: SourceFolder, opened: Opened) -> bool:
    """Whether nothing can have changed since the folder was read to its end; sure only where it has MODSEQs."""
    was = (place.uidvalidity, place.uidnext, place.exists, int(place.modseq))
    return opened.modseq > 0 and was == (opened.uidvalidity, opened.uidnext, opened.exists, opened.modseq)


def _listed(
    client: IMAPClient, place: SourceFolder, opened: Opened, on_record: Mapping[int, Known]
) -> tuple[list[Listed], set[int]]:
    """Messages that may be new or have other flags, and the UIDs of all that are present."""
    if place.modseq and opened.modseq:
        changed = list(imap_folders.listing(client, opened.exists, since=int(place.modseq)))
        present = {*on_record, *(one.uid for one in changed)}
        if len(present) == opened.exists:
            # As many as there are: none of those on record is gone.
            return changed, present
    everything = list(imap_folders.listing(client, opened.exists))
    return everything, {one.uid for one in everything}


def _reflag(intake: Intake, on_record: Mapping[int, Known], changed: Sequence[Listed]) -> None:
    changes = {
        on_record[one.uid].id: one.flags
        for one in changed
        if one.uid in on_record and on_record[one.uid].flags != one.flags
    }
    placements.reflag(intake.source, changes)
    intake.total.reflagged += len(changes)
