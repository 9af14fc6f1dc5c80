"""Calls that are under way: started, waited for until a moment, and stopped when the run is over or cancelled."""

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, TypeVar

from agentic.core.budget import Clock

Result = TypeVar("Result")

# A call that does not let itself be cancelled must not hold up the response.
_PATIENCE_SECONDS = 0.1


class InFlight:
    """The tasks of one run. `stop` wakes whoever waits; `abandon` cancels them, and `close` leaves none behind."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stop = asyncio.Event()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask for the end of the run. Call it in the thread of the run's event loop."""
        self._stop.set()

    def start(self, call: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Begin *call* now."""
        task = asyncio.create_task(call)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def wait_any(self, tasks: Collection[asyncio.Task[Any]], until: float) -> bool:
        """Wait for one of *tasks*. False where the run was stopped or the moment *until* passed first."""
        if any(task.done() for task in tasks):
            return True
        stop = self.start(self._stop.wait())
        try:
            timeout = max(0.0, until - self._clock())
            await asyncio.wait({*tasks, stop}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        return any(task.done() for task in tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # Read, so that nobody reports a fault of a call that no longer matters.
        _ = task.cancelled() or task.exception()

    def give_up(self, task: asyncio.Task[Any]) -> None:
        """Cancel *task*, once: one that is on its way out would be disturbed in it, as in leaving a database."""
        if not task.cancelling():
            task.cancel()

    def abandon(self) -> None:
        """Cancel what is still under way, and wait for nothing."""
        for task in set(self._tasks):
            self.give_up(task)

    async def close(self) -> None:
        """Cancel what is still under way and let it end."""
        self.abandon()
        tasks = set(self._tasks)
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=_PATIENCE_SECONDS)
            for task in left:
                task.cancel()
