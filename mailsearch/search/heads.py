"""Heads of messages: everything about them but their text, as far as a scope sees it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.rows import TupleRow

from mailsearch.hits import Address, AttachmentInfo, Authentication, MessageHead
from mailsearch.scope import Scope, bigints

_HEADS = "SELECT * FROM mail_search.heads(%s::bigint[], %s::bigint[], %s, %s, %s, %s)"
_HEADS_OF = """
SELECT * FROM mail_search.heads(
    {}, %(heads_folders)s::bigint[], %(heads_from)s, %(heads_until)s, %(heads_deleted)s, true)
"""
_NONE_WRITTEN = "SELECT FROM mail_search.written('{}', '{}', NULL, NULL, false, true)"
_OF_NAMES = """
SELECT p.name_key, p.address
FROM mail_search.first_bearers(%(names)s, %(folders)s::bigint[], %(start)s, %(end)s) AS b
JOIN mailsearch_participant p ON p.id = b.participant_id
"""
_NOBODY = Address("", "")
# Columns of a row of mail_search.heads, and how many of them a head is made of.
_MESSAGE_ID, _OF_HEAD = 1, 28


@dataclass(frozen=True, slots=True)
class Read:
    """A head, with what the message and its attachments say where that was asked for."""

    head: MessageHead
    # Text, blocks, regions and hidden text of the body; text, blocks, page starts and hidden text of each attachment.
    body: Sequence[Any]
    of_attachments: Sequence[Sequence[Any]]


async def ready(conn: AsyncConnection[TupleRow]) -> None:
    """Have the plans by which messages are read made: they are the same for every scope, so for none will do."""
    await conn.execute(_NONE_WRITTEN)


async def load(conn: AsyncConnection[TupleRow], scope: Scope, ids: Iterable[int]) -> dict[int, MessageHead]:
    """Heads by internal id, of those messages that are in scope."""
    return {message_id: found.head for message_id, found in (await read(conn, scope, ids)).items()}


async def read(
    conn: AsyncConnection[TupleRow], scope: Scope, ids: Iterable[int], *, texts: bool = False
) -> dict[int, Read]:
    """The same with their texts, if they are wanted. Takes one trip to the database."""
    return await told(await ask(conn, scope, ids, texts=texts))


async def ask(
    conn: AsyncConnection[TupleRow], scope: Scope, ids: Iterable[int], *, texts: bool
) -> AsyncCursor[TupleRow]:
    """Begin to `read`; `told` gives the answer. Within a pipeline it does not wait."""
    return await conn.execute(_HEADS, [*in_scope(scope, bigints(ids)), texts], prepare=True, binary=True)


async def ask_of(
    conn: AsyncConnection[TupleRow], scope: Scope, messages: sql.Composed, values: Mapping[str, object]
) -> AsyncCursor[TupleRow]:
    """The same with their texts for the ids that the expression *messages* gives with *values*."""
    statement = sql.SQL(_HEADS_OF).format(messages)
    names = ("heads_folders", "heads_from", "heads_until", "heads_deleted")
    rest = dict(zip(names, in_scope(scope, "")[1:], strict=True))
    return await conn.execute(statement, {**values, **rest}, prepare=True, binary=True)


async def told(found: AsyncCursor[TupleRow]) -> dict[int, Read]:
    """What was asked for, by internal id."""
    return {row[_MESSAGE_ID]: of_row(row) for row in await found.fetchall()}


def in_scope(scope: Scope, ids: str) -> list[object]:
    """What mail_search.heads needs to know to show those of *ids* that are in scope."""
    return [ids, bigints(scope.folder_ids), scope.received_from, scope.received_until, scope.with_deleted]


def of_row(row: TupleRow) -> Read:
    """What a row of mail_search.heads says."""
    attached = row[_OF_HEAD + 4 :]
    return Read(_head(row), row[_OF_HEAD : _OF_HEAD + 4], tuple(zip(*attached, strict=True)) if attached[0] else ())


def _head(row: TupleRow) -> MessageHead:
    (_, _, public_id, thread_id, rfc_message_id, mailbox, folder, subject, sent_at, offset, received_at, disputed,
     language, spf, dkim, dmarc, nested, carrier_name, carrier_address, roles, names, addresses, bearers,
     *attachments) = row[:_OF_HEAD]  # fmt: skip
    people: dict[str, list[Address]] = {}
    for role, name, address, bearer in zip(roles, names, addresses, bearers, strict=True) if roles else ():
        # The same name from another address than bore it first: who imitates comes later.
        conflict = bearer is not None and bearer != address
        people.setdefault(role, []).append(Address(name, address, conflict))
    senders = people.get("from") or people.get("sender") or (_NOBODY,)
    return MessageHead(
        message_id=public_id,
        thread_id=thread_id,
        rfc_message_id=rfc_message_id,
        mailbox=mailbox,
        folder=folder,
        subject=subject,
        sender=senders[0],
        to=tuple(people.get("to", ())),
        cc=tuple(people.get("cc", ())),
        sent_at=sender_time(sent_at, offset),
        received_at=received_at,
        date_disputed=disputed,
        language=language,
        authentication=_authentication(spf, dkim, dmarc),
        attachments=tuple(map(AttachmentInfo, *attachments)) if attachments[0] else (),
        attached_to=_shown(carrier_name or "", carrier_address or "") if nested else "",
    )


@lru_cache(1_000)
def _authentication(spf: str, dkim: str, dmarc: str) -> Authentication:
    return Authentication(spf, dkim, dmarc)


def sender_time(sent_at: datetime | None, offset: int | None) -> datetime | None:
    """The moment on the clock of whoever sent it; *offset* is in seconds east of UTC."""
    if sent_at is None:
        return None
    try:
        return sent_at.astimezone(_east(offset) if offset is not None else UTC)
    except (ValueError, OverflowError):
        return sent_at


@lru_cache(1_000)
def _east(offset: int) -> timezone:
    return timezone(timedelta(seconds=offset))


def _shown(name: str, address: str) -> str:
    return f"{name} <{address}>" if name and address else name or address or "unknown"


async def first_bearers(conn: AsyncConnection[TupleRow], scope: Scope, names: Iterable[str]) -> dict[str, str]:
    """For each likeness of a name the address that bore such a name first within the scope.

    Such a name from another address is a `name_conflict`: who imitates comes later.
    """
    values = {"folders": bigints(scope.folder_ids), "start": scope.received_from, "end": scope.received_until}
    cursor = await conn.execute(_OF_NAMES, values | {"names": sorted(names)})
    return dict(await cursor.fetchall())
