"""Start, execute, cancel: the one place where the loop meets the world.

A run is admitted and written down by `start`, then driven by `execute` in a task of its own that no connection holds.
Each event of the loop is recorded before the next is asked for. Only the run's end, a cancel, its budget or a
shutdown stops it.
"""

import asyncio
import contextvars
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import psycopg
from asgiref.sync import ThreadSensitiveContext
from structlog.contextvars import bound_contextvars

from agentic import finishing, verifiers
from agentic.admission import (
    Ask,
    IdempotencyConflict,
    Models,
    NotPermitted,
    Replayed,
    Started,
    TooManyRuns,
    start,
)
from agentic.audit import Recorder
from agentic.callers import Principal, scope_at_once
from agentic.core.events import Called, Event, Finished
from agentic.core.loop import Loop
from agentic.finishing import AuditUnavailable, close_left_over
from agentic.overhead import ENDING, READING, watch
from agentic.records import Record
from agentic.rows import Sheet
from agentic.starting import Opened
from agentic.tools import MailTools
from mailsearch.hits import Coverage
from mailsearch.models import Permission
from mailsearch.scope import Scope
from mailsearch.search import coverage
from mailsearch.sessions import Binding, piped, session

__all__ = [
    "Ask",
    "AuditUnavailable",
    "Driving",
    "IdempotencyConflict",
    "Models",
    "NotPermitted",
    "Replayed",
    "Started",
    "TooManyRuns",
    "begin",
    "cancel",
    "close_left_over",
    "drain",
    "execute",
    "in_time",
    "launch",
    "start",
    "wait",
]

# How often a run says that it lives, and looks whether it was cancelled.
_HEARTBEAT_SECONDS = 0.5
_log = logging.getLogger(__name__)
Driving: TypeAlias = "asyncio.Task[Record | None]"
_tasks: set[Driving] = set()
_beside: set[asyncio.Task[None]] = set()
Result = TypeVar("Result")


async def begin(principal: Principal, ask: Ask, answering: Models, began: float | None = None) -> Started | Replayed:
    """The same as `start` for a run that is launched at once: what happens first is written down with its head."""
    return await start(principal, ask, answering, began, _open)


async def _open(started: Started, sheet: Sheet) -> Opened:
    recorder = started.recorder
    recorder.sheet = sheet
    toolbox = _toolbox(started)
    loop = _loop(started, toolbox)
    batches = loop.batches()
    first = await anext(batches)
    if isinstance(first[-1], Finished):
        batches = _again(first)
    else:
        recorder.note_all(first)
        for call in (one for one in first if isinstance(one, Called)):
            toolbox.expect(started.scope, call.arguments)
    return Opened(loop, batches, recorder)


async def _again(batch: tuple[Event, ...]) -> AsyncGenerator[tuple[Event, ...], None]:
    yield batch


def launch(started: Started) -> Driving:
    """Drive the run in a task of its own, which outlives the request and inherits nothing from it."""
    task = asyncio.get_running_loop().create_task(execute(started), context=contextvars.Context())
    _tasks.add(task)
    task.add_done_callback(_ended)
    watch(lambda: bool(_own_tasks()))
    return task


def _ended(task: Driving) -> None:
    _tasks.discard(task)
    if not task.cancelled():
        # Read here, since nobody may wait any more. What it is was logged where it happened.
        task.exception()


def _own_tasks() -> set[Driving]:
    """Those of the running event loop."""
    loop = asyncio.get_running_loop()
    return {task for task in _tasks if task.get_loop() is loop}


async def wait(started: Started, task: Driving) -> Record | None:
    """Until the run ended, or must have: what `execute` gives. Leaving early does not stop it.

    Raises AuditUnavailable.
    """
    done, _ = await asyncio.wait({task}, timeout=max(0.0, started.moments.end - time.monotonic()))
    if not done:
        raise AuditUnavailable("the run's end was not written in time")
    return task.result()


async def in_time(started: Started, reading: Awaitable[Result]) -> Result:
    """What *reading* gives of a run that ended, where it comes within the run's seconds. Raises AuditUnavailable.

    *reading* does all that takes time before the response is sent: writing it out, too.
    """
    began = time.monotonic()
    task = asyncio.ensure_future(reading)
    try:
        async with asyncio.timeout_at(started.moments.response):
            read = await asyncio.shield(task)
    except TimeoutError as error:
        raise AuditUnavailable("the response could not be read in time") from error
    finally:
        READING.took(time.monotonic() - began)
        _leave(task)
    if time.monotonic() > started.moments.response:
        # What does not wait can't be stopped; that there is none is told in less time than a long response is sent.
        raise AuditUnavailable("the response was read too late")
    return read


def _leave(task: "asyncio.Future[Result]") -> None:
    """Wait for *task* no longer, nor for what it does when it is cancelled."""
    if not task.done():
        task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def execute(started: Started) -> Record | None:
    """Drive one run from its first event to its end. Raises AuditUnavailable if the end could not be written.

    Gives what is then on record for its caller; None where that must be looked up (`records.load`).
    """
    # Each line of the log that is written for the run names it.
    with bound_contextvars(run=started.public_id):
        return await _execute(started, started.recorder)


