"""Mail as a list: the newest first, page by page, in an order that arrivals do not disturb."""

from dataclasses import dataclass
from datetime import datetime

from psycopg import sql
from psycopg.types.json import Jsonb

from mailsearch.hits import Filters, MessageHead
from mailsearch.scope import Scope
from mailsearch.search import heads
from mailsearch.search.narrowing import Narrowing, narrow
from mailsearch.search.paging import decode_place, encode_place

MOST = 100
_LISTED = "SELECT m.id, m.received_at, m.public_id FROM mailsearch_message m WHERE {} ORDER BY {} LIMIT %(limit)s"
# Newest first; where two arrived at one moment, their public ids decide, which say nothing of other mail.
_ORDER = sql.SQL("m.received_at DESC, m.public_id DESC")
_AFTER = sql.SQL("(m.received_at, m.public_id) < (%(moment)s, %(last)s)")
# What a filter adds, by the name that `narrow` gives it.
_CONDITIONS = {
    "folders": sql.SQL("m.folder_id = ANY(%(folders)s)"),
    "threads": sql.SQL("m.thread_id = ANY(%(threads)s)"),
    "messages": sql.SQL("m.id = ANY(%(messages)s)"),
    "after": sql.SQL("coalesce(m.sent_at, m.received_at) >= %(after)s"),
    "before": sql.SQL("coalesce(m.sent_at, m.received_at) < %(before)s"),
    "has_attachment": sql.SQL("(m.attachment_count > 0) = %(has_attachment)s"),
    "unread": sql.SQL("(m.flags && ARRAY['\\Seen', 'seen', 'S']::varchar[]) <> %(unread)s"),
    "larger": sql.SQL("m.size > %(larger)s"),
    "people": sql.SQL(
        "NOT EXISTS (SELECT FROM jsonb_array_elements(%(people)s::jsonb) AS g WHERE NOT EXISTS ("
        "SELECT FROM mailsearch_participant p, jsonb_array_elements_text(g -> 'any') AS part"
        " WHERE p.message_id = m.id AND g -> 'roles' ? p.role AND position(part IN p.folded) > 0))"
    ),
    "subjects": sql.SQL(
        "NOT EXISTS (SELECT FROM jsonb_array_elements(%(subjects)s::jsonb) AS g WHERE NOT EXISTS ("
        "SELECT FROM jsonb_array_elements_text(g) AS part WHERE position(part IN m.subject_folded) > 0))"
    ),
    "filenames": sql.SQL(
        "NOT EXISTS (SELECT FROM jsonb_array_elements(%(filenames)s::jsonb) AS g WHERE NOT EXISTS ("
        "SELECT FROM mailsearch_attachment a, jsonb_array_elements_text(g) AS part"
        " WHERE a.message_id = m.id AND position(part IN a.filename_folded) > 0))"
    ),
}
_AS_JSON = ("people", "subjects", "filenames")


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of a list, and the cursor of the next; None where there is none."""

    heads: tuple[MessageHead, ...]
    next_cursor: str | None
    # Filters that name nothing in scope, as `operator:value`.
    refused: tuple[str, ...] = ()


async def messages(scope: Scope, filters: Filters, limit: int = 20, cursor: str = "") -> MessagePage:
    """At most *limit* messages in scope that pass *filters*, the newest arrival first.

    A page begins after the last message of the page before, so mail that arrives meanwhile shifts nothing. A filter
    that names nothing in scope leaves nothing. Raises InvalidCursor.
    """
    start = decode_place(cursor)
    async with scope.reading() as conn:
        narrowing = await narrow(conn, scope, [filters])
        if scope.empty or narrowing.leaves_nothing:
            return MessagePage((), None, tuple(narrowing.refused))
        statement, values = _statement(scope, narrowing, start)
        limit = max(1, min(limit, MOST))
        rows = await (await conn.execute(statement, values | {"limit": limit + 1})).fetchall()
        shown = rows[:limit]
        found = await heads.load(conn, scope, [row[0] for row in shown])
    more = encode_place(shown[-1][1], shown[-1][2]) if len(rows) > limit else None
    return MessagePage(tuple(found[row[0]] for row in shown if row[0] in found), more)


def _statement(
    scope: Scope, narrowing: Narrowing, start: tuple[datetime, str] | None
) -> tuple[sql.Composed, dict[str, object]]:
    condition, values = scope.condition("m")
    parts: list[sql.Composable] = [condition]
    for name, added in _CONDITIONS.items():
        if name in narrowing.values:
            parts.append(added)
            value = narrowing.values[name]
            values[name] = Jsonb(value) if name in _AS_JSON else value
    if start is not None:
        parts.append(_AFTER)
        values |= {"moment": start[0], "last": start[1]}
    return sql.SQL(_LISTED).format(sql.SQL(" AND ").join(parts), _ORDER), values
