"""Runs that do not end by themselves: cancelled, cut off, abandoned, or with nowhere to write their end."""

import asyncio
import time

import psycopg
import pytest

from agentic import runs
from agentic.callers import Principal
from agentic.chain import state
from agentic.core.ports import Prompt, Reply
from agentic.models import AgentPolicy, Run, RunState
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound, pool
from tests.agentic.asking import QUESTION, ask, asked, insurer_accepts, read, run, unwritable
from tests.agentic.cast import house
from tests.standins.scripted_model import ScriptedModel, answers, hangs, searches

pytestmark = pytest.mark.django_db(transaction=True)
QUOTE = "we accept liability for the damage to the Golf"
TRUE = ("The insurer accepts liability for the damage to the Golf.", "accept liability", QUOTE)


async def _begin(principal: Principal) -> tuple[runs.Started, runs.Driving, asyncio.Event]:
    """A run whose model never replies, and what is set once it was asked."""
    thinking = asyncio.Event()

    async def think(prompt: Prompt) -> Reply:
        thinking.set()
        return await hangs(prompt)

    started = await runs.start(principal, runs.Ask(QUESTION), runs.Models(ScriptedModel(think)))
    assert isinstance(started, runs.Started)
    return started, runs.launch(started), thinking


def test_a_model_that_hangs_does_not_hold_the_response_beyond_its_seconds() -> None:
    model = ScriptedModel(hangs)
    response = asked(house().jo.principal, model, max_seconds=4.0)
    assert response["outcome"] in ("degraded", "budget_exhausted")
    assert ("cut", "seconds") in [(one["event"], one.get("limit")) for one in response["trace"]]
    assert model.cancelled == len(model.prompts)


def test_cancel_ends_a_run_and_only_its_caller_can() -> None:
    home = house()
    jo, stranger = home.jo.principal, home.caller("family").principal
    # Else its own seconds would end it before long.
    AgentPolicy.objects.update_or_create(tenant=home.office.tenant, defaults={"agentic_max_seconds": 120})

    async def cancelled() -> tuple[bool, bool, str]:
        started, task, thinking = await _begin(jo)
        await thinking.wait()
        refused = await runs.cancel(stranger, started.public_id)
        accepted = await runs.cancel(jo, started.public_id)
        await task
        return refused, accepted, started.public_id

    refused, accepted, public_id = run(cancelled())
    response = read(jo, public_id)
    assert response is not None
    assert (refused, accepted) == (False, True)
    assert (response["status"], response["reason"], response["answer"]) == ("cancelled", "cancelled", None)


def test_a_stopped_server_leaves_its_runs_interrupted() -> None:
    jo = house().jo.principal

    async def stopped() -> str:
        started, _, thinking = await _begin(jo)
        await thinking.wait()
        await runs.drain(seconds=0.0)
        return started.public_id

    response = read(jo, run(stopped()))
    assert response is not None
    assert (response["status"], response["outcome"], response["reason"]) == ("interrupted", "degraded", "interrupted")


def test_the_run_of_a_dead_process_is_closed_once_its_lease_ran_out() -> None:
    jo = house().jo.principal

    async def abandoned() -> runs.Started:
        started = await runs.start(jo, runs.Ask(QUESTION), runs.Models(insurer_accepts()))
        assert isinstance(started, runs.Started)
        return started

    started = run(abandoned())
    run(runs.close_left_over())
    assert RunState.objects.get(run=started.run).status == "queued"
    RunState.objects.filter(run=started.run).update(leased_until="2020-01-01T00:00:00Z")

    async def two_at_once() -> None:
        await asyncio.gather(runs.close_left_over(), runs.close_left_over())

    run(two_at_once())
    response = read(jo, started.public_id)
    assert response is not None
    assert [one["event"] for one in response["trace"]].count("finished") == 1
    assert (response["status"], response["outcome"], response["answer"]) == ("interrupted", "degraded", None)


def test_a_run_that_was_closed_by_others_gives_no_answer_to_its_caller() -> None:
    home = house()
    jo = home.jo.principal

    async def close_then_answer(prompt: Prompt) -> Reply:
        await in_worker(RunState.objects.filter(tenant=jo.tenant).update, status="interrupted")
        return answers(TRUE)(prompt)

    with pytest.raises(runs.AuditUnavailable):
        asked(jo, ScriptedModel(searches("Golf liability"), close_then_answer))


def test_an_end_that_cannot_be_written_in_time_gives_no_answer(owner_conninfo: str) -> None:
    jo = house().jo.principal
    locked = psycopg.connect(owner_conninfo)

    async def lock_then_answer(prompt: Prompt) -> Reply:
        await asyncio.to_thread(locked.execute, "LOCK agentic_runfinished IN ACCESS EXCLUSIVE MODE")
        return answers(TRUE)(prompt)

    try:
        # It gives up while the lock is still held.
        with pytest.raises(runs.AuditUnavailable):
            asked(jo, ScriptedModel(searches("Golf liability"), lock_then_answer), max_seconds=3.0)
    finally:
        locked.close()


def test_a_bug_in_a_model_ends_the_run_with_an_outcome_on_record() -> None:
    jo = house().jo.principal

    def breaks(prompt: Prompt) -> Reply:
        raise ZeroDivisionError

    response = asked(jo, ScriptedModel(breaks))
    assert (response["status"], response["outcome"], response["reason"]) == ("finished", "degraded", "internal")


