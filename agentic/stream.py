"""A run's events as a stream (SSE): what has happened, then what happens, until `done`.

django-eventstream follows; the rows of the trace are its storage. Whoever writes a row rings the doorbell
(`pg_notify`), one connection of each worker listens, and the library then reads on from the last row that it had. It
is given row numbers only: what a reader sees of a row is rendered here, with the reader's rights of that moment.
"""

import asyncio
import contextvars
import json
import re
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import psycopg
from asgiref.sync import SyncToAsync, sync_to_async
from django.conf import settings
from django.db import close_old_connections, connections
from django.db.models import Max, QuerySet
from django_eventstream.channelmanager import ChannelManagerBase
from django_eventstream.event import Event as Poke
from django_eventstream.eventrequest import EventRequest
from django_eventstream.storage import StorageBase
from django_eventstream.views import Listener, get_listener_manager
from django_eventstream.views import stream as library_stream

from agentic import audit, meters, records, responses
from agentic.callers import Principal, current
from agentic.models import Run, TraceEvent
from agentic.records import Record
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound, dsn

HEARTBEAT = ": heartbeat\n\n"
_LISTEN_AGAIN_SECONDS = 0.5
_NUMBER = re.compile(r"^id: [^\n]*:([0-9]+)$", re.MULTILINE)
_LAST_ID = re.compile(r"(?:(run_[A-Za-z0-9]{1,40}):)?([0-9]{1,9})")


class UnreadableLastEventId(ValueError):
    """A Last-Event-ID that is neither `<run>:<n>` of this run nor `<n>`."""


def last_event(text: str, run: str) -> int:
    """The number in a Last-Event-ID; 0 where there is none. Raises UnreadableLastEventId."""
    if not text:
        return 0
    match = _LAST_ID.fullmatch(text.strip())
    if match is None or (match[1] and match[1] != run):
        raise UnreadableLastEventId
    return int(match[2])


async def follow(principal: Principal, run: str, after: int = 0) -> AsyncIterator[str]:
    """The events of the caller's own run from number *after* on, each as soon as it is written, up to `done`.

    Ends early when the caller may no longer read the run.
    """
    await _release_request_worker()
    # Made by hand: what the library would read from the address (`channel`, `es-meta`, …) has no say here.
    request = EventRequest()
    request.is_next = False
    request.user = principal
    request.channels = {audit.channel(principal.tenant, run)}
    request.channel_last_ids = dict.fromkeys(request.channels, after)
    listener = Listener()
    listener.channels = request.channels
    last = after
    async with (
        listening(),
        meters.streaming(),
        _telling(principal, run) as teller,
        aclosing(library_stream(request, listener)) as pokes,
        # Closed first: it may be waiting for the library.
        aclosing(_numbers(pokes)) as rung,
    ):
        async for numbers in rung:
            if not numbers and await in_worker(standing, principal, run, last) is not Standing.OPEN:
                return
            if not numbers:
                yield HEARTBEAT
                continue
            told = await teller.told()
            if told is None:
                return
            for number in numbers:
                yield told.frame(number)
            last = numbers[-1]
            if told.is_last(last):
                return


class Standing(Enum):
    """How a run stands for who would follow it."""

    # It is not there, not the caller's, or the caller's right has ended.
    CLOSED = "closed"
    TOLD = "told"
    OPEN = "open"


def standing(principal: Principal, run: str, after: int) -> Standing:
    """Whether the caller may follow the run now, and whether anything can come after event *after*."""
    now = current(principal)
    if now is None:
        return Standing.CLOSED
    with bound(Binding(audit=frozenset({now.tenant}))):
        own = Run.objects.filter(public_id=run, tenant=now.tenant, caller=now.caller).first()
        if own is None:
            return Standing.CLOSED
        is_told = TraceEvent.objects.filter(run=own, event="done", seq__lte=after).exists()
    return Standing.TOLD if is_told else Standing.OPEN


@dataclass(slots=True)
class _Told:
    """What one caller may see of a run at one moment, each event rendered once for all who follow it."""

    record: Record
    _frames: dict[int, str] = field(default_factory=dict)

    def frame(self, number: int) -> str:
        if number not in self._frames:
            row = next(row for row in self.record.trace if row.seq == number)
            self._frames[number] = frame(self.record, row)
        return self._frames[number]

    def is_last(self, number: int) -> bool:
        return any(row.seq == number and row.event == "done" for row in self.record.trace)


@dataclass(slots=True)
class _Teller:
    """Reads a run for all streams of one caller that follow it in this process: hundreds may wait for one event.

    What is told was read after it was asked for, so it holds the rights of that moment and every row rung for before.
    """

    principal: Principal
    run: str
    users: int = 0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _read_at: float = -1.0
    _told: _Told | None = None

    async def told(self) -> _Told | None:
        """None where the caller may not read the run, or not any more."""
        asked = time.monotonic()
        async with self._lock:
            if self._read_at <= asked:
                began = time.monotonic()
                record = await in_worker(records.load, self.principal, self.run, own_only=True)
                self._told = _Told(record) if record else None
                self._read_at = began
            return self._told


_tellers: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Principal, str], _Teller]]"
_tellers = weakref.WeakKeyDictionary()


@asynccontextmanager
async def _telling(principal: Principal, run: str) -> AsyncIterator[_Teller]:
    tellers = _tellers.setdefault(asyncio.get_running_loop(), {})
    teller = tellers.setdefault((principal, run), _Teller(principal, run))
    teller.users += 1
    try:
        yield teller
    finally:
        teller.users -= 1
        if not teller.users:
            del tellers[principal, run]


