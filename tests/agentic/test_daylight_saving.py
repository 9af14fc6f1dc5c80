"""A tenant's day is its own, also where it has 23 or 25 hours: by a database whose clock the test sets."""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import psycopg
import pytest
from psycopg import sql

from agentic import caps
from agentic.caps import Caps
from agentic.models import DailyUse
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, session
from tests.agentic.asking import run
from tests.mailsearch.posting import Office

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module", autouse=True)
def _clock(owner_conninfo: str) -> Iterator[None]:
    """A function that hides Postgres's own from whoever puts its schema first: it tells what `test.now` says."""
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA test_clock")
        conn.execute(
            "CREATE FUNCTION test_clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE"
            " AS $$ SELECT current_setting('test.now')::timestamptz $$"
        )
        conn.execute("GRANT USAGE ON SCHEMA test_clock TO PUBLIC")
        yield
        conn.execute("DROP SCHEMA test_clock CASCADE")


async def _at(moment: str, tenant: int) -> caps.Today | None:
    """What is left of the tenant's day once a run was taken at *moment* (UTC) under a cap of 1; None if it was not."""
    async with session(Binding(tenant=tenant)) as conn:
        await conn.execute("SET LOCAL search_path = test_clock, pg_catalog, public")
        await conn.execute(sql.SQL("SET LOCAL test.now = {}").format(sql.Literal(f"{moment}Z")))
        try:
            await caps.take(conn, tenant, "key:jo", Caps(1))
        except caps.DailyCapReached:
            return None
        return await caps.today(conn, tenant)


def _tenant(zone: str) -> int:
    tenant = Office().tenant
    Tenant.objects.filter(pk=tenant.pk).update(timezone=zone)
    return int(tenant.pk)


# By zone: the day's first moment in UTC, one late in it, the next day's first moment, and the day's hours.
DAYS = [
    # The clocks go forward, and back, in the small hours.
    ("Europe/Berlin", "2026-03-28 23:00", "2026-03-29 21:59", "2026-03-29 22:00", 23),
    ("Europe/Berlin", "2026-10-24 22:00", "2026-10-25 22:59", "2026-10-25 23:00", 25),
    ("America/New_York", "2026-11-01 04:00", "2026-11-02 04:59", "2026-11-02 05:00", 25),
    # By half an hour.
    ("Australia/Lord_Howe", "2026-10-03 13:30", "2026-10-04 12:59", "2026-10-04 13:00", 23.5),
    # Over midnight: there is no midnight, or there are two.
    ("America/Santiago", "2026-09-05 04:00", "2026-09-06 03:59", "2026-09-06 04:00", 24),
    ("America/Santiago", "2026-09-06 04:00", "2026-09-07 02:59", "2026-09-07 03:00", 23),
    ("America/Havana", "2026-10-31 04:00", "2026-11-01 03:59", "2026-11-01 04:00", 24),
    ("America/Havana", "2026-11-01 04:00", "2026-11-02 04:59", "2026-11-02 05:00", 25),
    # And where they never change.
    ("Asia/Kolkata", "2026-03-28 18:30", "2026-03-29 18:29", "2026-03-29 18:30", 24),
]


@pytest.mark.parametrize(("zone", "first", "late", "following", "hours"), DAYS)
def test_a_day_has_one_cap_however_many_hours_it_has(
    zone: str, first: str, late: str, following: str, hours: float
) -> None:
    tenant = _tenant(zone)
    begun = run(_at(first, tenant))
    assert begun is not None
    assert begun.seconds_left == hours * 3600
    # In UTC: a moment that comes twice on the clock is equal to nothing.
    assert begun.ends.astimezone(UTC) == datetime.fromisoformat(following).replace(tzinfo=UTC)
    assert run(_at(late, tenant)) is None
    assert run(_at(following, tenant)) is not None
    days = DailyUse.objects.filter(tenant=tenant).order_by("day").values_list("day", "used")
    local = [datetime.fromisoformat(f"{one}Z").astimezone(ZoneInfo(zone)).date() for one in (first, following)]
    assert list(days) == [(day, 1) for day in local]


def test_an_hour_that_comes_twice_counts_for_the_same_day_both_times() -> None:
    tenant = _tenant("Europe/Berlin")
    assert run(_at("2026-10-25 00:30", tenant)) is not None
    assert run(_at("2026-10-25 01:30", tenant)) is None
