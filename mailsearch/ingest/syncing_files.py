"""Files followed: a Maildir, an mbox, or a folder of such, read anew each time and compared by content."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from mailsearch.ingest import placements
from mailsearch.ingest.intake import Intake, identity
from mailsearch.ingest.placements import Seen
from mailsearch.ingest.sources import NotASource, RawMail, Source, open_source
from mailsearch.ingest.sync_failures import State, SyncFailed
from mailsearch.models import MailSource, Placement, SourceFolder
from mailsearch.sessions import bound


@dataclass(slots=True)
class _Survey:
    """A source that remembers what it gave: for each folder and content how often, and with which flags."""

    source: Source
    # Where its top goes.
    folder: str = ""
    seen: Counter[tuple[str, bytes]] = field(default_factory=Counter)
    flags: dict[tuple[str, bytes], tuple[str, ...]] = field(default_factory=dict)
    # A file could not be read, so what is missing may be there.
    doubtful: bool = False

    @property
    def kind(self) -> str:
        return self.source.kind

    @property
    def size(self) -> int:
        return self.source.size

    def messages(self) -> Iterator[RawMail]:
        for mail in self.source.messages():
            if mail.unreadable:
                self.doubtful = True
                if not os.path.lexists(mail.origin):
                    # Renamed since it was listed; the next sync sees it.
                    continue
            path = "/".join(step for step in (self.folder, mail.folder.strip("/")) if step)
            mail = replace(mail, folder=placements.store_path(path))
            key = (mail.folder, identity(mail))
            self.seen[key] += 1
            self.flags[key] = mail.flags
            yield mail


@dataclass(slots=True)
class _Difference:
    """What is to be written, and what is on record but not seen."""

    fresh: list[tuple[SourceFolder, Seen]]
    flags: dict[int, tuple[str, ...]]
    missing: dict[int, tuple[str, int]]


def follow(intake: Intake) -> list[str]:
    """Take in what is new and follow what changed. Raises SyncFailed where the files can't be read."""
    survey = _survey(intake.source, intake.folder.strip("/"))
    intake.take_all(survey)
    found = _compare(intake.source, survey)
    lost = [] if survey.doubtful else _lost(intake.source, survey, found.missing)
    for place in {place.pk: place for place, _ in found.fresh}.values():
        placements.record(intake.source, place, [seen for at, seen in found.fresh if at.pk == place.pk])
    placements.reflag(intake.source, found.flags)
    intake.total.reflagged += len(found.flags)
    intake.total.settle(placements.settle(intake.source, lost, []))
    intake.tell()
    return []


def _survey(source: MailSource, folder: str) -> _Survey:
    path = Path(source.location)
    try:
        for _ in os.walk(path, onerror=_refuse):
            pass
        return _Survey(open_source(path), folder)
    except NotASource as error:
        raise SyncFailed(
            State.FILES_FAILED, f"{error} Nothing counts as deleted until it can be read again."
        ) from error
    except OSError as error:
        raise SyncFailed(
            State.FILES_FAILED,
            f"A folder below {path} can't be listed ({error.strerror}). Let this user read it; until then nothing"
            " counts as deleted.",
        ) from error


def _refuse(error: OSError) -> None:
    # A file is no folder to be listed, and what is gone since is no matter.
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _compare(source: MailSource, survey: _Survey) -> _Difference:
    with bound(placements.binding(source)):
        ids = placements.messages_of(source, (digest for _, digest in survey.seen))
        rows = list(
            Placement.objects.filter(place__source=source, message__isnull=False).values_list(
                "pk", "place__name", "message_id", "flags"
            )
        )
    left = Counter({(path, ids[digest]): count for (path, digest), count in survey.seen.items() if digest in ids})
    flags = {(path, ids[digest]): given for (path, digest), given in survey.flags.items() if digest in ids}
    found = _Difference([], {}, {})
    for pk, path, message, before in rows:
        key = (path, message)
        if left[key] <= 0:
            found.missing[pk] = key
            continue
        left[key] -= 1
        if tuple(before) != flags[key]:
            found.flags[pk] = flags[key]
    places: dict[str, SourceFolder] = {}
    for (path, digest), given in survey.flags.items():
        for _ in range(left[path, ids[digest]] if digest in ids else 0):
            if path not in places:
                places[path] = placements.place_of(source, path, path)
            found.fresh.append((places[path], Seen(None, digest, given)))
    return found


def _lost(source: MailSource, survey: _Survey, missing: dict[int, tuple[str, int]]) -> list[int]:
    """Of what is *missing*, what a second look does not find either: files are renamed while they are read."""
    if not missing:
        return []
    if not survey.seen:
        raise SyncFailed(
            State.FILES_FAILED,
            f"{source.location} holds no mail at all any more, which looks like a disk that is not mounted; so nothing"
            " counts as deleted. If it is meant, leave one message there.",
        )
    again = _survey(source, survey.folder)
    for _ in again.messages():
        pass
    with bound(placements.binding(source)):
        ids = placements.messages_of(source, (digest for _, digest in again.seen))
    found = {(path, ids[digest]) for path, digest in again.seen if digest in ids}
    known = {(path, ids[digest]) for path, digest in survey.seen if digest in ids}
    # A second copy that went is no matter of chance.
    return [] if again.doubtful else [pk for pk, key in missing.items() if key not in found or key in known]
