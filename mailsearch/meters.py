"""What mail search counts while it works, for whoever reads the process's metrics. Labels are few and name nobody."""

import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec

from prometheus_client import Histogram

from mailsearch.hits import SearchResult

P = ParamSpec("P")
SEARCH_SECONDS = Histogram(
    "mailsearch_search_seconds",
    "Plain searches, also those inside of runs, by the mode that served them, or `failed`.",
    ["mode"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
POOL_WAIT_SECONDS = Histogram(
    "mailsearch_pool_wait_seconds",
    "How long a database session waited for a connection of its process's pool.",
    buckets=(0.001, 0.01, 0.1, 0.5, 1, 5, 30),
)


def measured(search: Callable[P, Awaitable[SearchResult]]) -> Callable[P, Awaitable[SearchResult]]:
    """*search*, with its calls counted and timed."""

    @wraps(search)
    async def timed(*args: P.args, **kwargs: P.kwargs) -> SearchResult:
        began, mode = time.perf_counter(), "failed"
        try:
            result = await search(*args, **kwargs)
            mode = result.mode
        finally:
            SEARCH_SECONDS.labels(mode).observe(time.perf_counter() - began)
        return result

    return timed
