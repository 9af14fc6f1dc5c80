"""A run's events as a stream (SSE): what has happened, then what happens, until `done`.

The rows of the trace are what is told. A run's numbers are committed in their order: it writes one batch after the
other, and whoever closes it for a process that died goes on from the last that is committed. Whoever writes rings the
doorbell; then the run is read once for all who follow it here as the same caller, with the caller's rights of that
moment. A stream holds neither a worker nor a connection.
"""

import asyncio
import json
import re
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from asgiref.sync import SyncToAsync, sync_to_async
from django.conf import settings
from django.db import connections

from agentic import audit, doorbell, meters, records, responses
from agentic.callers import Principal, stands
from agentic.models import TraceEvent
from agentic.records import Record
from mailsearch.sessions import Binding, piped

HEARTBEAT = ": heartbeat\n\n"
_LAST_ID = re.compile(r"(?:(run_[A-Za-z0-9]{1,40}):)?([0-9]{1,9})")
_STANDING = """
SELECT coalesce(max(e.seq), 0), coalesce(bool_or(e.event = 'done'), false)
FROM agentic_run r LEFT JOIN agentic_traceevent e ON e.run_id = r.id
WHERE r.public_id = %s AND r.tenant_id = %s AND r.caller = %s GROUP BY r.id
"""


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
    last = after
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(meters.streaming())
        teller = stack.enter_context(_telling(principal, run))
        readings = await stack.enter_async_context(aclosing(teller.readings()))
        async for told in readings:
            if told is None:
                yield HEARTBEAT
                continue
            for row in told.after(last):
                yield told.frame(row)
                last = row.seq
            if told.ends_with(last):
                return


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a run is that somebody may follow: the number of its last event, and whether that was `done`."""

    last: int
    is_over: bool


async def standing(principal: Principal, run: str) -> Standing | None:
    """How far the caller's own run is; None where there is none, or where the caller's right has ended."""
    binding = Binding(audit=frozenset({principal.tenant}))
    async with piped(binding) as conn:
        allowed = await stands(conn, principal)
        found = await conn.execute(_STANDING, (run, principal.tenant, principal.caller))
    row = await found.fetchone()
    return Standing(int(row[0]), bool(row[1])) if row and await allowed.fetchone() else None


@dataclass(slots=True)
class _Told:
    """What one caller may see of a run at one moment, each event rendered once for all who follow it."""

    record: Record
    read_at: float
    _frames: dict[int, str] = field(default_factory=dict)

    @property
    def last(self) -> int:
        return self.record.trace[-1].seq if self.record.trace else 0

    @property
    def is_old(self) -> bool:
        """Whether the caller's rights are to be looked at again before more is told."""
        return time.monotonic() >= self.read_at + settings.PM_STREAM_SECONDS

    def after(self, number: int) -> Iterator[TraceEvent]:
        """The events after *number*. It breaks off once they are too old: a slow reader may take long between two."""
        for row in self.record.trace:
            if row.seq > number:
                yield row
                if self.is_old:
                    return

    def frame(self, row: TraceEvent) -> str:
        if row.seq not in self._frames:
            self._frames[row.seq] = frame(self.record, row)
        return self._frames[row.seq]

    def ends_with(self, number: int) -> bool:
        """Whether nothing can come after event *number*."""
        return bool(self.record.trace) and self.record.trace[-1].event == "done" and number >= self.last


@dataclass(slots=True, eq=False)
class _Teller:
    """Reads a run for all streams of one caller that follow it in this event loop: hundreds may wait for one event."""

    principal: Principal
    run: str
    users: int = 0
    hearing: ExitStack = field(default_factory=ExitStack)
    # Set when it rings next; then another takes its place.
    rung: asyncio.Event = field(default_factory=asyncio.Event)
    # Counts what makes all that was read too old, and where that stood when it was read.
    _moment: int = 0
    _read: int = -1
    _told: _Told | None = None
    # On `time.monotonic`, when the caller's right was last looked at, and whether there was one.
    _looked_at: float = 0.0
    _stands: bool = True
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def outdate(self) -> None:
        """Whoever asks from now on is told what is read from now on."""
        self._moment += 1

    def ring(self) -> None:
        self.outdate()
        self.rung.set()
        self.rung = asyncio.Event()

    async def readings(self) -> AsyncGenerator[_Told | None, None]:
        """What the caller may see, again whenever there may be more; None where nothing came for a while.

        Ends when the caller may not read the run, or not any more.
        """
        while True:
            rung = self.rung
            told = await self._now()
            if told is None:
                return
            yield told
            if told.is_old:
                self.outdate()
                continue
            while not await self._waits(rung):
                if not await self._still_stands():
                    return
                yield None

    async def _now(self) -> _Told | None:
        """What was read after the last ring before this call, by whoever came first."""
        wanted = self._moment
        async with self._lock:
            if self._read < wanted:
                moment, began = self._moment, time.monotonic()
                record = await records.load(self.principal, self.run, own_only=True)
                self._told = _Told(record, began) if record else None
                self._read, self._looked_at, self._stands = moment, began, record is not None
            return self._told

    async def _waits(self, rung: asyncio.Event) -> bool:
        """Whether it rings before the caller's right is to be looked at again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._looked_at + settings.PM_STREAM_SECONDS - time.monotonic()):
                await rung.wait()
        return rung.is_set()

    async def _still_stands(self) -> bool:
        """Whether the caller may still follow; looked up once for all streams, as often as PM_STREAM_SECONDS says."""
        async with self._lock:
            began = time.monotonic()
            if began >= self._looked_at + settings.PM_STREAM_SECONDS:
                found = await standing(self.principal, self.run)
                self._looked_at, self._stands = began, found is not None
                if found and self._told and found.last > self._told.last:
                    # A connection may die without a word, and a ring with it.
                    self.ring()
            return self._stands


_tellers: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Principal, str], _Teller]]"
_tellers = weakref.WeakKeyDictionary()


@contextmanager
def _telling(principal: Principal, run: str) -> Iterator[_Teller]:
    tellers = _tellers.setdefault(asyncio.get_running_loop(), {})
    if (principal, run) not in tellers:
        made = tellers[principal, run] = _Teller(principal, run)
        made.hearing.enter_context(doorbell.heard(audit.channel(principal.tenant, run), made.ring))
    teller = tellers[principal, run]
    teller.users += 1
    # What others were told before is not told to who comes later: rights may have ended since.
    teller.outdate()
    try:
        yield teller
    finally:
        teller.users -= 1
        if not teller.users:
            del tellers[principal, run]
            teller.hearing.close()


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
