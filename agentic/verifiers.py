"""Verification in child processes that can be killed: no draft and no mail can hold a run longer than its time.

A child is started ahead and used again. It has an empty environment, no open file but its two pipes, no database, and
limits of memory and processor time; what it is sent are plain values. What comes back is unpickled with a list of
allowed classes. A child whose time is up, or whose caller has gone, is killed and replaced. There are never more than
MAX_CHILDREN; whoever finds them all busy waits within the own time.
"""

import asyncio
import atexit
import contextlib
import copyreg
import io
import os
import pickle
import resource
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import BinaryIO, TypeVar

from agentic.core import verify as rules
from agentic.core.answer import Draft, Policy, Verification
from agentic.core.question import Question
from agentic.core.verdict import NotVerified, Ruling, Threads, Verdict
from mailsearch.hits import Address, Block, MessageText, Region

MAX_CHILDREN = 4
# Children that wait for work; others end with theirs.
KEPT = 2
MEMORY = 1 << 30
# Processor seconds of one call, for a child whose parent was killed and can't kill it any more.
PROCESSOR_SECONDS = 130
# A child is replaced after so many calls.
_CALLS_A_CHILD = 2_000
_LENGTH = struct.Struct("!Q")
_ALLOWED: Mapping[str, frozenset[str]] = {
    "agentic.core.answer": frozenset({"Citation", "Sentence", "Verification"}),
    "agentic.core.verdict": frozenset({"Ruling"}),
}
__all__ = ["NotVerified", "close", "ready", "rule", "verify", "warm"]
_Job = tuple[str, tuple[object, ...]]
Result = TypeVar("Result", Ruling, Verification)


class _Gone(Exception):
    """The child ended, or has no time left."""


async def rule(
    question: Question,
    draft: Draft,
    sources: Mapping[str, MessageText],
    threads: Threads,
    markers: Collection[str],
    until: float,
) -> Ruling:
    """`Verdict.rule` in a child, until *until* on the monotonic clock. Raises NotVerified."""
    return await _ask(("rule", (question, draft, dict(sources), dict(threads), frozenset(markers))), until, Ruling)


async def verify(
    draft: Draft,
    sources: Mapping[str, MessageText],
    policy: Policy,
    until: float,
    threads: Threads | None = None,
    evidence: Mapping[str, MessageText] | None = None,
    *,
    max_units: int = rules.MAX_UNITS,
    max_quotes: int | None = None,
) -> Verification:
    """`agentic.core.verify.verify` in a child, until *until* on the monotonic clock. Raises NotVerified."""
    job = (draft, dict(sources), policy, dict(threads or {}), dict(evidence or {}), max_units, max_quotes)
    return await _ask(("verify", job), until, Verification)


def warm() -> None:
    """Start a child ahead, unless one waits. Returns at once: the child loads what it needs by itself."""
    _pool().warm()


def ready(seconds: float = 60.0) -> None:
    """Start a child unless one waits, and wait until it has loaded what it needs. Raises NotVerified."""
    _Call(("verify", (Draft(), {}, "standard", {}, {}, rules.MAX_UNITS, None)), time.monotonic() + seconds).run()


def close() -> None:
    """End all children of this process. The next call starts new ones."""
    _pool().close()


async def _ask(job: _Job, until: float, kind: type[Result]) -> Result:
    call = _Call(job, until)
    working = asyncio.get_running_loop().run_in_executor(None, call.run)
    # Nobody may be there any more to hear how it ended.
    working.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        result = await asyncio.shield(working)
    except asyncio.CancelledError:
        call.stop()
        raise
    if not isinstance(result, kind):
        raise NotVerified("the child gave back something else")
    return result


class _Call:
    """One job. `run` works in a thread; `stop` may come from any other."""

    def __init__(self, job: _Job, until: float) -> None:
        self._job = job
        self._until = until
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._stopped = False

    def run(self) -> object:
        """The child's result. A child that dies early is replaced once. Raises NotVerified."""
        data = _dumps(self._job)
        for _attempt in range(2):
            try:
                return self._once(data)
            except _Gone as gone:
                if self._stopped or time.monotonic() >= self._until:
                    raise NotVerified("its time was up") from gone
        raise NotVerified("the child ended twice")

    def _once(self, data: bytes) -> object:
        with _pool().child(self._until) as child:
            self._hold(child)
            try:
                return child.ask(data, self._until)
            except _Gone:
                child.kill()
                raise
            finally:
                self._hold(None)

    def stop(self) -> None:
        """Nobody waits any more: the child is killed, and the thread returns."""
        with self._lock:
            self._stopped = True
            if self._child is not None:
                self._child.kill()

    def _hold(self, child: "_Child | None") -> None:
        with self._lock:
            self._child = child
            if child is not None and self._stopped:
                child.kill()


