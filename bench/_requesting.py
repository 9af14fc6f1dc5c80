"""Requests to one worker over a folder of mail: `python -m bench._requesting FOLDER`. A process by itself."""

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import psycopg

from bench._serving import database, worker

REQUESTS, WARM = 300, 30


def _prepare(folder: Path) -> tuple[str, list[str], int]:
    """A key that reads one of two mailboxes, queries of one to three words of its subjects, and how much mail it is."""
    from agentic.callers import Access, create_key
    from mailsearch.ingest import pipeline
    from mailsearch.ingest.sources import open_source
    from mailsearch.models import Mailbox, Message, Permission, Tenant
    from mailsearch.sessions import Binding, bound

    tenant = Tenant.objects.create(slug="bench", name="Benchmark")
    mailbox = Mailbox.objects.create(tenant=tenant, slug="all")
    Mailbox.objects.create(tenant=tenant, slug="other")
    summary = pipeline.ingest(open_source(folder), mailbox=mailbox, read_attachments=False)
    with bound(Binding(tenant.pk, frozenset([mailbox.pk]))):
        subjects = Message.objects.exclude(subject="").values_list("subject", flat=True).distinct()[:500]
        words = sorted({word for subject in subjects for word in subject.split() if len(word) > 3})
    draw = random.Random(7)
    queries = [" ".join(draw.sample(words, draw.randint(1, 3))) for _ in range(REQUESTS + WARM)]
    _, token = create_key(tenant, "bench", Access((Permission.SEARCH_READ,), mailboxes=(mailbox,)))
    return token, queries, summary.new


def _timed(send: Callable[[], httpx.Response]) -> float:
    began = time.perf_counter()
    response = send()
    assert response.status_code in (200, 204), response.text
    return 1000 * (time.perf_counter() - began)


def _measure(client: httpx.Client, queries: Sequence[str]) -> dict[str, float]:
    searches, nothing = [], []
    for query in queries:
        body = {"query": query, "mode": "keyword"}
        nothing.append(_timed(lambda: client.options("/v1/search")))
        searches.append(_timed(lambda body=body: client.post("/v1/search", json=body)))  # type: ignore[misc]
    # The first ones load what a worker needs.
    searches, nothing = searches[WARM:], nothing[WARM:]
    p95 = [statistics.quantiles(one, n=100)[94] for one in (searches, nothing)]
    p50 = [statistics.median(one) for one in (searches, nothing)]
    return {
        "requests": len(searches),
        "search_p50_ms": round(p50[0], 2),
        "search_p95_ms": round(p95[0], 2),
        "noop_p50_ms": round(p50[1], 2),
        "noop_p95_ms": round(p95[1], 2),
        "ratio": round(p95[0] / p95[1], 2),
        "ratio_p50": round(p50[0] / p50[1], 2),
    }


def main(folder: str) -> None:
    with database() as administrator:
        token, queries, messages = _prepare(Path(folder))
        # As autovacuum does a minute after an import.
        with psycopg.connect(administrator, autocommit=True) as conn:
            conn.execute("VACUUM ANALYZE")
        with (
            worker() as host,
            httpx.Client(base_url=host.url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client,
        ):
            figures = _measure(client, queries)
    sys.stdout.write(json.dumps({"messages": messages, **figures}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
