"""Heads of messages: everything about them but their text, as far as a scope sees it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, TupleRow, dict_row

from mailsearch.hits import Address, AttachmentInfo, Authentication, MessageHead
from mailsearch.scope import Scope
from mailsearch.search.threads import ask_roots

_MESSAGES = """
SELECT m.id, m.public_id, m.thread_id, m.rfc_message_id, b.slug AS mailbox, f.path AS folder, m.subject, m.sent_at,
       m.sent_offset, m.received_at, m.date_disputed, m.language, m.spf, m.dkim, m.dmarc, m.container_id
FROM mailsearch_message m
JOIN mailsearch_folder f ON f.id = m.folder_id JOIN mailsearch_mailbox b ON b.id = m.mailbox_id
WHERE m.id = ANY(%(ids)s) AND {}
"""
_PARTICIPANTS = """
SELECT message_id, role, name, address FROM mailsearch_participant
WHERE message_id = ANY(%s) ORDER BY message_id, position, id
"""
_ATTACHMENTS = """
SELECT message_id, public_id, filename, content_type, size, state FROM mailsearch_attachment
WHERE message_id = ANY(%s) ORDER BY message_id, position, id
"""
_FIRST_BEARERS = """
SELECT lower(p.name), p.address FROM mail_search.first_bearers(%(names)s, %(folders)s, %(start)s, %(end)s) AS b
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


async def load(conn: AsyncConnection[TupleRow], scope: Scope, ids: Iterable[int]) -> dict[int, MessageHead]:
    """Heads by internal id, of those messages that are in scope."""
    async with conn.pipeline():
        return await load_within(conn, scope, ids)


async def load_within(conn: AsyncConnection[TupleRow], scope: Scope, ids: Iterable[int]) -> dict[int, MessageHead]:
    """The same in a pipeline that is open already."""
    wanted = list(ids)
    condition, values = scope.condition("m")
    cursor = conn.cursor(row_factory=dict_row)
    await cursor.execute(sql.SQL(_MESSAGES).format(condition), values | {"ids": wanted})
    # Asked for in the same trip, of which only what is in scope is looked at.
    asked = await conn.execute(_PARTICIPANTS, [wanted]), await conn.execute(_ATTACHMENTS, [wanted])
    rows = {row["id"]: row for row in await cursor.fetchall()}
    if not rows:
        return {}
    people = _people(row for row in await asked[0].fetchall() if row[0] in rows)
    containers = {row["container_id"] for row in rows.values() if row["container_id"] is not None}
    if containers:
        people |= _people(await (await conn.execute(_PARTICIPANTS, [list(containers)])).fetchall())
    threads_asked = await ask_roots(conn, {row["thread_id"] for row in rows.values()})
    known = await first_bearers(conn, scope, {name for one in people.values() for name in _names(one)})
    threads: dict[int, str] = dict(await threads_asked.fetchall())
    attachments = _attachments(await asked[1].fetchall())
    nobody = _People({})
    return {
        message_id: _head(
            row,
            threads.get(row["thread_id"], ""),
            people.get(message_id, nobody),
            people.get(row["container_id"], nobody),
            known,
            attachments.get(message_id, ()),
        )
        for message_id, row in rows.items()
    }


def _head(
    row: DictRow,
    thread_id: str,
    people: _People,
    container: _People,
    known: Mapping[str, str],
    attachments: Sequence[AttachmentInfo],
) -> MessageHead:
    def address(pair: tuple[str, str]) -> Address:
        name, mail = pair
        return Address(name, mail, name_conflict=bool(name) and known.get(name.lower(), mail) != mail)

    return MessageHead(
        message_id=row["public_id"],
        thread_id=thread_id,
        rfc_message_id=row["rfc_message_id"],
        mailbox=row["mailbox"],
        folder=row["folder"],
        subject=row["subject"],
        sender=address(people.sender),
        to=tuple(map(address, people.of("to"))),
        cc=tuple(map(address, people.of("cc"))),
        sent_at=sender_time(row["sent_at"], row["sent_offset"]),
        received_at=row["received_at"],
        date_disputed=row["date_disputed"],
        language=row["language"],
        authentication=Authentication(row["spf"], row["dkim"], row["dmarc"]),
        attachments=tuple(attachments),
        attached_to=_shown(container.sender) if row["container_id"] is not None else "",
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


def _names(people: _People) -> set[str]:
    return {name for pairs in people.by_role.values() for name, _ in pairs if name}


def _people(rows: Iterable[TupleRow]) -> dict[int, _People]:
    found: dict[int, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for message_id, role, name, address in rows:
        found[message_id][role].append((name, address))
    return {message_id: _People(by_role) for message_id, by_role in found.items()}


async def first_bearers(conn: AsyncConnection[TupleRow], scope: Scope, names: Iterable[str]) -> dict[str, str]:
    """For each name (in lower case) the address that bore it first within the scope.

    The same name from another address is a `name_conflict`: who imitates comes later.
    """
    parameters = {
        "names": sorted(names),
        "folders": scope.folder_ids,
        "start": scope.received_from,
        "end": scope.received_until,
    }
    cursor = await conn.execute(_FIRST_BEARERS, parameters)
    return dict(await cursor.fetchall())


def _attachments(rows: Iterable[Any]) -> dict[int, list[AttachmentInfo]]:
    found: dict[int, list[AttachmentInfo]] = defaultdict(list)
    for message_id, *values in rows:
        found[message_id].append(AttachmentInfo(*values))
    return found
