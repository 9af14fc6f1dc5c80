"""How a run is read for its streams: at one moment, again where a ring was lost, and never long after a key ended."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from agentic import finishing, records, runs, stream
from agentic.audit import Recorder
from agentic.callers import Principal, revoke_key
from agentic.core.events import Cut
from agentic.core.ports import Prompt, Reply
from agentic.models import AgentPolicy
from agentic.workers import in_worker
from mailsearch.sessions import piped, pool
from tests.agentic.asking import QUESTION, insurer_accepts, run
from tests.agentic.cast import House, house
from tests.standins.scripted_model import ScriptedModel, answers, searches

pytestmark = pytest.mark.django_db(transaction=True)
TOLD = Cut("search", None, "steps", "told by the test")
QUOTE = "we accept liability for the damage to the Golf"
WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'agentic_evidence'::regclass"


async def _begin(principal: Principal) -> tuple[Recorder, str]:
    started = await runs.start(principal, runs.Ask(QUESTION), runs.Models(insurer_accepts()))
    assert isinstance(started, runs.Started)
    recorder = Recorder(principal.tenant, started.run, started.public_id, started.began, started.chain, started.clock)
    return recorder, started.public_id


def _told(frame: str) -> list[int]:
    return [int(number) for number in re.findall(r"^id: [^\n]*:([0-9]+)$", frame, re.MULTILINE)]


async def _numbers(frames: AsyncIterator[str], count: int) -> list[int]:
    """The numbers of the next events."""
    heard: list[int] = []
    while len(heard) < count:
        heard += _told(await anext(frames))
    return heard


def _patient(home: House) -> House:
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=120)
    return home


def test_the_end_of_a_run_is_seen_in_all_tables_or_in_none(owner_conninfo: str) -> None:
    """The end is written while the run is being read, between two of its tables."""
    jo = _patient(house()).jo.principal
    asked, reading = threading.Event(), threading.Event()

    async def waits(prompt: Prompt) -> Reply:
        asked.set()
        await asyncio.to_thread(reading.wait, 60)
        true = ("The insurer accepts liability for the damage to the Golf.", "accept liability", QUOTE)
        return answers(true)(prompt)

    async def read_at_the_end() -> records.Record | None:
        started = await runs.start(jo, runs.Ask(QUESTION), runs.Models(ScriptedModel(searches("Golf"), waits)))
        assert isinstance(started, runs.Started)
        task = runs.launch(started)
        await asyncio.to_thread(asked.wait, 60)
        async with await psycopg.AsyncConnection.connect(owner_conninfo) as locking:
            await locking.execute("LOCK agentic_evidence IN ACCESS EXCLUSIVE MODE")
            loading = asyncio.create_task(records.load(jo, started.public_id))
            async with await psycopg.AsyncConnection.connect(owner_conninfo, autocommit=True) as looking:
                while await (await looking.execute(WAITS)).fetchone() == (0,):  # noqa: ASYNC110 - of another session
                    await asyncio.sleep(0.01)
            reading.set()
            await runs.wait(started, task)
        return await loading

    record = run(read_at_the_end())
    assert record is not None
    ends = [record.finished is not None, bool(record.sentences), record.seal is not None]
    ends += [record.status == "finished", record.trace[-1].event == "done"]
    assert set(ends) == {False}


def test_an_event_whose_ring_was_lost_is_told_at_the_next_look(settings: Any) -> None:
    settings.PM_STREAM_SECONDS = 1
    jo = _patient(house()).jo.principal

    async def followed() -> list[int]:
        async with pool():
            recorder, public_id = await _begin(jo)
            await recorder.record([TOLD])
            frames = stream.follow(jo, public_id)
            heard = await _numbers(frames, 1)
            # Now it certainly waits for the doorbell, which does not ring.
            assert await anext(frames) == stream.HEARTBEAT
            recorder.note(TOLD)
            async with piped(recorder.binding) as conn:
                await recorder.sheet.write(conn)
            return heard + await _numbers(frames, 1)

    assert run(followed()) == [1, 2]


def test_all_watchers_of_a_run_end_with_their_key_and_hear_nothing_that_was_written_since(settings: Any) -> None:
    settings.PM_STREAM_SECONDS = 1
    jo = _patient(house()).jo

    async def followed() -> list[list[int]]:
        async with pool(size=2):
            recorder, public_id = await _begin(jo.principal)
            await recorder.record([TOLD])
            streams = [stream.follow(jo.principal, public_id) for _ in range(50)]
            heard = [await _numbers(frames, 1) for frames in streams]
            await in_worker(revoke_key, jo.key)
            await recorder.record([TOLD])
            await asyncio.gather(*map(_rest, streams))
            await finishing.close_quietly(recorder, "interrupted", "interrupted")
            return heard

    async def _rest(frames: AsyncIterator[str]) -> None:
        assert {frame async for frame in frames} <= {stream.HEARTBEAT}

    assert run(followed()) == [[1]] * 50


def test_a_reader_who_takes_long_between_two_events_is_told_no_more_after_its_key_ended(settings: Any) -> None:
    settings.PM_STREAM_SECONDS = 1
    jo = _patient(house()).jo

    async def followed() -> list[int]:
        async with pool():
            recorder, public_id = await _begin(jo.principal)
            await recorder.record([TOLD] * 5)
            frames = stream.follow(jo.principal, public_id)
            heard = await _numbers(frames, 1)
            await in_worker(revoke_key, jo.key)
            await asyncio.sleep(1.01)
            return heard + [number async for frame in frames for number in _told(frame)]

    assert run(followed()) == [1]
