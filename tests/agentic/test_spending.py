"""Tokens and money of a tenant's day: reserved before they are used, counted once, and shared out by caller."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from agentic import caps, finishing, runs
from agentic.audit import Recorder
from agentic.caps import Caps, Need
from agentic.core.ports import Prompt, Reply
from agentic.llm.wire import Prices
from agentic.models import AgentPolicy, CallerUse, DailyUse, RunState
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, pool, session
from tests.agentic.asking import QUESTION, ask, asked, insurer_accepts, read, run
from tests.agentic.cast import House, house
from tests.mailsearch.posting import Office
from tests.standins.scripted_model import ScriptedModel, declares, hangs, searches
from tests.standins.service import Service, answers_golf, configured

pytestmark = pytest.mark.django_db(transaction=True)
# What one reply of the scripted model uses.
REPLY_TOKENS = 110


def _day(tenant: Tenant) -> DailyUse:
    return DailyUse.objects.get(tenant=tenant)


def _policy(home: House, **values: Any) -> None:
    AgentPolicy.objects.create(tenant=home.office.tenant, **values)


async def _take(tenant: int, allowed: Caps, need: Need, caller: str = "key:jo") -> caps.Taken | caps.DailyCapReached:
    try:
        async with session(Binding(tenant=tenant)) as conn:
            return await caps.take(conn, tenant, caller, allowed, need)
    except caps.DailyCapReached as refused:
        return refused


def test_of_many_at_once_no_more_is_reserved_than_the_day_has() -> None:
    tenant = Office().tenant
    allowed = Caps(500, tokens=1_000, cost_usd=Decimal(5))

    async def take_all() -> list[caps.Taken | caps.DailyCapReached]:
        async with pool(size=8):
            return await asyncio.gather(*(_take(tenant.pk, allowed, Need(300, Decimal("0.5"))) for _ in range(40)))

    taken = [one for one in run(take_all()) if isinstance(one, caps.Taken)]
    assert sorted(one.reserved.tokens for one in taken) == [100, 300, 300, 300]
    day = _day(tenant)
    assert (day.used, day.reserved_tokens, day.reserved_cost_usd) == (4, 1_000, Decimal(2))
    assert (day.tokens, day.cost_usd) == (0, Decimal(0))


def test_one_caller_uses_no_more_than_its_share_of_runs_tokens_and_money() -> None:
    for allowed, need in (
        (Caps(4, key_share=50), Need()),
        (Caps(500, tokens=400, key_share=50), Need(100)),
        (Caps(500, cost_usd=Decimal(4), key_share=50), Need(10, Decimal(1))),
    ):
        tenant = Office().tenant
        both = [
            [isinstance(run(_take(tenant.pk, allowed, need, caller)), caps.Taken) for _ in range(3)]
            for caller in ("key:jo", "user:7")
        ]
        assert both == [[True, True, False], [True, True, False]]
        assert sorted(CallerUse.objects.filter(tenant=tenant).values_list("used", flat=True)) == [2, 2]


def test_what_runs_under_way_hold_is_worth_asking_again_soon() -> None:
    tenant = Office().tenant
    run(_take(tenant.pk, Caps(500, tokens=100), Need(300)))
    refused = run(_take(tenant.pk, Caps(500, tokens=100), Need(300)))
    assert isinstance(refused, caps.DailyCapReached)
    assert (refused.amount.what, refused.held, refused.retry_after <= 5) == ("tokens", True, True)


def test_what_a_run_used_takes_the_place_of_what_it_held_and_counts_once() -> None:
    home = house()
    _policy(home, agentic_daily_tokens=10_000_000, agentic_daily_cost_usd=50)
    jo = home.jo.principal
    prices = Prices(prompt=1.0, completion=2.0)

    async def held_then_used() -> tuple[int, Decimal, str]:
        started = await runs.start(jo, runs.Ask(QUESTION), runs.Models(insurer_accepts(), prices=prices))
        assert isinstance(started, runs.Started)
        held = await DailyUse.objects.aget(tenant=jo.tenant)
        await runs.wait(started, runs.launch(started))
        recorder = Recorder(jo.tenant, started.run, started.public_id, started.began, started.chain, started.clock)
        await finishing.close_quietly(recorder, "interrupted", "interrupted")
        return held.reserved_tokens, held.reserved_cost_usd, started.public_id

    tokens, cost, public_id = run(held_then_used())
    response = read(jo, public_id)
    assert response is not None
    assert tokens > 100_000
    assert cost > 0
    for use in (_day(home.office.tenant), CallerUse.objects.get(tenant=home.office.tenant, caller=jo.caller)):
        assert (use.used, use.reserved_tokens, use.reserved_cost_usd) == (1, 0, Decimal(0))
        assert use.tokens == REPLY_TOKENS * response["usage"]["model_calls"]
        assert float(use.cost_usd) == pytest.approx(response["usage"]["cost_usd"])


def test_a_question_beyond_the_days_tokens_or_money_is_refused_and_not_counted() -> None:
    for name, cap in (("agentic_daily_tokens", REPLY_TOKENS), ("agentic_daily_cost_usd", Decimal("0.01"))):
        home = house()
        jo = home.jo.principal
        _policy(home, **{name: cap})
        dear = ScriptedModel(*(searches("Golf") for _ in range(4)), declares())
        first = asked(jo, insurer_accepts() if "tokens" in name else dear)
        assert first["usage"]["tokens"]["prompt"] >= 100
        DailyUse.objects.filter(tenant=jo.tenant).update(cost_usd=Decimal("0.01"))
        with pytest.raises(caps.DailyCapReached) as refused:
            run(ask(jo, insurer_accepts()))
        assert not refused.value.held
        assert refused.value.retry_after == refused.value.today.seconds_left
        assert _day(home.office.tenant).used == 1


def test_a_run_stops_asking_when_what_the_day_had_left_is_used() -> None:
    home = house()
    _policy(home, agentic_daily_tokens=3 * REPLY_TOKENS)
    response = asked(home.jo.principal, ScriptedModel(searches("Golf"), searches("roses"), searches("club")))
    assert (response["outcome"], response["reason"]) == ("budget_exhausted", "tokens")
    assert response["usage"]["model_calls"] == 3
    assert response["answer"] is None


def test_the_built_in_reader_is_held_by_the_cap_on_runs_alone() -> None:
    home = house()
    _policy(home, agentic_daily_tokens=1, agentic_daily_cost_usd=Decimal("0.01"))
    jo = home.jo.principal

    async def free() -> runs.Started | runs.Replayed:
        return await runs.start(jo, runs.Ask(QUESTION), runs.Models(insurer_accepts(), chat=False))

    for _ in range(2):
        started = run(free())
        assert isinstance(started, runs.Started)
        assert started.limits.run_tokens is None
    assert _day(home.office.tenant).reserved_tokens == 0


def test_a_run_that_a_dead_process_left_gives_back_what_it_held_and_counts_what_it_used() -> None:
    home = house()
    _policy(home, agentic_daily_tokens=10_000_000)
    jo = home.jo.principal

    thinking = asyncio.Event()

    async def think(prompt: Prompt) -> Reply:
        thinking.set()
        return await hangs(prompt)

    async def die_in_the_second_call() -> str:
        started = await runs.start(jo, runs.Ask(QUESTION), runs.Models(ScriptedModel(searches("Golf"), think)))
        assert isinstance(started, runs.Started)
        task = runs.launch(started)
        await thinking.wait()
        await RunState.objects.filter(run=started.run).aupdate(leased_until="2020-01-01T00:00:00Z")
        await runs.close_left_over()
        task.cancel()
        await asyncio.wait({task})
        return started.public_id

    response = read(jo, run(die_in_the_second_call()))
    assert response is not None
    assert (response["status"], response["usage"]["tokens"]["prompt"]) == ("interrupted", 100)
    day = _day(home.office.tenant)
    assert (day.used, day.tokens, day.reserved_tokens) == (1, REPLY_TOKENS, 0)


def test_a_used_up_days_tokens_are_told_as_a_problem_with_a_time_to_come_back(service: Service, settings: Any) -> None:
    home = house()
    _policy(home, agentic_daily_tokens=1_500)
    body = {"query": QUESTION, "mode": "agentic"}
    with configured(settings, answers_golf()), service.client(home.jo.headers) as client:
        first = client.post("/v1/search", json=body)
        refused = client.post("/v1/search", json=body)
        used = client.get("/v1/usage").json()
    assert first.status_code == 200
    assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (429, "daily-cap-reached")
    assert refused.json()["detail"].startswith(
        f"{used['tokens_today']} of 1500 tokens used; the count starts again at 20"
    )
    assert int(refused.headers["retry-after"]) > 0
    assert (used["daily_tokens"], used["daily_cost_usd"], used["key_share"]) == (1_500, None, 100)
