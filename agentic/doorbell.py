"""The doorbell of runs: whoever writes events rings it (`agentic.audit.ring`), and whoever waits for them is woken.

One connection of each event loop listens for all who wait there. A ring says only that there may be something new:
who is woken reads the table.
"""

import asyncio
import contextvars
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from agentic.audit import DOORBELL
from mailsearch.sessions import dsn

_LISTEN_AGAIN_SECONDS = 0.5
Wake = Callable[[], None]


@contextmanager
def listening() -> Iterator[None]:
    """Within this block the running event loop hears the doorbell; all blocks of a loop share one connection."""
    with _shared():
        yield


@contextmanager
def heard(channel: str, wake: Wake) -> Iterator[None]:
    """Within this block *wake* is called whenever it rings for *channel* (`audit.channel`), or may have unheard.

    It is called in the running event loop.
    """
    with _shared() as bell:
        bell.waiting.setdefault(channel, []).append(wake)
        try:
            yield
        finally:
            bell.waiting[channel].remove(wake)
            if not bell.waiting[channel]:
                del bell.waiting[channel]


@dataclass(slots=True, eq=False)
class _Bell:
    """Of one event loop: how many need it, and by channel whom to wake."""

    users: int = 0
    waiting: dict[str, list[Wake]] = field(default_factory=dict)

    async def listen(self) -> None:
        while True:
            try:
                await self._listen_while_connected()
            except psycopg.OperationalError:
                await asyncio.sleep(_LISTEN_AGAIN_SECONDS)

    async def _listen_while_connected(self) -> None:
        async with await psycopg.AsyncConnection.connect(dsn(), autocommit=True) as conn:
            await conn.execute(f"LISTEN {DOORBELL}")
            # Whatever was written while nobody listened.
            for channel in list(self.waiting):
                self._ring(channel)
            async for notify in conn.notifies():
                self._ring(notify.payload)

    def _ring(self, channel: str) -> None:
        for wake in list(self.waiting.get(channel, ())):
            wake()


_bells: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[_Bell, asyncio.Task[None]]]"
_bells = weakref.WeakKeyDictionary()


@contextmanager
def _shared() -> Iterator[_Bell]:
    loop = asyncio.get_running_loop()
    if loop not in _bells:
        bell = _Bell()
        # A context of its own: it outlives whoever came first.
        _bells[loop] = bell, loop.create_task(bell.listen(), context=contextvars.Context())
    bell, task = _bells[loop]
    bell.users += 1
    try:
        yield bell
    finally:
        bell.users -= 1
        if not bell.users:
            del _bells[loop]
            task.cancel()
