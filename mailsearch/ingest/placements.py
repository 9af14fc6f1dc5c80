"""What each source holds where, and what follows from it for the messages: their folder, flags, and being there at all.

A message is in a folder in which some source holds it; one that sources held and hold no more was deleted there, and
comes back if it is seen again. Messages inside others go with these.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, F, OuterRef, Subquery
from django.db.models.functions import Now

from mailsearch.ingest.quarantine import with_nested
from mailsearch.ingest.sources.labels import folder_role
from mailsearch.models import Folder, Mailbox, MailSource, Message, Placement, SourceFolder
from mailsearch.sessions import Binding, bound
from mailsearch.terms import fold

# UIDs are 32 bits wide.
_ALL_UIDS = 2**32
_INBOX = "INBOX"
_AT_ONCE = 5_000
_PLACED = Placement.objects.filter(message=OuterRef("pk"))


@dataclass(frozen=True, slots=True)
class Seen:
    """A message as a source holds it; `uid` is None for files."""

    uid: int | None
    content_sha256: bytes
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A placement as it is on record."""

    id: int
    uid: int | None
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """How many messages (without those inside of them) changed their state."""

    moved: int = 0
    deleted: int = 0
    restored: int = 0


def binding(source: MailSource) -> Binding:
    return Binding(source.tenant_id, frozenset({source.mailbox_id}), include_quarantined=True)


def store_path(name: str) -> str:
    """The path in the store of a source's folder *name*; as `pipeline` puts it."""
    path = name.strip("/")[:1000] or _INBOX
    return "".join(character if character.isprintable() else "\ufffd" for character in path)


def place_of(source: MailSource, name: str, path: str, role: str = "") -> SourceFolder:
    """The record of the source's folder *name*, and the mailbox's folder *path* for it, made where they are missing.

    A *role* that the source tells counts where the folder's name alone says none.
    """
    owner = {"tenant_id": source.tenant_id, "mailbox_id": source.mailbox_id}
    defaults = {"tenant_id": source.tenant_id, "role": folder_role(path, fold(path)) or role}
    folder, _ = Folder.objects.get_or_create(mailbox_id=source.mailbox_id, path=path, defaults=defaults)
    if role and not folder.role:
        Folder.objects.filter(pk=folder.pk).update(role=role)
    with bound(binding(source)):
        place, _ = SourceFolder.objects.get_or_create(source=source, name=name, defaults={**owner, "folder": folder})
        if place.folder_id != folder.pk:
            SourceFolder.objects.filter(pk=place.pk).update(folder=folder)
        return place


def known(source: MailSource, place: SourceFolder) -> dict[int, Known]:
    """What is on record of an IMAP folder, by UID."""
    with bound(binding(source)):
        rows = place.placements.values_list("id", "uid", "flags")
        return {uid: Known(id_, uid, tuple(flags)) for id_, uid, flags in rows if uid is not None}


def record(source: MailSource, place: SourceFolder, seen: Sequence[Seen]) -> None:
    """Note that *place* holds *seen*, which were taken in before. What was erased is noted without its message."""
    with bound(binding(source)):
        ids = messages_of(source, (one.content_sha256 for one in seen))
        Placement.objects.bulk_create(
            [
                Placement(
                    tenant_id=source.tenant_id,
                    mailbox_id=source.mailbox_id,
                    place=place,
                    uid=one.uid,
                    message_id=ids.get(one.content_sha256),
                    flags=list(one.flags),
                )
                for one in seen
            ],
            ignore_conflicts=True,
        )
        _flag({ids[one.content_sha256]: one.flags for one in seen if one.content_sha256 in ids})


def messages_of(source: MailSource, hashes: Iterable[bytes]) -> dict[bytes, int]:
    """Ids of the mailbox's own messages by content. Within a bound session."""
    found: dict[bytes, int] = {}
    asked = list(set(hashes))
    for first in range(0, len(asked), _AT_ONCE):
        some = asked[first : first + _AT_ONCE]
        rows = Message.objects.filter(mailbox=source.mailbox_id, container=None, content_sha256__in=some)
        found |= {bytes(digest): id_ for digest, id_ in rows.values_list("content_sha256", "id")}
    return found


