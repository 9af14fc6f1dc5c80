"""What became of tenants' runs, day by day and in all, counted by the database.

A fixed number of statements for any number of tenants and runs, each over an index by time. For sessions that may see
the audit of the tenants; without any content. Days are those of UTC, as in the filters of the lists of runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection
from django.utils.timezone import now

OUTCOMES = ("answered", "insufficient_evidence", "budget_exhausted", "degraded")
# Answers of a tenant that the verifier's alarm looks at, the newest.
WATCHED = 200
# Sorted in memory, and without compiling statements that take less time than their compilation.
_AT_ONCE = "SET LOCAL work_mem = '64MB'; SET LOCAL jit = off"
_SPREAD = """
SELECT (at AT TIME ZONE 'UTC')::date AS day, count(*),
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY seconds),
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY first_evidence_ms),
    sum(prompt_tokens::bigint + completion_tokens), sum(cost_usd)
FROM agentic_runfinished WHERE tenant_id = ANY (%(tenants)s) AND at >= %(since)s
GROUP BY GROUPING SETS ((1), ())
"""
_OUTCOMES = """
SELECT tenant_id, (at AT TIME ZONE 'UTC')::date, outcome, count(*)
FROM agentic_runfinished WHERE tenant_id = ANY (%(tenants)s) AND at >= %(since)s GROUP BY 1, 2, 3
"""
_P95 = """
SELECT tenant_id, percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds)
FROM agentic_runfinished WHERE tenant_id = ANY (%(tenants)s) AND at >= %(since)s GROUP BY 1
"""
_REMOVED = """
SELECT reason, count(*) FROM agentic_sentence
WHERE tenant_id = ANY (%(tenants)s) AND at >= %(since)s AND NOT kept AND final AND NOT structural
GROUP BY 1 ORDER BY 2 DESC, 1
"""
_WIDENED = """
SELECT kind, count(*) FROM agentic_widenattempt WHERE tenant_id = ANY (%(tenants)s) AND at >= %(since)s
GROUP BY 1 ORDER BY 2 DESC, 1
"""
_UNQUOTED = """
SELECT t.id, count(*), count(*) FILTER (WHERE NOT EXISTS (
    SELECT FROM agentic_citation c WHERE c.run_id = f.run_id AND c.start IS NOT NULL))
FROM unnest(%(tenants)s::bigint[]) t (id) CROSS JOIN LATERAL (
    SELECT run_id FROM agentic_runfinished WHERE tenant_id = t.id AND outcome = 'answered' AND at >= %(since)s
    ORDER BY at DESC LIMIT %(watched)s) f
GROUP BY 1
"""
_NEWEST_UNQUOTED = """
SELECT f.run_id FROM unnest(%(tenants)s::bigint[]) t (id) CROSS JOIN LATERAL (
    SELECT run_id FROM agentic_runfinished WHERE tenant_id = t.id AND outcome = 'answered'
    ORDER BY at DESC LIMIT %(watched)s) f
WHERE NOT EXISTS (SELECT FROM agentic_citation c WHERE c.run_id = f.run_id AND c.start IS NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Spread:
    """Runs of one day, or of all days: medians and 95th percentiles, in seconds; tokens and cost in sum."""

    runs: int = 0
    seconds: tuple[float, float] | None = None
    # Until the first evidence; None where no run found any.
    evidence: tuple[float, float] | None = None
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Watched:
    """What the verifier's alarm saw: answers, and those among them without one extracted quote."""

    answers: int = 0
    unquoted: int = 0


@dataclass(frozen=True, slots=True)
class Trends:
    """All of it. Days run from the first to today, without gaps."""

    since: datetime
    days: tuple[date, ...]
    daily: Mapping[date, Spread]
    whole: Spread
    # Tenant to day to outcome to runs.
    outcomes: Mapping[int, Mapping[date, Mapping[str, int]]]
    seconds_p95: Mapping[int, float]
    removed: Sequence[tuple[str, int]]
    widened: Sequence[tuple[str, int]]
    watched: Mapping[int, Watched]

    def on(self, day: date, outcome: str, tenant: int | None = None) -> int:
        """Runs of all tenants, or of one, that ended so on *day*."""
        asked = self.outcomes if tenant is None else {tenant: self.outcomes.get(tenant, {})}
        return sum(days.get(day, {}).get(outcome, 0) for days in asked.values())

    def total(self, outcome: str, tenant: int | None = None) -> int:
        return sum(self.on(day, outcome, tenant) for day in self.days)


def read(tenants: Iterable[int], days: int) -> Trends:
    """The last *days* days, today among them; within an open transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_AT_ONCE)
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=days - 1)
    values = {"tenants": list(tenants), "since": since, "watched": WATCHED}
    spreads = {row[0]: _spread(row) for row in _rows(_SPREAD, values)}
    outcomes: dict[int, dict[date, dict[str, int]]] = {}
    for tenant, day, outcome, count in _rows(_OUTCOMES, values):
        outcomes.setdefault(tenant, {}).setdefault(day, {})[outcome] = count
    return Trends(
        since,
        tuple((since + timedelta(days=number)).date() for number in range(days)),
        {day: one for day, one in spreads.items() if day is not None},
        spreads.get(None, Spread()),
        outcomes,
        _p95(values, spreads.get(None)),
        _rows(_REMOVED, values),
        _rows(_WIDENED, values),
        {tenant: Watched(answers, unquoted) for tenant, answers, unquoted in _rows(_UNQUOTED, values)},
    )


def unquoted(tenants: Iterable[int]) -> list[int]:
    """Runs that the verifier's alarm counts: of each tenant's newest WATCHED answers those without a quote."""
    return [run for (run,) in _rows(_NEWEST_UNQUOTED, {"tenants": list(tenants), "watched": WATCHED})]


def _p95(values: Mapping[str, Any], whole: Spread | None) -> dict[int, float]:
    """The 95th percentile of the seconds by tenant; of a single one it is that of all."""
    if len(values["tenants"]) == 1 and whole is not None and whole.seconds is not None:
        return {values["tenants"][0]: whole.seconds[1]}
    return dict(_rows(_P95, values))


def _rows(statement: str, values: Mapping[str, Any]) -> list[tuple]:  # type: ignore[type-arg]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _spread(row: tuple) -> Spread:  # type: ignore[type-arg]
    _, runs, seconds, evidence, tokens, cost = row
    found = evidence and evidence[0] is not None
    return Spread(
        runs,
        tuple(seconds) if seconds else None,
        (evidence[0] / 1000, evidence[1] / 1000) if found else None,
        int(tokens or 0),
        float(cost or 0),
    )