def test_a_response_that_cannot_be_read_in_time_does_not_leave_late() -> None:
    jo = house().jo.principal

    async def read_slowly() -> None:
        started = await runs.start(jo, runs.Ask(QUESTION, max_seconds=1.0), runs.Models(insurer_accepts()))
        assert isinstance(started, runs.Started)
        assert await runs.in_time(started, asyncio.sleep(0, "read")) == "read"
        await runs.in_time(started, asyncio.Event().wait())

    with pytest.raises(runs.AuditUnavailable):
        run(read_slowly())


def test_a_response_that_is_made_without_waiting_does_not_leave_late_either() -> None:
    jo = house().jo.principal

    async def make_slowly() -> None:
        time.sleep(1.0)  # noqa: ASYNC251 - work that gives nobody else a turn

    async def read_slowly() -> None:
        started = await runs.start(jo, runs.Ask(QUESTION, max_seconds=1.0), runs.Models(insurer_accepts()))
        assert isinstance(started, runs.Started)
        await runs.in_time(started, make_slowly())

    with pytest.raises(runs.AuditUnavailable):
        run(read_slowly())


def test_a_run_whose_tenant_allows_it_a_second_waits_no_longer_to_be_admitted(owner_conninfo: str) -> None:
    home = house()
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=1)
    with psycopg.connect(owner_conninfo) as locked:
        locked.execute("LOCK agentic_dailyuse IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        with pytest.raises(runs.AuditUnavailable):
            run(runs.start(home.jo.principal, runs.Ask(QUESTION), runs.Models(insurer_accepts())))
    # A request that names no seconds has eight where the tenant says nothing.
    assert time.monotonic() - began < 6


def _end_sessions(owner_conninfo: str, which: str) -> int:
    """End the sessions of the application for which *which* holds; how many there were."""
    with psycopg.connect(owner_conninfo, autocommit=True) as owner:
        rows = owner.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            f" WHERE datname = current_database() AND usename LIKE '%app' AND {which}"
        ).fetchall()
    return len(rows)


def test_connections_lost_while_the_model_thinks_cost_nothing(owner_conninfo: str) -> None:
    jo = house().jo.principal

    async def lose_then_answer(prompt: Prompt) -> Reply:
        assert await asyncio.to_thread(_end_sessions, owner_conninfo, "state = 'idle'")
        return answers(TRUE)(prompt)

    async def asked_over_a_pool() -> str:
        async with pool():
            return await ask(jo, ScriptedModel(searches("Golf liability"), lose_then_answer))

    response = read(jo, run(asked_over_a_pool()))
    assert response is not None
    assert response["outcome"] == "answered"


def test_an_end_whose_connection_is_lost_is_written_over_another(owner_conninfo: str) -> None:
    home = house()
    jo = home.jo.principal
    AgentPolicy.objects.update_or_create(tenant=home.office.tenant, defaults={"agentic_max_seconds": 120})
    locked = psycopg.connect(owner_conninfo)

    async def lock_then_answer(prompt: Prompt) -> Reply:
        await asyncio.to_thread(locked.execute, "LOCK agentic_runfinished IN ACCESS EXCLUSIVE MODE")
        return answers(TRUE)(prompt)

    async def lost_at_the_end() -> str:
        async with pool():
            model = ScriptedModel(searches("Golf liability"), lock_then_answer)
            asking = asyncio.create_task(ask(jo, model, max_seconds=120.0))
            while not await asyncio.to_thread(_end_sessions, owner_conninfo, "wait_event_type = 'Lock'"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            locked.close()
            return await asking

    response = read(jo, run(lost_at_the_end()))
    assert response is not None
    assert response["outcome"] == "answered"
    assert [one["event"] for one in response["trace"]].count("finished") == 1
    with bound(Binding(audit=frozenset({jo.tenant}))):
        assert state(Run.objects.get(public_id=response["run_id"])).status == "sealed"


def test_a_start_that_cannot_be_written_leaves_in_time_and_no_run_behind(owner_conninfo: str) -> None:
    home = house()
    jo = home.jo.principal
    under_way = RunState.objects.filter(tenant=jo.tenant, status__in=("queued", "running"))

    async def refused() -> None:
        with unwritable(owner_conninfo), pytest.raises(runs.AuditUnavailable):
            await runs.start(jo, runs.Ask(QUESTION, max_seconds=1.0), runs.Models(insurer_accepts()))
        # The lock may end before the database hears that nobody waits for it.
        while await in_worker(under_way.exists):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    run(refused())


def test_what_happens_first_is_on_record_as_soon_as_the_run_is_and_stays_where_nothing_follows() -> None:
    jo = house().jo.principal
    started = run(runs.begin(jo, runs.Ask(QUESTION), runs.Models(insurer_accepts())))
    response = read(jo, started.public_id)
    assert response is not None
    assert response["status"] == "running"
    first = [one["event"] for one in response["trace"]]
    assert first == ["called", "asked"]
    RunState.objects.filter(tenant=jo.tenant).update(leased_until="2020-01-01T00:00:00Z")
    run(runs.close_left_over())
    response = read(jo, started.public_id)
    assert response is not None
    assert [one["event"] for one in response["trace"]] == [*first, "cut", "finished"]
    assert (response["status"], response["outcome"], response["answer"]) == ("interrupted", "degraded", None)
    with bound(Binding(audit=frozenset({jo.tenant}))):
        assert state(Run.objects.get(public_id=started.public_id)).status == "sealed"
