"""Semantic search: the passages whose embedding is nearest to the query's.

In small scopes every passage is compared; above, the index is asked, and if it brings fewer than there are, every
passage after all. Only vectors of the current model are compared.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from mailsearch.scope import Scope
from mailsearch.search.narrowing import Narrowing

# Passages up to which comparing all of them is as quick as the index (some 15 ms) and never misses.
EXACT_UP_TO = 20_000
INDEXED_DIMENSIONS = frozenset({384, 512, 768, 1024, 1536})
# Messages have several passages, and near passages come in groups.
_PASSAGES_A_MESSAGE = 4
# The index says itself when it has brought enough messages; so many passages of each are more than there are.
_MOST_OF_A_MESSAGE = 20
# Seconds for which a scope that was small is still small. The decision is about cost alone.
_FRESH_SECONDS = 60.0
_SCOPES_AT_MOST = 1_000
_NEAREST = """
SELECT m.id, p.attachment_id, p.start, p.end, 1 - n.distance
FROM mail_search.nearest(%(narrow)s, %(model)s, %(embedding)s, %(limit)s, %(depth)s, %(exact)s) AS n
JOIN mailsearch_message m ON m.id = n.message_id JOIN mailsearch_passage p ON p.id = n.passage_id
WHERE {} ORDER BY round(n.distance::numeric, 4), m.received_at DESC, m.id DESC, p.id
"""
_small: dict[tuple[frozenset[int], str, int], tuple[float, bool]] = {}


@dataclass(frozen=True, slots=True)
class Nearest:
    """A message with its passage that is nearest to the query: part, and offsets into its text."""

    message_id: int
    # Internal id; None for the body.
    attachment_id: int | None
    start: int
    end: int
    # Cosine of the angle between the two embeddings.
    similarity: float


async def search(
    conn: AsyncConnection[TupleRow],
    scope: Scope,
    embedding: Sequence[float],
    model: str,
    narrowing: Narrowing,
    *,
    depth: int,
    exact_up_to: int = EXACT_UP_TO,
) -> list[Nearest]:
    """At most *depth* messages, the nearest first; as many as there are, if fewer.

    Scopes whose mailboxes hold at most *exact_up_to* passages are compared passage by passage.
    """
    exact = len(embedding) not in INDEXED_DIMENSIONS or await _is_small(conn, scope, model, exact_up_to)
    if not exact:
        limit = depth * _MOST_OF_A_MESSAGE
        found, _ = await _nearest(conn, scope, embedding, model, narrowing, limit, depth, exact=False)
        if len(found) >= depth:
            return found[:depth]
    limit = depth * _PASSAGES_A_MESSAGE
    while True:
        found, passages = await _nearest(conn, scope, embedding, model, narrowing, limit, depth, exact=True)
        if len(found) >= depth or passages < limit:
            return found[:depth]
        limit *= 8


async def _is_small(conn: AsyncConnection[TupleRow], scope: Scope, model: str, most: int) -> bool:
    """Whether the scope's mailboxes hold at most *most* passages, or did a minute ago: counting them takes a while."""
    key = (scope.mailboxes, model, most)
    moment, small = _small.get(key, (-math.inf, False))
    if time.monotonic() - moment > _FRESH_SECONDS:
        small = await _count_at_most(conn, scope, model, most)
        if len(_small) >= _SCOPES_AT_MOST:
            _small.clear()
        _small[key] = time.monotonic(), small
    return small


async def _count_at_most(conn: AsyncConnection[TupleRow], scope: Scope, model: str, most: int) -> bool:
    cursor = await conn.execute(
        "SELECT count(*) FROM (SELECT FROM mailsearch_passagevector"
        " WHERE mailbox_id = ANY(%s) AND model = %s LIMIT %s) AS found",
        [sorted(scope.mailboxes), model, most + 1],
    )
    row = await cursor.fetchone()
    return row is None or int(row[0]) <= most


async def _nearest(
    conn: AsyncConnection[TupleRow],
    scope: Scope,
    embedding: Sequence[float],
    model: str,
    narrowing: Narrowing,
    limit: int,
    depth: int,
    *,
    exact: bool,
) -> tuple[list[Nearest], int]:
    statement, values = scope.statement(_NEAREST)
    parameters = {
        "narrow": narrowing.parameter,
        "model": model,
        "embedding": vector_literal(embedding),
        "limit": limit,
        "depth": depth,
        "exact": exact,
    }
    cursor = await conn.execute(statement, values | parameters)
    rows = await cursor.fetchall()
    best: dict[int, Nearest] = {}
    for row in rows:
        best.setdefault(row[0], Nearest(*row))
    return list(best.values()), len(rows)


def vector_literal(embedding: Sequence[float]) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(map(repr, map(float, embedding))) + "]"
