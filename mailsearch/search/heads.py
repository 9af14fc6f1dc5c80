"""Heads of messages: everything about them but their text, as far as a scope sees it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from mailsearch.hits import Address, AttachmentInfo, Authentication, MessageHead
from mailsearch.scope import Scope, bigints
from mailsearch.search import threads

_MESSAGES = """
SELECT m.id, m.public_id, m.thread_id, t.public_id, t.merged_into_id, m.rfc_message_id,
       (SELECT b.slug FROM mailsearch_mailbox b WHERE b.id = m.mailbox_id),
       (SELECT f.path FROM mailsearch_folder f WHERE f.id = m.folder_id), m.subject, m.sent_at, m.sent_offset,
       m.received_at, m.date_disputed, m.language, m.spf, m.dkim, m.dmarc, m.container_id{}
FROM mailsearch_message m JOIN mailsearch_thread t ON t.id = m.thread_id WHERE m.id = ANY(%(ids)s::bigint[]) AND {}
"""
# Places in its rows, and of the last column of attachments in theirs.
_THREAD, _MERGED, _CONTAINER, _STATE = 2, 4, 17, 5
_PARTICIPANTS = """
SELECT message_id, role, name, address FROM mailsearch_participant
WHERE message_id = ANY(%s::bigint[]) ORDER BY message_id, position, id
"""
_ATTACHMENTS = """
SELECT message_id, public_id, filename, content_type, size, state{} FROM mailsearch_attachment
WHERE message_id = ANY(%s::bigint[]) ORDER BY message_id, position, id
"""
_OF_NAMES = """
SELECT lower(p.name), p.address
FROM mail_search.first_bearers(%(names)s, %(folders)s::bigint[], %(start)s, %(end)s) AS b
JOIN mailsearch_participant p ON p.id = b.participant_id
"""
_OF_MESSAGES = """
SELECT lower(p.name), p.address
FROM mail_search.first_bearers_of(%(ids)s::bigint[], %(folders)s::bigint[], %(start)s, %(end)s) AS b
JOIN mailsearch_participant p ON p.id = b.participant_id
"""


@dataclass(frozen=True, slots=True)
class _People:
    """Participants of one message by role, in their order."""

    by_role: Mapping[str, Sequence[tuple[str, str]]]

    def of(self, role: str) -> Sequence[tuple[str, str]]:
        return self.by_role.get(role, ())

    @property
    def sender(self) -> tuple[str, str]:
        return next(iter([*self.of("from"), *self.of("sender")]), ("", ""))


_NOBODY = _People({})


@dataclass(frozen=True, slots=True)
class Columns:
    """What to read of messages and of their attachments beside what heads are made of."""

    message: LiteralString = ""
    attachment: LiteralString = ""


_NO_MORE = Columns()


@dataclass(frozen=True, slots=True)
class Read:
    """A head, with the values of the columns that were asked for beside it."""

    head: MessageHead
    columns: Sequence[Any]
    # One for each attachment of the head.
    of_attachments: Sequence[Sequence[Any]]


async def load(conn: AsyncConnection[TupleRow], scope: Scope, ids: Iterable[int]) -> dict[int, MessageHead]:
    """Heads by internal id, of those messages that are in scope."""
    return {message_id: found.head for message_id, found in (await read(conn, scope, ids)).items()}


async def read(
    conn: AsyncConnection[TupleRow], scope: Scope, ids: Iterable[int], columns: Columns = _NO_MORE
) -> dict[int, Read]:
    """The same with further *columns*. Takes one trip to the database unless there are merged threads or mail inside
    of mail."""
    wanted = bigints(ids)
    condition, values = scope.condition("m")
    # Asked for in one trip, and of participants and attachments only those of what is in scope are looked at.
    statements = _statements(columns, condition.as_string(None))
    messages = await conn.execute(statements[0], values | {"ids": wanted}, prepare=True)
    participants = await conn.execute(_PARTICIPANTS, [wanted], prepare=True)
    attached = await conn.execute(statements[1], [wanted], prepare=True)
    bearers = await conn.execute(_OF_MESSAGES, _bearing(scope) | {"ids": wanted}, prepare=True)
    rows = {row[0]: row for row in await messages.fetchall()}
    people = _people(row for row in await participants.fetchall() if row[0] in rows)
    attachments = await attached.fetchall()
    known: dict[str, str] = dict(await bearers.fetchall())
    containers = {row[_CONTAINER] for row in rows.values() if row[_CONTAINER] is not None}
    if containers:
        people |= _people(await (await conn.execute(_PARTICIPANTS, [bigints(containers)])).fetchall())
    merged = {row[_THREAD] for row in rows.values() if row[_MERGED] is not None}
    roots = await threads.roots(conn, merged) if merged else {}
    of_message: dict[int, list[TupleRow]] = defaultdict(list)
    for row in attachments:
        of_message[row[0]].append(row)
    return {
        message_id: Read(
            _head(row, roots, people, known, of_message[message_id]),
            row[_CONTAINER + 1 :],
            [one[_STATE + 1 :] for one in of_message[message_id]],
        )
        for message_id, row in rows.items()
    }


@lru_cache(100)
def _statements(columns: Columns, condition: str) -> tuple[bytes, bytes]:
    """The statements that ask for messages, and for their attachments."""
    return _MESSAGES.format(columns.message, condition).encode(), _ATTACHMENTS.format(columns.attachment).encode()


def _head(
    row: TupleRow,
    roots: Mapping[int, str],
    people: Mapping[int, _People],
    known: Mapping[str, str],
    attachments: Sequence[TupleRow],
) -> MessageHead:
    (message_id, public_id, thread, thread_id, _, rfc_message_id, mailbox, folder, subject, sent_at, offset,
     received_at, disputed, language, spf, dkim, dmarc, container) = row[: _CONTAINER + 1]  # fmt: skip
    mine = people.get(message_id, _NOBODY)

    def address(pair: tuple[str, str]) -> Address:
        name, mail = pair
        return Address(name, mail, name_conflict=bool(name) and known.get(name.lower(), mail) != mail)

    return MessageHead(
        message_id=public_id,
        thread_id=roots.get(thread, thread_id),
        rfc_message_id=rfc_message_id,
        mailbox=mailbox,
        folder=folder,
        subject=subject,
        sender=address(mine.sender),
        to=tuple(map(address, mine.of("to"))),
        cc=tuple(map(address, mine.of("cc"))),
        sent_at=sender_time(sent_at, offset),
        received_at=received_at,
        date_disputed=disputed,
        language=language,
        authentication=Authentication(spf, dkim, dmarc),
        attachments=tuple(AttachmentInfo(*one[1 : _STATE + 1]) for one in attachments),
        attached_to=_shown(people.get(container, _NOBODY).sender) if container is not None else "",
    )


def sender_time(sent_at: datetime | None, offset: int | None) -> datetime | None:
    """The moment on the clock of whoever sent it; *offset* is in seconds east of UTC."""
    if sent_at is None:
        return None
    try:
        return sent_at.astimezone(timezone(timedelta(seconds=offset)) if offset is not None else UTC)
    except (ValueError, OverflowError):
        return sent_at


def _shown(pair: tuple[str, str]) -> str:
    name, address = pair
    return f"{name} <{address}>" if name and address else name or address or "unknown"


def _people(rows: Iterable[TupleRow]) -> dict[int, _People]:
    found: dict[int, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for message_id, role, name, address in rows:
        found[message_id][role].append((name, address))
    return {message_id: _People(by_role) for message_id, by_role in found.items()}


async def first_bearers(conn: AsyncConnection[TupleRow], scope: Scope, names: Iterable[str]) -> dict[str, str]:
    """For each name (in lower case) the address that bore it first within the scope.

    The same name from another address is a `name_conflict`: who imitates comes later.
    """
    cursor = await conn.execute(_OF_NAMES, _bearing(scope) | {"names": sorted(names)})
    return dict(await cursor.fetchall())


def _bearing(scope: Scope) -> dict[str, object]:
    return {"folders": bigints(scope.folder_ids), "start": scope.received_from, "end": scope.received_until}
