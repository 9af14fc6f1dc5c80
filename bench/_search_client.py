"""A worker with clients: `python -m bench._search_client TENANT TERMS CLIENTS`, started by `bench._search_compare`.

Says what its first page took beside the same page later; then, when told on its standard input, lets its clients search
for some seconds, and says how many searches a second ended.
"""

import asyncio
import itertools
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence

import django

SECONDS = 4.0
_AGAIN = 9


async def _serve(tenant: str, terms: Sequence[str], clients: int) -> None:
    from asgiref.sync import sync_to_async

    from bench._search_store import scope_of
    from mailsearch.hits import SearchRequest
    from mailsearch.search import engine
    from mailsearch.sessions import pool

    scope = await sync_to_async(scope_of)(tenant)

    async def ask(term: str, mode: str = "keyword") -> float:
        began = time.perf_counter()
        await engine.search(scope, SearchRequest(term, mode="hybrid" if mode == "hybrid" else "keyword"), patience=60)
        return 1000 * (time.perf_counter() - began)

    async def client(number: int, until: float) -> int:
        asked = random.Random(number).sample(list(terms), len(terms))
        for done, term in enumerate(itertools.cycle(asked)):
            if time.perf_counter() > until:
                return done
            await ask(term)
        return 0

    async with pool():
        first = await ask(terms[0])
        again = [await ask(terms[0]) for _ in range(_AGAIN)]
        for term in terms:
            await ask(term)
        _tell({"first_ms": first, "warm_ms": statistics.median(again)})
        await asyncio.to_thread(sys.stdin.readline)
        until = time.perf_counter() + SECONDS
        done = await asyncio.gather(*(client(number, until) for number in range(clients)))
    _tell({"per_second": sum(done) / SECONDS})


def _tell(figures: dict[str, float]) -> None:
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def main(tenant: str, terms: str, clients: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")
    django.setup()
    from mailsearch import embeddings

    # As a worker does before it takes requests.
    embeddings.warm()
    asyncio.run(_serve(tenant, json.loads(terms), clients))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
