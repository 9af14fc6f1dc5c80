"""The caps of a tenant's day: runs, tokens and money, and the share of each that one caller may use.

A run is counted, and tokens and money reserved for it, by statements that hold the tenant's row of the day until the
admission is written; at the run's end what it really used takes the place of what was reserved, once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import ceil
from typing import Literal
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from agentic.core.ports import Usage

Connection = AsyncConnection[TupleRow]
What = Literal["runs", "tokens", "USD"]
Whose = Literal["tenant", "caller"]
# What is only held by runs under way is free again when they end: asking again soon is worth while.
_HELD_SECONDS = 5
# Of a row of use, as counting it gives them.
_COLUMNS = 5
# The day is the tenant's, by the database's clock.
_TAKE = """
WITH whole AS (
    INSERT INTO agentic_dailyuse AS use (tenant_id, day, used, tokens, cost_usd, reserved_tokens, reserved_cost_usd)
    SELECT id, (statement_timestamp() AT TIME ZONE timezone)::date, 1, 0, 0, 0, 0
    FROM mailsearch_tenant WHERE id = %(tenant)s
    ON CONFLICT (tenant_id, day) DO UPDATE SET used = use.used + 1 WHERE use.used < %(cap)s
    RETURNING day, tokens, reserved_tokens, cost_usd, reserved_cost_usd
), mine AS (
    INSERT INTO agentic_calleruse AS use
        (tenant_id, day, caller, used, tokens, cost_usd, reserved_tokens, reserved_cost_usd)
    SELECT %(tenant)s, day, %(caller)s, 1, 0, 0, 0, 0 FROM whole
    ON CONFLICT (tenant_id, day, caller) DO UPDATE SET used = use.used + 1 WHERE use.used < %(share)s
    RETURNING day, tokens, reserved_tokens, cost_usd, reserved_cost_usd
)
SELECT * FROM whole LEFT JOIN mine ON true
"""
_RESERVE = """
WITH mine AS (
    UPDATE agentic_calleruse SET reserved_tokens = reserved_tokens + %(tokens)s,
        reserved_cost_usd = reserved_cost_usd + %(cost)s
    WHERE tenant_id = %(tenant)s AND day = %(day)s AND caller = %(caller)s
)
UPDATE agentic_dailyuse SET reserved_tokens = reserved_tokens + %(tokens)s,
    reserved_cost_usd = reserved_cost_usd + %(cost)s
WHERE tenant_id = %(tenant)s AND day = %(day)s
"""
# Terms of the statement that ends a run, after the term `held`, which is the run's state with its caller: what the run
# used takes the place of what was reserved for it. The day's row comes first, as where a run is counted: who locks the
# same rows in the same order waits, but not for ever.
SETTLED = b"""
day AS (
    UPDATE agentic_dailyuse use SET tokens = use.tokens + %(tokens)s, cost_usd = use.cost_usd + %(cost)s,
        reserved_tokens = use.reserved_tokens - held.reserved_tokens,
        reserved_cost_usd = use.reserved_cost_usd - held.reserved_cost_usd
    FROM held WHERE use.tenant_id = held.tenant_id AND use.day = held.counted_on
    RETURNING use.day
), mine AS (
    UPDATE agentic_calleruse use SET tokens = use.tokens + %(tokens)s, cost_usd = use.cost_usd + %(cost)s,
        reserved_tokens = use.reserved_tokens - held.reserved_tokens,
        reserved_cost_usd = use.reserved_cost_usd - held.reserved_cost_usd
    FROM held, day WHERE use.tenant_id = held.tenant_id AND use.day = day.day AND use.caller = held.caller
)
"""
_TODAY = """
SELECT coalesce(use.used, 0), coalesce(use.tokens, 0), coalesce(use.cost_usd, 0), today.day, today.timezone, today.now
FROM (
    SELECT id, timezone, statement_timestamp() AS now, (statement_timestamp() AT TIME ZONE timezone)::date AS day
    FROM mailsearch_tenant WHERE id = %(tenant)s
) AS today LEFT JOIN agentic_dailyuse AS use ON use.tenant_id = today.id AND use.day = today.day
"""

_TODAY_OF_CALLER = """
SELECT use.used, use.tokens, use.cost_usd
FROM agentic_calleruse AS use JOIN mailsearch_tenant AS t ON t.id = use.tenant_id
WHERE use.tenant_id = %(tenant)s AND use.caller = %(caller)s
    AND use.day = (statement_timestamp() AT TIME ZONE t.timezone)::date