async def _execute(started: Started, recorder: Recorder) -> Record | None:
    async with ThreadSensitiveContext():
        try:
            async with asyncio.timeout_at(started.moments.end):
                return await _drive(started, recorder)
        except asyncio.CancelledError:
            await asyncio.shield(finishing.close_quietly(recorder, "interrupted", "interrupted"))
            raise
        except (psycopg.Error, TimeoutError, AuditUnavailable) as error:
            _log.warning("the end of run %s could not be written: %s", started.public_id, type(error).__name__)
            await finishing.close_quietly(recorder, "interrupted", "audit_unavailable")
            raise AuditUnavailable("the run's end could not be written") from error
        except Exception:  # noqa: BLE001 - the run's boundary: whatever happened, it ends with an outcome on record
            _log.exception("run %s failed", started.public_id)
            await finishing.close_quietly(recorder, "finished", "internal")
            return None


async def cancel(principal: Principal, public_id: str) -> bool:
    """Ask for the end of the caller's own run. False if the caller has no such run; one that ended stays as it is."""
    async with session(Binding(audit=frozenset({principal.tenant}))) as conn:
        cursor = await conn.execute(
            "UPDATE agentic_runstate SET cancel_requested = true"
            " WHERE run_id = (SELECT id FROM agentic_run WHERE public_id = %s AND tenant_id = %s AND caller = %s)"
            " RETURNING run_id",
            (public_id, principal.tenant, principal.caller),
        )
        return await cursor.fetchone() is not None


async def drain(seconds: float = 125.0) -> None:
    """Let the runs of this process end within their budgets; stop those that have not after *seconds*."""
    tasks = _own_tasks()
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=seconds)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late, timeout=5)


async def _drive(started: Started, recorder: Recorder) -> Record | None:
    verifiers.warm()
    loop, batches = _begun(started)
    over = asyncio.Event()
    _aside(_pulse(recorder, loop, over))
    searching = asyncio.Event()
    counted = asyncio.create_task(_counted(started.scope, searching))
    try:
        last = await _record_all(batches, loop, recorder, searching)
        searching.set()
        began = time.monotonic()
        try:
            return await finishing.finish(
                started.principal, started.scope, started.question.text, recorder, last, await counted
            )  # fmt: skip
        finally:
            ENDING.took(time.monotonic() - began)
    finally:
        # Not cancelled: where it just writes it soon ends, and its connection serves the next one.
        over.set()
        counted.cancel()
        # What is deaf to being cancelled holds up nobody.
        _aside(batches.aclose())


def _begun(started: Started) -> tuple[Loop, AsyncGenerator[tuple[Event, ...], None]]:
    """The run's loop, and what of it is still to be written down."""
    if started.opened is not None:
        return started.opened.loop, started.opened.batches
    loop = _loop(started, _toolbox(started))
    return loop, loop.batches()


def _aside(doing: Coroutine[Any, Any, None]) -> None:
    """Have something done for which nobody waits."""
    _beside.add(task := asyncio.create_task(doing))
    task.add_done_callback(_beside.discard)


async def _counted(scope: Scope, after: asyncio.Event) -> Coverage:
    """The counts of *scope*. They are needed at the end alone, so the first search is not to wait beside them."""
    await after.wait()
    return await coverage.of(scope)


async def _record_all(
    batches: AsyncGenerator[tuple[Event, ...], None], loop: Loop, recorder: Recorder, begun: asyncio.Event
) -> Sequence[Event]:
    """Record all that happens but the last batch, which is written with the run's end. Once any is, it has *begun*."""
    last: Sequence[Event] = ()
    async for last in batches:
        if isinstance(last[-1], Finished):
            break
        await recorder.record(last)
        begun.set()
        if recorder.cancelled:
            loop.cancel()
    return last


def _toolbox(started: Started) -> MailTools:
    async def now() -> Scope:
        # The run never reads more than it began with, whatever was granted since.
        return started.scope & await scope_at_once(started.principal, Permission.SEARCH_AGENTIC)

    return MailTools(now, started.question)


def _loop(started: Started, toolbox: MailTools) -> Loop:
    return Loop(
        started.question,
        started.models.answering,
        toolbox,
        started.limits,
        fallback=started.models.fallback,
        judged=started.policy.model_judge and started.models.chat,
        read_threads=toolbox.threads,
        ruler=verifiers.rule,
        overhead_seconds=started.moments.overhead,
        spent_seconds=time.monotonic() - started.began,
    )


async def _pulse(recorder: Recorder, loop: Loop, over: asyncio.Event) -> None:
    """Keep the lease while the model thinks, and end the run soon after somebody cancelled it."""
    while not recorder.cancelled:
        with suppress(TimeoutError):
            async with asyncio.timeout(_HEARTBEAT_SECONDS):
                await over.wait()
                return
        try:
            async with piped(recorder.binding) as conn:
                renewed = await recorder.renew(conn)
            await recorder.heed(renewed)
        except psycopg.Error:
            # The next event's row will tell whether the database is gone for good.
            continue
    loop.cancel()
