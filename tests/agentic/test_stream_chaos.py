"""Watchers on several workers: cut at random, with a worker killed and every listening connection with it, each of them
hears every event once and in order.

The run's events are written by the test, as a further worker would, so nothing here depends on how fast anything is.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

import httpx
import httpx_sse
import psycopg
import pytest

from agentic import finishing, runs
from agentic.audit import Recorder
from agentic.core.events import Cut
from mailsearch.sessions import session
from tests.agentic.asking import QUESTION, insurer_accepts
from tests.agentic.cast import Caller, house
from tests.standins.server_process import ServerProcess

pytestmark = pytest.mark.django_db(transaction=True)
WATCHERS, WORKERS = 200, 3
LISTENERS = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"


@dataclass
class Watcher:
    """Follows one run over whatever workers there are, and lets itself be cut."""

    draw: random.Random
    heard: list[tuple[int, str, str]] = field(default_factory=list)
    connections: int = 0

    async def watch(self, client: httpx.AsyncClient, workers: Sequence[str], run: str) -> None:
        while not self.heard or self.heard[-1][1] != "done":
            self.connections += 1
            headers = {"Last-Event-ID": f"{run}:{self.heard[-1][0]}"} if self.heard else {}
            address = f"{self.draw.choice(workers)}/v1/runs/{run}/events"
            try:
                async with httpx_sse.aconnect_sse(client, "GET", address, headers=headers) as source:
                    source.response.raise_for_status()
                    await self._hear(source, self.draw.choice([1, 2, 3, 100, 100]))
            except httpx.TransportError:
                continue

    async def _hear(self, source: httpx_sse.EventSource, cut_after: int) -> None:
        """Listen until the stream ends, or cut it after so many events."""
        async for event in source.aiter_sse():
            if not event.data:
                # httpx-sse makes an event of the blank line after a heartbeat.
                continue
            self.heard.append((int(event.id.rpartition(":")[2]), event.event, event.data))
            cut_after -= 1
            if not cut_after:
                return


@pytest.fixture
def workers() -> Iterator[list[ServerProcess]]:
    with ExitStack() as stack, ThreadPoolExecutor(WORKERS) as starting:
        made = [
            ServerProcess("http://127.0.0.1:9", PM_RATE_CALLER="10000", PM_RATE_TENANT="10000") for _ in range(WORKERS)
        ]
        yield list(starting.map(stack.enter_context, made))


async def _until_all_heard(watchers: Sequence[Watcher], number: int) -> None:
    while not all(one.heard and one.heard[-1][0] >= number for one in watchers):  # noqa: ASYNC110 - of many, not of one
        await asyncio.sleep(0.02)


async def _watched(jo: Caller, workers: list[ServerProcess], owner: str) -> list[Watcher]:
    started = await runs.start(jo.principal, runs.Ask(QUESTION), runs.Models(insurer_accepts()))
    assert isinstance(started, runs.Started)
    recorder = Recorder(
        jo.principal.tenant, started.run, started.public_id, started.began, started.chain, started.clock
    )
    alive = [one.url for one in workers]
    watchers = [Watcher(random.Random(number)) for number in range(WATCHERS)]
    limits = httpx.Limits(max_connections=None)
    leasing = asyncio.create_task(_keep(recorder))
    async with httpx.AsyncClient(headers=jo.headers, timeout=120, limits=limits) as client:
        watching = [asyncio.create_task(one.watch(client, alive, started.public_id)) for one in watchers]
        await _tell(recorder, 2)
        await _until_all_heard(watchers, 1)
        await _tell(recorder, 2)
        alive.pop(0)
        await asyncio.to_thread(workers[0].kill)
        await _tell(recorder, 2)
        await _until_all_heard(watchers, 5)
        with psycopg.connect(owner, autocommit=True) as conn:
            killed = conn.execute(f"SELECT count(pg_terminate_backend(pid)) {LISTENERS}").fetchone()
        assert killed is not None
        assert killed[0] >= WORKERS - 1
        await _tell(recorder, 2)
        leasing.cancel()
        await finishing.close_quietly(recorder, "interrupted", "interrupted")
        await asyncio.gather(*watching)
    return watchers


async def _tell(recorder: Recorder, events: int) -> None:
    for _ in range(events):
        await recorder.record([Cut("search", None, "steps", "told by the test")])


async def _keep(recorder: Recorder) -> None:
    """Else the workers would take the run for one whose process died."""
    while True:
        async with session(recorder.binding) as conn:
            await recorder.renew(conn)
        await asyncio.sleep(0.5)


def test_every_watcher_hears_every_event_once_and_in_order(workers: list[ServerProcess], owner_conninfo: str) -> None:
    watchers = asyncio.run(_watched(house().jo, workers, owner_conninfo))
    numbers = [number for number, _, _ in watchers[0].heard]
    assert numbers == list(range(1, len(numbers) + 1))
    assert watchers[0].heard[-1][1] == "done"
    assert [one for one in watchers if one.heard != watchers[0].heard] == []
    assert sum(one.connections for one in watchers) > WATCHERS * 1.5
