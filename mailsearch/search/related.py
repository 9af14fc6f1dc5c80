"""What belongs to a message: its thread, mail among the same people at the time, and mail that says similar things."""

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from mailsearch.embeddings import configured_embedder
from mailsearch.hits import Hit
from mailsearch.scope import Scope
from mailsearch.search import semantic, showing
from mailsearch.search.coverage import may_leave
from mailsearch.search.folding import folded
from mailsearch.search.fusion import Ranking, fuse
from mailsearch.search.keyword import KeywordPlan
from mailsearch.search.narrowing import message_ids, whole

MOST_HITS = 100
_DEPTH = 100
_THREAD = """
WITH RECURSIVE up AS (
    SELECT t.id, t.merged_into_id FROM mailsearch_thread t
    WHERE t.id = (SELECT thread_id FROM mailsearch_message WHERE id = %(message)s)
    UNION SELECT t.id, t.merged_into_id FROM up JOIN mailsearch_thread t ON t.id = up.merged_into_id
), family AS (
    SELECT id FROM up UNION SELECT t.id FROM family JOIN mailsearch_thread t ON t.merged_into_id = family.id
)
SELECT m.id FROM mailsearch_message m, mailsearch_message origin
WHERE origin.id = %(message)s AND m.id <> origin.id AND m.thread_id IN (SELECT id FROM family) AND {}
ORDER BY abs(extract(epoch FROM m.received_at - origin.received_at)), m.id LIMIT %(limit)s
"""
# Within two weeks, those that share most people first; who is on both for all mail of the mailbox tells nothing, but
# then it is the time that decides.
_PEOPLE = """
SELECT m.id FROM mailsearch_message origin, mailsearch_message m
JOIN mailsearch_participant p ON p.message_id = m.id
WHERE origin.id = %(message)s AND m.id <> origin.id AND m.mailbox_id = ANY(%(mailboxes)s)
  AND m.received_at BETWEEN origin.received_at - interval '14 days' AND origin.received_at + interval '14 days'
  AND p.address <> ''
  AND p.address IN (SELECT o.address FROM mailsearch_participant o WHERE o.message_id = %(message)s)
  AND {}
GROUP BY m.id, m.received_at, origin.received_at
ORDER BY count(DISTINCT p.address) DESC, abs(extract(epoch FROM m.received_at - origin.received_at)), m.id
LIMIT %(limit)s
"""
_MEAN = "SELECT avg(v.embedding)::text FROM mailsearch_passagevector v WHERE v.message_id = %s AND v.model = %s"


async def find_related(scope: Scope, message_id: str, limit: int = 10) -> tuple[Hit, ...] | None:
    """Messages in scope that belong to this one, the most telling first; None where it can't be read.

    `found_by` says why: `thread`, `people`, `similar`.
    """
    async with scope.reading() as conn:
        origin = (await message_ids(conn, scope, [message_id])).get(message_id)
        if origin is None:
            return None
        thread = await _ids(conn, scope, _THREAD, origin)
        people = await _ids(conn, scope, _PEOPLE, origin)
        similar = [one for one in await _similar(conn, scope, origin) if one.message_id != origin]
        fused = fuse(
            [
                Ranking("thread", thread),
                Ranking("similar", [one.message_id for one in similar]),
                Ranking("people", people, 0.5),
            ]
        )
        found = await showing.candidates(conn, scope, [one.message_id for one in fused])
        page = folded((one.message_id for one in fused), found)[: max(1, min(limit, MOST_HITS))]
        ways = {one.message_id: one.found_by for one in fused}
        nearest = {one.message_id: one for one in similar}
        asked = await showing.ask(conn, scope, page, nearest)
    hits, _ = await showing.hits(asked, 0, ways, nearest, KeywordPlan())
    return hits


async def _ids(conn: AsyncConnection[TupleRow], scope: Scope, statement: str, origin: int) -> list[int]:
    condition, values = scope.condition("m")
    parameters = values | {"message": origin, "mailboxes": sorted(scope.mailboxes), "limit": _DEPTH}
    cursor = await conn.execute(sql.SQL(statement).format(condition), parameters)
    return [row[0] for row in await cursor.fetchall()]


async def _similar(conn: AsyncConnection[TupleRow], scope: Scope, origin: int) -> list[semantic.Nearest]:
    model = configured_embedder(await may_leave(conn, scope)).name
    cursor = await conn.execute(_MEAN, [origin, model])
    row = await cursor.fetchone()
    if row is None or row[0] is None:
        return []
    mean = [float(number) for number in row[0].strip("[]").split(",")]
    return await semantic.search(conn, scope, mean, model, whole(scope), depth=_DEPTH)
