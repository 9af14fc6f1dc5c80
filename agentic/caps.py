"""The daily cap: how many runs a tenant may start in one of its days, taken by one conditional statement."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

# The day is the tenant's, by the database's clock; daylight saving is Postgres's business.
_TAKE = """
INSERT INTO agentic_dailyuse AS use (tenant_id, day, used)
SELECT id, (statement_timestamp() AT TIME ZONE timezone)::date, 1 FROM mailsearch_tenant WHERE id = %(tenant)s
ON CONFLICT (tenant_id, day) DO UPDATE SET used = use.used + 1 WHERE use.used < %(cap)s
RETURNING used
"""
_TODAY = """
SELECT coalesce(use.used, 0), today.ends, today.timezone,
       greatest(1, ceil(extract(epoch FROM today.ends - statement_timestamp())))::int
FROM (
    SELECT id, timezone, (statement_timestamp() AT TIME ZONE timezone)::date AS day,
           ((statement_timestamp() AT TIME ZONE timezone)::date + 1)::timestamp AT TIME ZONE timezone AS ends
    FROM mailsearch_tenant WHERE id = %(tenant)s
) AS today LEFT JOIN agentic_dailyuse AS use ON use.tenant_id = today.id AND use.day = today.day
"""


class AgenticSearchOff(Exception):
    """The tenant's daily cap is 0."""


@dataclass(frozen=True, slots=True)
class Today:
    """A tenant's runs of today, and when its next day begins."""

    used: int
    # On the tenant's clock.
    ends: datetime
    seconds_left: int


class DailyCapReached(Exception):
    """All of today's runs are used."""

    def __init__(self, cap: int, today: Today) -> None:
        super().__init__(f"{today.used} of {cap} used")
        self.cap = cap
        self.today = today


async def take(conn: AsyncConnection[TupleRow], tenant: int, cap: int) -> None:
    """Count one more run of *tenant*, if fewer than *cap* were counted today.

    Until the transaction ends, no other run of the tenant can be counted; if it is rolled back, this one is not.
    Raises AgenticSearchOff and DailyCapReached.
    """
    if cap == 0:
        raise AgenticSearchOff
    cursor = await conn.execute(_TAKE, {"tenant": tenant, "cap": cap})
    if await cursor.fetchone() is None:
        raise DailyCapReached(cap, await today(conn, tenant))


async def today(conn: AsyncConnection[TupleRow], tenant: int) -> Today:
    """How much of its day *tenant* has used."""
    cursor = await conn.execute(_TODAY, {"tenant": tenant})
    row = await cursor.fetchone()
    if row is None:
        raise LookupError(f"There is no tenant {tenant}.")
    used, ends, zone, seconds_left = row
    return Today(used, ends.astimezone(ZoneInfo(zone)), seconds_left)
