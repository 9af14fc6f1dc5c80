"""What searches cost and find over a store of many messages: `python -m bench._searching FOLDER MESSAGES [words]`.

A process by itself, so that it has settings of its own. With `words` only keyword search is measured, and no vector
made. The store is made where it is missing; `bench._search_store` says what is in it.
"""

import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import psycopg

from bench._asking import serving
from bench._importing import _server_seconds as server_seconds

LARGEST = "large"
_TERMS, _WARMING = 40, 4
# Shares of the messages in scope that hold a term; what is rare is told by their number.
_CLASSES = {"rare": (0.0, 0.0), "medium": (0.001, 0.01), "common": (0.1, 0.6)}
_RARE = (1, 5)
_SHORTEST = 4

Find = Callable[[str], Awaitable[int]]


def main(folder: Path, messages: int, *, words_alone: bool) -> None:
    with serving() as server:
        from bench import _search_compare, _search_meaning, _search_store

        owner = server.conninfo(os.environ["PM_DATABASE_NAME"])
        began = time.perf_counter()
        if not (folder / "stored").exists():
            _search_store.take_real_mail()
            _search_store.take_recombined_mail(messages)
            if not words_alone:
                _search_store.embed(owner, folder.parent / "vectors.npz")
            (folder / "stored").touch()
        figures: dict[str, object] = {"stored_seconds": round(time.perf_counter() - began, 1)}
        terms = dict(_terms(owner))
        figures |= asyncio.run(_keyword(terms, owner, server.data))
        figures |= {"clients": _search_compare.clients(LARGEST, terms)}
        if not words_alone:
            figures |= asyncio.run(_search_meaning.measure(owner))
    sys.stdout.write(json.dumps(figures) + "\n")


def _terms(owner: str) -> Iterator[tuple[str, list[str]]]:
    """Words of each class: plain words that stand in the largest tenant's mail in so many messages."""
    with psycopg.connect(owner) as conn:
        rows = conn.execute(
            "SELECT c.lexeme, sum(c.documents)::integer FROM mailsearch_termcount c"
            " JOIN mailsearch_tenant t ON t.id = c.tenant_id WHERE t.slug = %s AND (c.lexeme = '' OR"
            " (c.lexeme ~ '^[a-z]+$' AND length(c.lexeme) >= %s AND ts_lexize('english_stem', c.lexeme) <> '{}'"
            "  AND ts_lexize('german_stem', c.lexeme) <> '{}' AND ts_lexize('french_stem', c.lexeme) <> '{}'))"
            " GROUP BY 1 ORDER BY 1",
            [LARGEST, _SHORTEST],
        ).fetchall()
    counts: dict[str, int] = dict(rows)
    whole = counts.pop("")
    draw = random.Random(7)
    for name, (low, high) in _CLASSES.items():
        least, most = (low * whole, high * whole) if high else _RARE
        found = [word for word, documents in counts.items() if least <= documents <= most]
        yield name, draw.sample(found, min(len(found), _TERMS + _WARMING))


async def _keyword(terms: dict[str, list[str]], owner: str, data: Path) -> dict[str, object]:
    """For each class of terms, our first page beside tantivy's, one after the other for each term."""
    from asgiref.sync import sync_to_async

    from bench import _search_compare, _search_store
    from bench._tantivy import Index
    from mailsearch.hits import SearchRequest
    from mailsearch.search import engine
    from mailsearch.sessions import pool

    scope = await sync_to_async(_search_store.scope_of)(LARGEST)
    documents = _search_compare.documents(owner, LARGEST)
    index = Index(documents)

    async def ours(term: str) -> int:
        return (await engine.search(scope, SearchRequest(term, mode="keyword", limit=20))).total

    async def page(term: str) -> int:
        return len(index.page(term))

    async def bare(term: str) -> int:
        return index.find(term)

    found: dict[str, object] = {"in_scope": len(documents)}
    async with pool():
        for name, some in terms.items():
            found[name] = await _class(some, {"ours": ours, "tantivy_page": page, "tantivy_ids": bare}, data)
    found["row_level_security"] = await _search_compare.row_level_security(scope, terms, owner)
    return found


async def _class(terms: Sequence[str], ways: dict[str, Find], data: Path) -> dict[str, object]:
    """Median milliseconds of each way by wall clock, and mean processor milliseconds, the server's included."""
    from mailsearch.search import vocabulary

    # Where there are few such terms, they are asked for again.
    measured = list(terms[_WARMING:] or terms)
    asked = measured * max(1, round(_TERMS / len(measured)))
    # What is in tantivy's memory from the start Postgres reads when it is first asked for. Words that the process has
    # learnt meanwhile it is to learn again.
    for way in ways.values():
        for term in [*measured, *terms[:_WARMING]]:
            await way(term)
    vocabulary._known.clear()
    took: dict[str, list[float]] = {name: [] for name in ways}
    used = dict.fromkeys(ways, 0.0)
    for term in asked:
        for name, way in ways.items():
            began, processor = time.perf_counter(), time.process_time()
            await way(term)
            took[name].append(1000 * (time.perf_counter() - began))
            used[name] += time.process_time() - processor
    server = server_seconds(data)
    totals = [await ways["ours"](term) for term in asked]
    server = server_seconds(data) - server
    figures: dict[str, object] = {"terms": len(set(asked)), "found": statistics.median(totals)}
    for name in ways:
        processor_ms = 1000 * (used[name] + (server if name == "ours" else 0.0)) / len(asked)
        figures[name] = {"p50_ms": round(statistics.median(took[name]), 3), "processor_ms": round(processor_ms, 3)}
    return figures


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), words_alone="words" in sys.argv[3:])