def reflag(source: MailSource, changes: Mapping[int, tuple[str, ...]]) -> None:
    """New flags of placements, by their ids."""
    if not changes:
        return
    with bound(binding(source)):
        rows = list(Placement.objects.filter(pk__in=list(changes)))
        for row in rows:
            row.flags = list(changes[row.pk])
        Placement.objects.bulk_update(rows, ["flags"], batch_size=1_000)
        _flag({row.message_id: tuple(row.flags) for row in rows if row.message_id is not None})


def _flag(wanted: Mapping[int, tuple[str, ...]]) -> None:
    by_flags: dict[tuple[str, ...], list[int]] = {}
    for id_, had in Message.objects.filter(pk__in=list(wanted)).values_list("id", "flags"):
        if tuple(had) != wanted[id_]:
            by_flags.setdefault(wanted[id_], []).append(id_)
    for flags, ids in by_flags.items():
        Message.objects.filter(pk__in=ids).update(flags=list(flags))


def outdate(source: MailSource, place: SourceFolder, uidvalidity: int) -> None:
    """UIDs of *place* mean nothing any more (RFC 3501, 2.3.1.1): what is on record waits to be seen anew."""
    with bound(binding(source)):
        # What still waits from a change before goes further down: two of one number can't be.
        place.placements.filter(uid__lt=0).update(uid=F("uid") - _ALL_UIDS)
        place.placements.filter(uid__gt=0).update(uid=-1 * F("uid"))
        SourceFolder.objects.filter(pk=place.pk).update(uidvalidity=uidvalidity, uidnext=0, modseq=0, exists=0)


def settle(
    source: MailSource, lost: Sequence[int], read: Sequence[SourceFolder], gone: Sequence[SourceFolder] = ()
) -> Settled:
    """One transaction at the end of a sync: placements *lost* and folders *gone* go, folders *read* are up to date.

    Since all of it is written at once, an interrupted sync finds the same again.
    """
    with bound(binding(source)):
        # As whoever counts words does first: so that the two wait for each other instead of for ever.
        Mailbox.objects.select_for_update().get(pk=source.mailbox_id)
        chosen = set(Placement.objects.filter(place__in=list(gone)).values_list("pk", flat=True)) | set(lost)
        rows = Placement.objects.filter(pk__in=chosen)
        touched = set(rows.exclude(message=None).values_list("message_id", flat=True))
        rows.delete()
        SourceFolder.objects.filter(pk__in=[one.pk for one in gone]).delete()
        SourceFolder.objects.bulk_update(read, ["uidvalidity", "uidnext", "modseq", "exists"])
        deleted = Message.objects.filter(pk__in=touched, deleted_at_source=None).exclude(Exists(_PLACED))
        ids = set(deleted.values_list("pk", flat=True))
        Message.objects.filter(pk__in=with_nested(ids)).update(deleted_at_source=Now())
        return Settled(deleted=len(ids), restored=_restore(source), moved=_move(source))


def _restore(source: MailSource) -> int:
    rows = Message.objects.filter(mailbox=source.mailbox_id, container=None, deleted_at_source__isnull=False)
    ids = set(rows.filter(Exists(_PLACED)).values_list("pk", flat=True))
    Message.objects.filter(pk__in=with_nested(ids)).update(deleted_at_source=None)
    return len(ids)


def _move(source: MailSource) -> int:
    """Messages that stand in a folder in which no source holds them go to the first in which one does."""
    first = Subquery(_PLACED.order_by("pk").values("place__folder")[:1])
    rows = Message.objects.filter(mailbox=source.mailbox_id, container=None).filter(Exists(_PLACED))
    astray = rows.exclude(Exists(_PLACED.filter(place__folder=OuterRef("folder")))).annotate(first=first)
    to: dict[int, set[int]] = {}
    for id_, folder in astray.values_list("pk", "first"):
        to.setdefault(folder, set()).add(id_)
    for folder, ids in to.items():
        Message.objects.filter(pk__in=with_nested(ids)).update(folder_id=folder)
    return sum(map(len, to.values()))