class _Child:
    """One process. Used by one thread at a time; `kill` may come from any."""

    def __init__(self) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}\nfrom agentic import verifiers\nverifiers.serve({MEMORY})"
        # -I and an empty environment: nothing of the service's settings or secrets reaches the child.
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            close_fds=True,
            start_new_session=True,
            cwd="/",
        )
        self.calls = 0
        self._killed = False
        for pipe in (self._requests, self._results):
            os.set_blocking(pipe.fileno(), False)

    @property
    def process_id(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        # Whoever was killed ends a moment later, and until then looks as if it could be asked again.
        return not self._killed and self._process.poll() is None

    @property
    def _requests(self) -> BinaryIO:
        assert self._process.stdin is not None
        return self._process.stdin  # type: ignore[return-value]

    @property
    def _results(self) -> BinaryIO:
        assert self._process.stdout is not None
        return self._process.stdout  # type: ignore[return-value]

    def ask(self, data: bytes, until: float) -> object:
        """Send *data* and wait for the result. Raises _Gone."""
        self.calls += 1
        view = memoryview(_LENGTH.pack(len(data)) + data)
        try:
            while view:
                _wait(self._requests, until, writing=True)
                view = view[os.write(self._requests.fileno(), view[: 1 << 20]) :]
            (length,) = _LENGTH.unpack(self._read(_LENGTH.size, until))
            if length > MEMORY:
                raise _Gone("too much")
            return _loads(self._read(length, until))
        except (OSError, ValueError) as error:
            raise _Gone("its pipes are closed") from error

    def kill(self) -> None:
        """End the process at once. What reads from it sees its end."""
        self._killed = True
        with contextlib.suppress(OSError):
            self._process.kill()

    def bury(self) -> None:
        """Kill it and give back what it held."""
        self.kill()
        self._process.wait()
        for pipe in (self._requests, self._results):
            with contextlib.suppress(OSError):
                pipe.close()

    def _read(self, count: int, until: float) -> bytes:
        pieces: list[bytes] = []
        while count:
            _wait(self._results, until, writing=False)
            piece = os.read(self._results.fileno(), min(count, 1 << 20))
            if not piece:
                raise _Gone("ended")
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


class _Pool:
    """The children of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MAX_CHILDREN)
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()

    def warm(self) -> None:
        with self._lock:
            if not self._idle and not self._busy:
                self._idle.append(_Child())

    @contextlib.contextmanager
    def child(self, until: float) -> Iterator[_Child]:
        """A child for one call; waits while all are busy. Raises NotVerified where none came free before *until*."""
        if not self._room.acquire(timeout=max(0.0, until - time.monotonic())):
            raise NotVerified("all verifiers were busy")
        try:
            child = self._take()
            try:
                yield child
            finally:
                self._give_back(child)
        finally:
            self._room.release()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            for child in self._busy:
                child.kill()
        for child in idle:
            child.bury()

    def _take(self) -> _Child:
        with self._lock:
            waiting = self._idle.pop() if self._idle else None
        if waiting is not None and not waiting.alive:
            waiting.bury()
            waiting = None
        # Started outside of the lock: others need not wait for it.
        child = waiting or _Child()
        with self._lock:
            self._busy.add(child)
        return child

    def _give_back(self, child: _Child) -> None:
        with self._lock:
            self._busy.discard(child)
            if child.alive and child.calls < _CALLS_A_CHILD and len(self._idle) < KEPT:
                self._idle.append(child)
                return
        child.bury()


_pools: dict[int, _Pool] = {}


def _pool() -> _Pool:
    """The pool of this process; one that a fork brought along is its parent's."""
    process = os.getpid()
    if process not in _pools:
        _pools.clear()
        _pools[process] = _Pool()
    return _pools[process]


atexit.register(lambda: _pools[os.getpid()].close() if os.getpid() in _pools else None)


def _wait(pipe: BinaryIO, until: float, *, writing: bool) -> None:
    poller = select.poll()
    poller.register(pipe, select.POLLOUT if writing else select.POLLIN)
    left = until - time.monotonic()
    if left <= 0 or not poller.poll(left * 1000):
        raise _Gone("its time is up")


class _Pickler(pickle.Pickler):
    # What a message has many of goes as a call of its class: a third of what the way of data classes costs.
    dispatch_table = copyreg.dispatch_table.copy() | {
        Block: lambda one: (Block, (one.start, one.end, one.kind)),
        Region: lambda one: (Region, (one.start, one.end, one.kind, one.said_by)),
        Address: lambda one: (Address, (one.name, one.address, one.name_conflict)),
    }


def _dumps(value: object) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if name not in _ALLOWED.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} may not come from a child")
        return super().find_class(module, name)


def _loads(data: bytes) -> object:
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except Exception as error:
        # A child that hostile mail took over may send anything; every way in which that fails is the same to us.
        raise _Gone("sent something else") from error


def serve(memory: int) -> None:
    """The child: read jobs from standard input, write results to standard output, until the parent closes it."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    requests, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Loads the word lists and patterns before the first job comes.
    rules.verify(Draft(text="The oven costs 12 EUR [m1]."), {})
    while header := requests.read(_LENGTH.size):
        (length,) = _LENGTH.unpack(header)
        name, arguments = pickle.loads(requests.read(length))  # noqa: S301 - written by the parent
        used = resource.getrusage(resource.RUSAGE_SELF)
        allowed = int(used.ru_utime + used.ru_stime) + PROCESSOR_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        data = pickle.dumps(_JOBS[name](*arguments), protocol=pickle.HIGHEST_PROTOCOL)
        results.write(_LENGTH.pack(len(data)) + data)
        results.flush()


def _rule(
    question: Question, draft: Draft, sources: dict[str, MessageText], threads: Threads, markers: frozenset[str]
) -> Ruling:
    return Verdict(rules, question).rule(draft, sources, threads, markers)


def _verify(
    draft: Draft,
    sources: dict[str, MessageText],
    policy: Policy,
    threads: Threads,
    evidence: dict[str, MessageText],
    max_units: int,
    max_quotes: int | None,
) -> Verification:
    return rules.verify(
        draft,
        sources,
        policy=policy,
        thread_messages=threads,
        all_evidence=evidence,
        max_units=max_units,
        max_quotes=max_quotes,
    )


_JOBS: Mapping[str, Callable[..., object]] = {"rule": _rule, "verify": _verify}
