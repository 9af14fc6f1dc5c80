"""How much mail a scope holds, and how far it is indexed."""

import math
import time
from dataclasses import dataclass
from datetime import datetime

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from mailsearch.embeddings import configured_embedder
from mailsearch.hits import Coverage
from mailsearch.scope import Scope, bigints

_STANDING = "SELECT indexed_until, may_leave FROM mail_search.standing(%s::bigint[], %s, %s, '{}')"
_MESSAGES = "SELECT count(*), min(m.received_at), max(m.received_at) FROM mailsearch_message m WHERE {}"
_PASSAGES = """
SELECT count(*), count(v.id) FROM mailsearch_message m JOIN mailsearch_passage p ON p.message_id = m.id
LEFT JOIN mailsearch_passagevector v ON v.passage_id = p.id AND v.model = %(model)s WHERE {}
"""
_UNREAD = """
SELECT count(*) FROM mailsearch_message m JOIN mailsearch_attachment a ON a.message_id = m.id
WHERE a.state NOT IN ('ok', 'empty') AND {}
"""
# A source's location and errors may hold anything, so only its state is told.
_SOURCES = """
SELECT b.slug, s.kind, s.state, s.last_sync_at FROM mailsearch_mailsource s
JOIN mailsearch_mailbox b ON b.id = s.mailbox_id WHERE s.mailbox_id = ANY(%s) AND s.tenant_id = %s ORDER BY b.slug, s.id
"""
_FRESH_SECONDS = 10.0
# Of one's time no more than this part goes to counting.
_SHARE = 0.02
_SCOPES_AT_MOST = 1_000
_Key = tuple[str, datetime | None]
# Until when counts are fresh, and the counts; and what is being counted anew.
_counted: dict[_Key, tuple[float, Coverage]] = {}
_counting: set[_Key] = set()


@dataclass(frozen=True, slots=True)
class Standing:
    """What a search needs to know of its scope first."""

    # When the newest mail in scope came into the index; None where there is none.
    indexed_until: datetime | None
    # What of its text the tenant lets go to models elsewhere.
    may_leave: str


async def of(scope: Scope) -> Coverage:
    """Counts over the scope alone, made anew when mail came in, and else when they are ten seconds old, or fifty times
    as old as counting takes.

    Counting touches every message of the scope: far more than a question costs otherwise. While one counts anew, others
    are told what was counted before.
    """
    async with scope.reading() as conn:
        known = await standing(conn, scope)
        key = (scope.version, known.indexed_until)
        fresh_until, coverage = _counted.get(key, (-math.inf, None))
        if coverage is not None and (time.monotonic() < fresh_until or key in _counting):
            return coverage
        _counting.add(key)
        try:
            return await _count_anew(conn, scope, known, key)
        finally:
            _counting.discard(key)


async def _count_anew(conn: AsyncConnection[TupleRow], scope: Scope, known: Standing, key: _Key) -> Coverage:
    began = time.monotonic()
    coverage = await _count(conn, scope, known)
    now = time.monotonic()
    if len(_counted) >= _SCOPES_AT_MOST:
        _counted.clear()
    _counted[key] = now + max(_FRESH_SECONDS, (now - began) / _SHARE), coverage
    return coverage


async def _count(conn: AsyncConnection[TupleRow], scope: Scope, known: Standing) -> Coverage:
    condition, values = scope.condition("m")
    model = configured_embedder(known.may_leave).name
    asked = [
        await conn.execute(sql.SQL(_MESSAGES).format(condition), values),
        await conn.execute(sql.SQL(_PASSAGES).format(condition), values | {"model": model}),
        await conn.execute(sql.SQL(_UNREAD).format(condition), values),
        await conn.execute(_SOURCES, [sorted(scope.mailboxes), scope.tenant]),
    ]
    sources = await asked.pop().fetchall()
    counted, passages, unread = [await cursor.fetchone() or (0, None, None) for cursor in asked]
    return Coverage(
        messages_in_scope=counted[0],
        received_from=counted[1],
        received_to=counted[2],
        indexed_until=known.indexed_until,
        embedded_share=round(passages[1] / passages[0], 3) if passages[0] else 1.0,
        attachments_unread=unread[0],
        sources=tuple(
            {
                "mailbox": mailbox,
                "kind": kind,
                "state": state,
                "last_sync_at": synced.isoformat() if synced else None,
            }
            for mailbox, kind, state, synced in sources
        ),
    )


async def standing(conn: AsyncConnection[TupleRow], scope: Scope) -> Standing:
    """How *scope* stands, in one trip to the database."""
    values = [bigints(scope.folder_ids), scope.received_from, scope.received_until]
    cursor = await conn.execute(_STANDING, values, prepare=True)
    row = await cursor.fetchone()
    assert row is not None  # the function always gives one
    return Standing(row[0], row[1] or "nothing")


async def may_leave(conn: AsyncConnection[TupleRow], scope: Scope) -> str:
    """What of its text the tenant lets go to models elsewhere."""
    cursor = await conn.execute("SELECT may_leave FROM mailsearch_tenant WHERE id = %s", [scope.tenant])
    row = await cursor.fetchone()
    return str(row[0]) if row else "nothing"
