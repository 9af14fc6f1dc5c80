"""How far tenants use their limits, counted by the database: in a fixed number of statements for any number of them.

For sessions that may see the audit of the tenants. Without any content.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db import connection

DAYS = 30
# From this share of a limit on, people are told.
ALERT_PERCENT = 80
# The day is the tenant's, by the database's clock.
_TODAY = """
SELECT t.id, coalesce(u.used, 0), coalesce(u.tokens, 0), coalesce(u.cost_usd, 0),
    coalesce((SELECT max(c.used) FROM agentic_calleruse c WHERE c.tenant_id = t.id
        AND c.day = (statement_timestamp() AT TIME ZONE t.timezone)::date), 0)
FROM mailsearch_tenant t LEFT JOIN agentic_dailyuse u ON u.tenant_id = t.id
    AND u.day = (statement_timestamp() AT TIME ZONE t.timezone)::date
WHERE t.id = ANY (%s)
"""
_RUNS = """
SELECT tenant_id, count(*), percentile_disc(0.95) WITHIN GROUP (ORDER BY steps),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds)
FROM agentic_runfinished WHERE tenant_id = ANY (%s) AND at >= statement_timestamp() - make_interval(days => %s)
GROUP BY tenant_id
"""


@dataclass(frozen=True, slots=True)
class Used:
    """What a tenant used: today, and by 95 of 100 of its runs of the last DAYS days (None without runs)."""

    runs: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    # Of the caller that asked most today.
    runs_of_one: int = 0
    ended: int = 0
    steps_p95: int | None = None
    seconds_p95: float | None = None


def used(tenants: Iterable[int], *, runs: bool = True) -> dict[int, Used]:
    """What each of *tenants* used; without *runs* today alone."""
    ids = list(tenants)
    with connection.cursor() as cursor:
        cursor.execute(_RUNS, [ids if runs else [], DAYS])
        ended = {row[0]: row[1:] for row in cursor.fetchall()}
        cursor.execute(_TODAY, [ids])
        return {row[0]: Used(*row[1:], *ended.get(row[0], ())) for row in cursor.fetchall()}


def percent(part: float | Decimal | None, whole: float | Decimal | None) -> int | None:
    """*part* in per cent of *whole*, None where one is unknown; of a limit of nothing, anything is all of it."""
    if part is None or whole is None:
        return None
    if not whole:
        return 100 if part else 0
    return round(100 * float(part) / float(whole))
