"""What keyword search is held against: the same without row-level security, more clients than one, a new process."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from bench._tantivy import Document
from mailsearch.scope import Scope
from mailsearch.search import keyword
from mailsearch.search.lexemes import cut
from mailsearch.search.narrowing import whole
from mailsearch.search.query import parse

CLIENTS = 8
_PROCESSES = 2
_PROJECT = Path(__file__).resolve().parents[1]
_DOCUMENTS = """
SELECT m.public_id, m.subject, (SELECT coalesce(string_agg(p.name || ' ' || p.address, ' '), '')
                                FROM mailsearch_participant p WHERE p.message_id = m.id), m.body_text,
    (SELECT coalesce(string_agg(a.filename || ' ' || a.text, ' '), '')
     FROM mailsearch_attachment a WHERE a.message_id = m.id)
FROM mailsearch_message m JOIN mailsearch_tenant t ON t.id = m.tenant_id
WHERE t.slug = %s AND NOT m.quarantined AND m.deleted_at_source IS NULL
"""
# What the search function does, with the scope in the WHERE of somebody whom no policy binds.
_PLAIN = """
WITH found AS MATERIALIZED (
    SELECT m.id, m.received_at FROM mailsearch_searchdocument d JOIN mailsearch_message m ON m.id = d.message_id
    WHERE d.words @@ %(strict)s::tsquery AND m.tenant_id = %(tenant)s AND m.mailbox_id = ANY(%(mailboxes)s)
      AND NOT m.quarantined AND m.deleted_at_source IS NULL AND m.folder_id = ANY(%(folders)s)
    ORDER BY m.received_at DESC, m.id DESC LIMIT %(cap)s
)
SELECT f.id, ts_rank('{0.15, 0.5, 0.5, 0.7}', d.words, %(strict)s::tsquery) AS score, count(*) OVER ()
FROM found f JOIN mailsearch_searchdocument d ON d.message_id = f.id
ORDER BY score DESC, f.received_at DESC, f.id DESC LIMIT %(depth)s
"""
_DEPTH = 200


def documents(owner: str, tenant: str) -> list[Document]:
    """All messages of a tenant, as another index may take them."""
    with psycopg.connect(owner) as conn:
        return [Document(*row) for row in conn.execute(_DOCUMENTS, [tenant]).fetchall()]


async def row_level_security(scope: Scope, terms: Mapping[str, Sequence[str]], owner: str) -> Mapping[str, object]:
    """Median milliseconds of the ranking statement, as the application asks it and as a plain WHERE of the owner."""
    figures: dict[str, object] = {}
    with psycopg.connect(owner, autocommit=True, prepare_threshold=None) as plain:
        for name, some in terms.items():
            took = [await _secured_and_plain(scope, term, plain) for term in some]
            mine, theirs = (statistics.median(side) for side in zip(*took, strict=True))
            ratio = round(mine / theirs, 2)
            figures[name] = {"secured_ms": round(mine, 2), "plain_ms": round(theirs, 2), "ratio": ratio}
    return figures


async def _secured_and_plain(scope: Scope, term: str, plain: psycopg.Connection[TupleRow]) -> tuple[float, float]:
    """Milliseconds of each way to ask for *term*, each asked once before."""
    async with scope.reading() as conn:
        plan, _ = await keyword.plan(conn, scope, cut(parse(term, datetime.now(UTC))))
        for _ in range(2):
            began = time.perf_counter()
            hits = await keyword.search(conn, scope, plan, whole(scope), depth=_DEPTH)
            secured = 1000 * (time.perf_counter() - began)
    values = {
        "strict": plan.strict, "tenant": scope.tenant, "mailboxes": sorted(scope.mailboxes),
        "folders": scope.folder_ids, "cap": keyword.CAP, "depth": _DEPTH,
    }  # fmt: skip
    for _ in range(2):
        began = time.perf_counter()
        rows = plain.execute(_PLAIN, values).fetchall()
        open_ = 1000 * (time.perf_counter() - began)
    if len(rows) != len(hits.message_ids):
        raise RuntimeError(f"The two ways to ask for {term} found {len(hits.message_ids)} and {len(rows)}.")
    return secured, open_


def clients(tenant: str, terms: Mapping[str, Sequence[str]]) -> Mapping[str, object]:
    """Searches a second of one client and of eight, spread over as many processes as a small machine has cores."""
    asked = [term for some in terms.values() for term in some]
    one = _together(tenant, asked, [1])
    many = _together(tenant, asked, [CLIENTS // _PROCESSES] * _PROCESSES)
    rate = {"one": sum(found["per_second"] for found in one), "many": sum(found["per_second"] for found in many)}
    started = [*one, *many]
    return {
        "clients": CLIENTS,
        "processes": _PROCESSES,
        "one_per_second": round(rate["one"], 1),
        "many_per_second": round(rate["many"], 1),
        "ratio_by_core": round(rate["many"] / rate["one"] / _PROCESSES, 2),
        "first_page_ms": round(statistics.median(found["first_ms"] for found in started), 1),
        "warm_page_ms": round(statistics.median(found["warm_ms"] for found in started), 1),
        "cold_ratio": round(statistics.median(found["first_ms"] / found["warm_ms"] for found in started), 2),
    }


def _together(tenant: str, asked: Sequence[str], counts: Sequence[int]) -> list[dict[str, Any]]:
    """What processes with so many clients each found out, all searching at the same time."""
    command = [sys.executable, "-m", "bench._search_client", tenant, json.dumps(list(asked))]
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [*command, str(count)], cwd=_PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for count in counts
        ]
        # Each says when it is ready, and begins when it is told to.
        told = [json.loads(_pipe(one.stdout).readline()) for one in started]
        for one in started:
            _pipe(one.stdin).write("go\n")
            _pipe(one.stdin).flush()
        return [told[n] | json.loads(_pipe(one.stdout).readline()) for n, one in enumerate(started)]


def _pipe(stream: Any) -> Any:
    assert stream is not None
    return stream
