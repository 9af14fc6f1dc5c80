"""Threads that were found to be one: their ids lead to each other."""

from collections.abc import Iterable

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

# The union of a recursive query drops rows it has seen, so a loop of merged threads ends.
_FAMILY = """
WITH RECURSIVE up AS (
    SELECT t.public_id AS asked, t.id, t.merged_into_id FROM mailsearch_thread t WHERE t.public_id = ANY(%(asked)s)
    UNION
    SELECT up.asked, t.id, t.merged_into_id FROM up JOIN mailsearch_thread t ON t.id = up.merged_into_id
), down AS (
    SELECT asked, id FROM up WHERE merged_into_id IS NULL
    UNION
    SELECT down.asked, t.id FROM down JOIN mailsearch_thread t ON t.merged_into_id = down.id
)
"""
_FAMILIES = sql.SQL("{} SELECT asked, id FROM down").format(sql.SQL(_FAMILY))
# Internal ids of the threads that belong to those called %(asked)s, as an expression.
FAMILY = sql.SQL("ARRAY({} SELECT id FROM down)").format(sql.SQL(_FAMILY))


async def families(conn: AsyncConnection[TupleRow], public_ids: Iterable[str]) -> dict[str, list[int]]:
    """For each public id of a thread of the tenant: the internal ids of it and of all threads merged with it."""
    cursor = await conn.execute(_FAMILIES, {"asked": named(public_ids)})
    found: dict[str, list[int]] = {}
    for asked, thread in await cursor.fetchall():
        found.setdefault(asked, []).append(thread)
    return found


def named(public_ids: Iterable[str]) -> list[str]:
    """Those of *public_ids* that may name something: Postgres might not even take the others."""
    return [one for one in public_ids if one.isascii() and "\0" not in one]
