"""The daily cap holds however many ask at once, in the tenant's day, and counts only runs that were admitted."""

import asyncio
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from agentic import caps, policies, runs
from agentic.caps import Caps
from agentic.models import AgentPolicy, DailyUse, Run, RunState
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound, pool, session
from tests.agentic.asking import ask, insurer_accepts, run
from tests.agentic.cast import House, house
from tests.mailsearch.posting import Office

pytestmark = pytest.mark.django_db(transaction=True)


def _used(tenant: Tenant) -> int:
    return sum(DailyUse.objects.filter(tenant=tenant).values_list("used", flat=True))


async def _take(tenant: int, cap: int, caller: str = "key:jo", share: int = 100) -> bool:
    try:
        async with session(Binding(tenant=tenant)) as conn:
            await caps.take(conn, tenant, caller, Caps(cap, key_share=share))
    except caps.DailyCapReached:
        return False
    return True


def test_exactly_as_many_as_the_cap_are_granted_of_many_at_once() -> None:
    tenant = Office().tenant

    async def take_all() -> list[bool]:
        async with pool(size=8):
            return await asyncio.gather(*(_take(tenant.pk, 20) for _ in range(200)))

    assert sum(run(take_all())) == 20
    assert _used(tenant) == 20


def test_a_refused_request_is_told_when_the_day_ends_on_the_tenants_clock() -> None:
    tenant = Tenant.objects.create(slug="auckland", name="A", timezone="Pacific/Auckland")

    async def take_two() -> caps.Today:
        async with session(Binding(tenant=tenant.pk)) as conn:
            await caps.take(conn, tenant.pk, "key:jo", Caps(1))
            with pytest.raises(caps.DailyCapReached) as refused:
                await caps.take(conn, tenant.pk, "key:kim", Caps(1))
            return refused.value.today

    today = run(take_two())
    local = datetime.now(ZoneInfo("Pacific/Auckland"))
    assert (today.ends.hour, today.ends.minute, today.ends.utcoffset()) == (0, 0, local.utcoffset())
    assert 0 < (today.ends - datetime.now(UTC)).total_seconds() <= 86_400
    assert abs(today.seconds_left - (today.ends - datetime.now(UTC)).total_seconds()) < 30


def test_yesterdays_runs_do_not_count_today() -> None:
    tenant = Office().tenant
    DailyUse.objects.create(tenant=tenant, day=datetime(2026, 1, 1, tzinfo=UTC).date(), used=20)
    assert run(_take(tenant.pk, 1))


def test_a_cap_of_zero_switches_agentic_search_off() -> None:
    home = house()
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_daily_cap=0)
    with pytest.raises(caps.AgenticSearchOff):
        run(ask(home.jo.principal, insurer_accepts()))
    assert _used(home.office.tenant) == 0


def test_a_run_beyond_the_cap_is_neither_started_nor_counted() -> None:
    home = house()
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_daily_cap=1)
    jo = home.jo.principal
    run(ask(jo, insurer_accepts()))
    with pytest.raises(caps.DailyCapReached):
        run(ask(jo, insurer_accepts()))
    assert _used(home.office.tenant) == 1
    with bound(Binding(audit=frozenset({home.office.tenant.pk}))):
        assert Run.objects.filter(tenant=home.office.tenant).count() == 1


def _under_way(home: House, caller: str, count: int) -> None:
    """Runs that seem to be driven by somebody."""
    with bound(Binding(audit=frozenset({home.office.tenant.pk}))):
        for _ in range(count):
            made = Run.objects.create(
                tenant=home.office.tenant, caller=caller, question="?", timezone="UTC", asked_now=datetime.now(UTC),
                scope={}, max_steps=6, max_seconds=8, model="m", policy="standard", verifier_version="1",
            )  # fmt: skip
            RunState.objects.create(
                run=made, tenant=home.office.tenant, status="running", leased_until=datetime(2100, 1, 1, tzinfo=UTC)
            )


@pytest.mark.parametrize(("mine", "others", "whose"), [(4, 0, "caller"), (0, 8, "tenant")])
def test_more_runs_at_once_than_allowed_are_refused_and_not_counted(mine: int, others: int, whose: str) -> None:
    home = house()
    jo = home.jo.principal
    _under_way(home, jo.caller, mine)
    _under_way(home, "key:other", others)
    with pytest.raises(runs.TooManyRuns) as refused:
        run(ask(jo, insurer_accepts()))
    assert refused.value.whose == whose
    assert _used(home.office.tenant) == 0


def test_runs_of_a_dead_process_do_not_hold_the_others_back() -> None:
    home = house()
    jo = home.jo.principal
    _under_way(home, jo.caller, 4)
    RunState.objects.filter(tenant=home.office.tenant).update(leased_until=datetime(2020, 1, 1, tzinfo=UTC))
    assert run(ask(jo, insurer_accepts()))


def test_limits_come_from_the_tenant_then_the_defaults_row_then_the_built_in_values() -> None:
    tenant = Office().tenant
    builtin = policies.effective(tenant.pk)
    defaults = AgentPolicy.objects.filter(tenant=None).first() or AgentPolicy.objects.create(tenant=None)
    try:
        AgentPolicy.objects.filter(pk=defaults.pk).update(agentic_max_steps=5, agentic_daily_cap=7)
        AgentPolicy.objects.create(tenant=tenant, agentic_max_steps=3, verification="strict")
        effective = policies.effective(tenant.pk)
    finally:
        AgentPolicy.objects.filter(pk=defaults.pk).update(agentic_max_steps=None, agentic_daily_cap=None)
    assert (builtin.max_steps, builtin.max_seconds, builtin.caps) == (6, 8, Caps(500))
    assert (effective.max_steps, effective.max_seconds, effective.caps.runs) == (3, 8, 7)
    assert (builtin.verification, effective.verification) == ("standard", "strict")


def test_a_request_lowers_the_budget_and_never_raises_it() -> None:
    jo = house().jo.principal

    async def started(**more: float) -> runs.Started:
        given = runs.Ask("?", **more)  # type: ignore[arg-type]
        begun = await runs.start(jo, given, runs.Models(insurer_accepts()))
        assert isinstance(begun, runs.Started)
        return begun

    lower, higher = run(started(max_steps=2, max_seconds=1.5)), run(started(max_steps=20, max_seconds=120))
    assert (lower.limits.max_steps, lower.limits.max_seconds) == (2, 1.5)
    assert (higher.limits.max_steps, higher.limits.max_seconds) == (6, 8)