"""


class AgenticSearchOff(Exception):
    """The tenant's daily cap is 0."""


@dataclass(frozen=True, slots=True)
class Caps:
    """What a tenant's day allows. None is no cap; *key_share* is the percentage of each that one caller may use."""

    runs: int
    tokens: int | None = None
    cost_usd: Decimal | None = None
    key_share: int = 100

    @property
    def share(self) -> "Caps":
        """What the day allows to one caller: one run and one token at least."""
        return Caps(
            max(1, self.runs * self.key_share // 100),
            None if self.tokens is None else max(1, self.tokens * self.key_share // 100),
            None if self.cost_usd is None else self.cost_usd * self.key_share / 100,
        )


@dataclass(frozen=True, slots=True)
class Need:
    """The most that one run can use of tokens and money."""

    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Taken:
    """A counted run: the tenant's day that it counts for, what is reserved for it, and what it may use at most.

    `tokens` and `cost_usd` are None where the day has no such cap.
    """

    day: date
    reserved: Need
    tokens: int | None
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Today:
    """What a tenant has used of today, and when its next day begins."""

    used: int
    tokens: int
    cost_usd: Decimal
    # On the tenant's clock.
    ends: datetime
    seconds_left: int


@dataclass(frozen=True, slots=True)
class Use:
    """What one caller has used of today."""

    used: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


class DailyCapReached(Exception):
    """A cap of today is used up by the tenant, or the share of it by the caller.

    `held` is true where runs under way hold what is left. `retry_after` is in seconds.
    """

    def __init__(self, amount: "Amount", today: Today) -> None:
        super().__init__(str(amount))
        self.amount = amount
        self.today = today
        self.held = amount.used < amount.cap
        self.retry_after = min(_HELD_SECONDS, today.seconds_left) if self.held else today.seconds_left


@dataclass(frozen=True, slots=True)
class Amount:
    """How far one cap is used: by runs that ended, and by what is held for those under way."""

    what: What
    whose: Whose
    cap: int | Decimal
    used: int | Decimal
    held: int | Decimal = 0

    @property
    def room(self) -> int | Decimal:
        return self.cap - self.used - self.held

    def __str__(self) -> str:
        of_whom = " by this caller" if self.whose == "caller" else ""
        unit = "" if self.what == "runs" else f" {self.what}"
        held = f" and {_plain(self.held)} held by runs under way" if self.held else ""
        return f"{_plain(self.used)} of {_plain(self.cap)}{unit} used{of_whom}{held}"


@dataclass(frozen=True, slots=True)
class _Counter:
    """A row of use, with the new run counted in it."""

    day: date
    tokens: int
    reserved_tokens: int
    cost_usd: Decimal
    reserved_cost_usd: Decimal

    def amounts(self, caps: Caps, whose: Whose) -> Iterable[Amount]:
        if caps.tokens is not None:
            yield Amount("tokens", whose, caps.tokens, self.tokens, self.reserved_tokens)
        if caps.cost_usd is not None:
            yield Amount("USD", whose, caps.cost_usd, self.cost_usd, self.reserved_cost_usd)


async def take(conn: Connection, tenant: int, caller: str, caps: Caps, need: Need | None = None) -> Taken:
    """Count one more run of *caller*, and reserve *need* or what is left of it, if the day has anything left.

    Until the transaction ends, no other run of the tenant can be counted; if it is rolled back, this one is not. So let
    errors out of the transaction. Raises AgenticSearchOff and DailyCapReached.
    """
    return await taken(conn, await ask(conn, tenant, caller, caps), tenant, caller, caps, need)


async def ask(conn: Connection, tenant: int, caller: str, caps: Caps) -> AsyncCursor[TupleRow]:
    """Begin to `take`; `taken` reads what came of it. Within a pipeline it does not wait. Raises AgenticSearchOff."""
    if caps.runs == 0:
        raise AgenticSearchOff
    asked = {"tenant": tenant, "cap": caps.runs, "caller": caller, "share": caps.share.runs}
    return await conn.execute(_TAKE, asked, prepare=True)


async def taken(
    conn: Connection, asked: AsyncCursor[TupleRow], tenant: int, caller: str, caps: Caps, need: Need | None = None
) -> Taken:
    """See `take`. Raises DailyCapReached."""
    share = caps.share
    row = await asked.fetchone()
    if row is None:
        raise await _reached(conn, tenant, Amount("runs", "tenant", caps.runs, caps.runs))
    if row[_COLUMNS] is None:
        raise await _reached(conn, tenant, Amount("runs", "caller", share.runs, share.runs))
    day, mine = _Counter(*row[:_COLUMNS]), _Counter(*row[_COLUMNS:])
    amounts = [*day.amounts(caps, "tenant"), *mine.amounts(share, "caller")]
    short = next((one for one in amounts if one.room <= 0), None)
    if short is not None:
        raise await _reached(conn, tenant, short)
    given = _share_out(day.day, amounts, need or Need())
    if given.reserved != Need():
        held = {"tokens": given.reserved.tokens, "cost": given.reserved.cost_usd}
        await conn.execute(_RESERVE, {"tenant": tenant, "day": given.day, "caller": caller, **held})
    return given


def settling(usage: Usage) -> dict[str, object]:
    """The values of SETTLED for a run that used *usage*.

    For the statement that ends the run, and so `held` it: then it happens once.
    """
    return {"tokens": usage.prompt + usage.completion, "cost": Decimal(str(usage.cost_usd))}


async def today(conn: Connection, tenant: int) -> Today:
    """How much of its day *tenant* has used."""
    cursor = await conn.execute(_TODAY, {"tenant": tenant})
    row = await cursor.fetchone()
    if row is None:
        raise LookupError(f"There is no tenant {tenant}.")
    used, tokens, cost, day, zone, now = row
    # Where the clocks are put back over midnight there are two of them, and the day begins with the first; where they
    # are put forward over it, with the hour after.
    ends = datetime.combine(day + timedelta(days=1), time(), ZoneInfo(zone)).astimezone(UTC)
    seconds_left = max(1, ceil((ends - now).total_seconds()))
    return Today(used, tokens, cost, ends.astimezone(ZoneInfo(zone)), seconds_left)


async def used_by(conn: Connection, tenant: int, caller: str) -> Use:
    """How much of the day *caller* has used."""
    row = await (await conn.execute(_TODAY_OF_CALLER, {"tenant": tenant, "caller": caller})).fetchone()
    return Use(*row) if row else Use()


async def _reached(conn: Connection, tenant: int, amount: Amount) -> DailyCapReached:
    return DailyCapReached(amount, await today(conn, tenant))


def _share_out(day: date, amounts: Iterable[Amount], need: Need) -> Taken:
    """What a run is given: as much as it can need, or all that is left. What costs nothing known reserves nothing."""
    rooms: dict[What, int | Decimal] = {}
    for one in amounts:
        rooms[one.what] = min(one.room, rooms.get(one.what, one.room))
    tokens = int(rooms["tokens"]) if "tokens" in rooms else None
    cost = Decimal(rooms["USD"]) if "USD" in rooms else None
    reserved = Need(
        0 if tokens is None else min(need.tokens, tokens),
        Decimal(0) if cost is None else min(need.cost_usd, cost),
    )
    return Taken(
        day,
        reserved,
        tokens if tokens is None else reserved.tokens or tokens,
        cost if cost is None else reserved.cost_usd or cost,
    )


def _plain(number: int | Decimal) -> str:
    """Digits without an exponent and without zeros that say nothing."""
    return f"{number.normalize():f}" if isinstance(number, Decimal) else str(number)