def frame(record: Record, row: TraceEvent) -> str:
    """The event of one row, with nothing in it that was written later."""
    base: dict[str, Any] = {"run_id": record.run.public_id, "seq": row.seq}
    if row.event == "done":
        return _frame(record, row.seq, "done", {"seq": row.seq, **responses.build(record)})
    then = _as_of(record, row.seq)
    answer = responses.answer(record) if row.event == "finished" else None
    evidence = responses.evidence(then, row.seq) if row.event == "found" else None
    shown = base | responses.step(then, row)
    if answer is not None:
        return _frame(record, row.seq, "answer", {**base, "answer": answer})
    if evidence:
        return _frame(record, row.seq, "evidence", {**shown, "evidence": evidence})
    return _frame(record, row.seq, "step", shown)


@asynccontextmanager
async def listening() -> AsyncIterator[None]:
    """Within this block the running event loop hears the doorbell; all blocks of a loop share one connection."""
    loop = asyncio.get_running_loop()
    bell = _bells.get(loop)
    if bell is None:
        bell = _bells[loop] = _Bell(asyncio.create_task(_listen(), context=contextvars.Context()))
    bell.users += 1
    try:
        yield
    finally:
        bell.users -= 1
        if not bell.users:
            del _bells[loop]
            bell.task.cancel()


class RunEvents(StorageBase):  # type: ignore[misc]
    """The library's storage over the rows of the trace: their numbers, and no content."""

    def append_event(self, channel: str, event_type: str, data: object) -> None:
        raise NotImplementedError("events are written by agentic.audit alone")

    def get_events(self, channel: str, last_id: int, limit: int = 100) -> list[Poke]:
        with _run_rows(channel) as rows:
            numbers = rows.filter(seq__gt=last_id).order_by("seq").values_list("seq", flat=True)[:limit]
            return [Poke(channel, "row", "", id=number) for number in numbers]

    def get_current_id(self, channel: str) -> int:
        with _run_rows(channel) as rows:
            return int(rows.aggregate(last=Max("seq"))["last"] or 0)


class OnlyOwnRuns(ChannelManagerBase):  # type: ignore[misc]
    """Says no to everybody but the caller whose run it is."""

    def get_channels_for_request(self, request: object, view_kwargs: object) -> set[str]:
        return set()

    def can_read_channel(self, user: object, channel: str) -> bool:
        if not isinstance(user, Principal):
            return False
        tenant, _, run = channel.partition("-")
        if tenant != str(user.tenant):
            return False
        try:
            with bound(Binding(audit=frozenset({user.tenant}))):
                return bool(Run.objects.filter(tenant=user.tenant, public_id=run, caller=user.caller).exists())
        finally:
            close_old_connections()

    def is_channel_reliable(self, channel: str) -> bool:
        return True


@dataclass(slots=True)
class _Bell:
    task: "asyncio.Task[None]"
    users: int = 0


_bells: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Bell]" = weakref.WeakKeyDictionary()


async def _listen() -> None:
    while True:
        try:
            await _listen_while_connected()
        except psycopg.OperationalError:
            await asyncio.sleep(_LISTEN_AGAIN_SECONDS)


async def _listen_while_connected() -> None:
    async with await psycopg.AsyncConnection.connect(dsn(), autocommit=True) as conn:
        await conn.execute(f"LISTEN {audit.DOORBELL}")
        # Whatever was written while nobody listened.
        _wake(list(get_listener_manager().listeners_by_channel))
        async for notify in conn.notifies():
            _wake([notify.payload])


def _wake(channels: list[str]) -> None:
    """Have the library read on: a listener that believes it missed something looks into the storage."""
    manager = get_listener_manager()
    with manager.lock:
        for channel in channels:
            for listener in manager.listeners_by_channel.get(channel, ()):
                listener.overflow = True
                listener.wake_threadsafe()


async def _numbers(pokes: AsyncIterator[str]) -> AsyncGenerator[list[int], None]:
    """Numbers of new rows as the library reports them; an empty list where nothing came for a while."""
    waiting: asyncio.Task[str | None] | None = None
    try:
        while True:
            if waiting is None:
                # A context of its own: the library then reads in the worker that all streams share.
                waiting = asyncio.create_task(_next(pokes), context=contextvars.Context())
            done, _ = await asyncio.wait({waiting}, timeout=settings.PM_STREAM_SECONDS)
            if not done:
                yield []
                continue
            body, waiting = waiting.result(), None
            if body is None:
                return
            numbers = [int(number) for number in _NUMBER.findall(body)]
            if numbers:
                yield numbers
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.wait({waiting})


async def _next(pokes: AsyncIterator[str]) -> str | None:
    return await anext(pokes, None)


@contextmanager
def _run_rows(channel: str) -> Iterator[QuerySet[TraceEvent]]:
    tenant, _, run = channel.partition("-")
    try:
        with bound(Binding(audit=frozenset({int(tenant)}))):
            yield TraceEvent.objects.filter(run__public_id=run)
    finally:
        close_old_connections()


def _as_of(record: Record, seq: int) -> Record:
    """The record as it stood when row *seq* was written."""
    return replace(
        record,
        trace=tuple(row for row in record.trace if row.seq <= seq),
        evidence=tuple(row for row in record.evidence if row.seq <= seq),
        sentences=(),
    )


def _frame(record: Record, seq: int, event: str, data: dict[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"id: {record.run.public_id}:{seq}\nevent: {event}\ndata: {text}\n\n"


async def _release_request_worker() -> None:
    """Give back the request's worker and connection: a stream may stay open for long and needs neither."""
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is None or context not in SyncToAsync.context_to_thread_executor:
        return
    await sync_to_async(connections.close_all)()
    executor = SyncToAsync.context_to_thread_executor.pop(context, None)
    if executor is not None:
        executor.shutdown(wait=False)
