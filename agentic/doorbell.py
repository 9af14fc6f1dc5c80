"""The doorbell of runs: whoever writes events rings it (`agentic.audit.RING`), and whoever waits for them is woken.

Who waits for what is kept and woken by django-eventstream, as for its own streams. Rings come by Postgres: one
connection of each event loop listens for all who wait there. A ring says only that there may be something new: who is
woken reads the table.
"""

import asyncio
import contextvars
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg
from django_eventstream.event import Event as Poke
from django_eventstream.views import Listener, get_listener_manager

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
    with _shared():
        listener = _Waiting(channel, wake)
        get_listener_manager().add_listener(listener)
        try:
            yield
        finally:
            get_listener_manager().remove_listener(listener)


class _Waiting(Listener):  # type: ignore[misc] # the library has no types
    """One who waits for a channel. A ring is all that it takes: what there is to tell, it reads."""

    def __init__(self, channel: str, wake: Wake) -> None:
        super().__init__()
        self.channels = {channel}
        self._wake = wake
        self.assign_loop()

    def wake_threadsafe(self) -> None:
        """Called by the library, which holds its lock, for each ring."""
        self.channel_items.clear()
        # A loop that has ended has nobody who waits.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._wake)


@dataclass(slots=True, eq=False)
class _Bell:
    """Of one event loop: how many need it."""

    users: int = 0

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
            for channel in list(get_listener_manager().listeners_by_channel):
                _ring(channel)
            async for notify in conn.notifies():
                _ring(notify.payload)


def _ring(channel: str) -> None:
    get_listener_manager().add_to_queues(channel, Poke(channel, "message", {}))


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
