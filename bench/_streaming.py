"""Streams of one worker and what they cost: `python -m bench._streaming STREAMS`, in a process by itself."""

import asyncio
import json
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench._serving import Worker, connections, database, worker

if TYPE_CHECKING:
    from agentic.audit import Recorder

TENANTS, EVENTS = 50, 40


@dataclass
class _Watcher:
    """Reads one stream. `heard` are the moments at which events came, by their number."""

    reader: asyncio.StreamReader
    heard: dict[int, float] = field(default_factory=dict)

    async def watch(self) -> None:
        while line := await self.reader.readline():
            if line.startswith(b"id: "):
                self.heard[int(line.rpartition(b":")[2])] = time.monotonic()


@dataclass(frozen=True)
class _Running:
    """A run whose events the benchmark writes."""

    token: str
    public_id: str
    recorder: "Recorder"


def _prepare() -> list[tuple[str, Any]]:
    from agentic.callers import Access, create_key, resolve_key
    from agentic.models import AgentPolicy
    from mailsearch.models import Mailbox, Permission, Tenant

    made = []
    for number in range(TENANTS):
        tenant = Tenant.objects.create(slug=f"bench-{number}", name="Benchmark")
        AgentPolicy.objects.create(tenant=tenant, agentic_max_seconds=120)
        Mailbox.objects.create(tenant=tenant, slug="all")
        _, token = create_key(tenant, "bench", Access((Permission.SEARCH_AGENTIC,), all_mailboxes=True))
        made.append((token, resolve_key(token)))
    return made


async def _begin(token: str, principal: Any) -> _Running:
    from agentic import runs
    from agentic.audit import Recorder
    from bench._asking import Quoting

    started = await runs.start(principal, runs.Ask("What do we know?"), runs.Models(Quoting()))
    assert isinstance(started, runs.Started)
    recorder = Recorder(principal.tenant, started.run, started.public_id, started.began, started.chain, started.clock)
    return _Running(token, started.public_id, recorder)


async def _keep(running: Sequence[_Running]) -> None:
    """Else the worker would take the runs for those of a process that died."""
    from mailsearch.sessions import session

    while True:
        for one in running:
            async with session(one.recorder.binding) as conn:
                await one.recorder.renew(conn)
        await asyncio.sleep(3)


async def _connect(stack: AsyncExitStack, host: Worker, running: _Running) -> _Watcher:
    address = host.url.removeprefix("http://")
    name, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(name, int(port))
    stack.callback(writer.close)
    path = f"/v1/runs/{running.public_id}/events"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {running.token}\r\n\r\n".encode())
    status = await reader.readline()
    assert b" 200 " in status, status
    return _Watcher(reader)


async def _measure(
    host: Worker, administrator: str, callers: Sequence[tuple[str, Any]], streams: int
) -> dict[str, Any]:
    from agentic.core.events import Cut
    from mailsearch.sessions import pool

    async with pool(), AsyncExitStack() as stack:
        running = [await _begin(*caller) for caller in callers]
        leasing = asyncio.create_task(_keep(running))
        stack.callback(leasing.cancel)
        # Whatever the first requests load.
        await _connect(stack, host, running[0])
        before, sessions = host.figures(), connections(administrator)
        watchers = [await _connect(stack, host, running[number % TENANTS]) for number in range(streams)]
        watching = [asyncio.create_task(one.watch()) for one in watchers]
        await asyncio.sleep(2)
        after, sessions_after = host.figures(), connections(administrator)
        written: dict[tuple[int, int], float] = {}
        for number in range(EVENTS):
            place = number % TENANTS
            began = time.monotonic()
            await running[place].recorder.record([Cut("search", None, "steps", "written by the benchmark")])
            written[place, running[place].recorder.seq] = began
            await asyncio.sleep(0.1)
        await asyncio.sleep(3)
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    delays = [
        1000 * (watchers[number].heard[seq] - began)
        for (place, seq), began in written.items()
        for number in range(place, streams, TENANTS)
        if seq in watchers[number].heard
    ]
    expected = sum(len(range(place, streams, TENANTS)) for place, _ in written)
    return {
        "streams": streams,
        "kb_a_stream": round((after["private_kb"] - before["private_kb"]) / streams, 1),
        "threads_before": before["threads"],
        "threads_more": after["threads"] - before["threads"],
        "connections_before": sessions,
        "connections_more": sessions_after - sessions,
        "events_heard": len(delays),
        "events_missed": expected - len(delays),
        "delay_p50_ms": round(statistics.median(delays), 1),
        "delay_p95_ms": round(statistics.quantiles(delays, n=100)[94], 1),
    }


def main(streams: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with database() as administrator:
        callers = _prepare()
        with worker() as host:
            figures = asyncio.run(_measure(host, administrator, callers, streams))
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
