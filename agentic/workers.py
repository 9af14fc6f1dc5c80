"""Django's ORM from async code: each call in a worker, which gives its connection back when the call ends."""

import asyncio
import contextvars
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
Result = TypeVar("Result")


async def in_worker(function: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """Call *function* in a worker of the event loop's own pool.

    Workers are shared by all runs and requests, unlike those of `sync_to_async`, of which every request has one; so a
    stream that stays open for hours holds none, and a run's parallel calls do not wait for each other.
    """
    call = partial(contextvars.copy_context().run, _with_connection_given_back, partial(function, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(None, call)


def _with_connection_given_back(call: Callable[[], Result]) -> Result:
    try:
        return call()
    finally:
        close_old_connections()
