"""Whether a question may become a run: permission, daily cap, runs under way; and then the run's head, written down."""

import asyncio
import dataclasses
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from django.conf import settings
from django.utils import timezone
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from agentic import caps, models, policies, versions
from agentic.audit import LEASE_SECONDS, RING, bell
from agentic.callers import Principal, scope_within
from agentic.core.budget import Limits
from agentic.core.question import Question
from agentic.finishing import AuditUnavailable, close_quietly
from agentic.links import RunChain
from agentic.llm.wire import Prices
from agentic.overhead import moments
from agentic.policies import SECONDS, EffectivePolicy
from agentic.rows import Clock, Sheet, draw
from agentic.starting import Ask, Models, Opening, Replayed, Started
from mailsearch.models import Permission
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, piped, session

__all__ = [
    "Ask",
    "IdempotencyConflict",
    "Models",
    "NotPermitted",
    "Replayed",
    "Started",
    "TooManyRuns",
    "start",
]

TENANT_RUNS, CALLER_RUNS = 8, 4
# Of a run's seconds, what is left for a refusal once its admission was given up.
_REFUSAL_SHARE = 0.1
# For estimates on the safe side: texts that are dense in tokens, and what a prompt holds beside mail.
_CHARACTERS_PER_TOKEN, _STATIC_TOKENS = 3, 8_000
Connection = AsyncConnection[TupleRow]
_TENANT = "SELECT timezone, evaluation, now() FROM mailsearch_tenant WHERE id = %s"
_SAME_REQUEST = """
SELECT i.body_sha256, r.public_id FROM agentic_idempotencykey i JOIN agentic_run r ON r.id = i.run_id
WHERE i.caller = %s AND i.key = %s AND i.tenant_id = %s
"""
_UNDER_WAY = """
SELECT count(*), count(*) FILTER (WHERE r.caller = %s) FROM agentic_runstate s JOIN agentic_run r ON r.id = s.run_id
WHERE s.tenant_id = %s AND s.status IN ('queued', 'running') AND s.leased_until > statement_timestamp()
"""
_STATE = b"""
INSERT INTO agentic_runstate
    (run_id, tenant_id, status, cancel_requested, leased_until, counted_on, reserved_tokens, reserved_cost_usd)
VALUES (%(run)s, %(tenant)s, %(status)s, false, statement_timestamp() + make_interval(secs => %(lease)s),
    %(day)s, %(tokens)s, %(cost)s)
RETURNING run_id
"""


class NotPermitted(Exception):
    """The caller lacks a permission."""

    def __init__(self, permission: str) -> None:
        super().__init__(permission)
        self.permission = permission


class TooManyRuns(Exception):
    """The tenant or the caller has as many runs under way as it may."""

    def __init__(self, limit: int, whose: str) -> None:
        super().__init__(f"{limit} runs of this {whose} are under way")
        self.limit = limit
        self.whose = whose


class IdempotencyConflict(Exception):
    """The Idempotency-Key was used with another body."""


async def start(
    principal: Principal, ask: Ask, answering: Models, began: float | None = None, opening: Opening | None = None
) -> Started | Replayed:
    """Admit one run and write down who asks what, within which scope and limits, and with *opening* what comes first.

    Raises NotPermitted, caps.AgenticSearchOff, caps.DailyCapReached, TooManyRuns and IdempotencyConflict. A run that
    is refused is not counted. Raises AuditUnavailable where its time is over before it could be written down.
    """
    if not principal.may(Permission.SEARCH_AGENTIC):
        raise NotPermitted(Permission.SEARCH_AGENTIC)
    began = time.monotonic() if began is None else began
    request = _Request(ask, answering, began, opening)
    admitting: asyncio.Task[Started | Replayed] | None = None
    try:
        async with asyncio.timeout_at(_written_by(began, ask.max_seconds or SECONDS)) as time_limit:
            # A task of its own: who asks leaves in time, however long the database takes to give up.
            admitting = asyncio.create_task(_admit(principal, request, time_limit))
            return await asyncio.shield(admitting)
    except (TimeoutError, asyncio.CancelledError) as left:
        if admitting is not None:
            admitting.cancel()
            admitting.add_done_callback(lambda _: _close_unwanted(request.written))
        if isinstance(left, TimeoutError):
            raise AuditUnavailable("the run could not be written down in time") from left
        raise


def _written_by(began: float, seconds: float) -> float:
    return began + seconds * (1 - _REFUSAL_SHARE)


_closing: set[asyncio.Task[None]] = set()


def _close_unwanted(written: Iterable[Started]) -> None:
    """A run that was written down all the same when whoever asked had left is driven by nobody: it ends here."""
    for started in written:
        closing = close_quietly(started.recorder, "interrupted", "audit_unavailable", where_it_is=True)
        _closing.add(task := asyncio.create_task(closing))
        task.add_done_callback(_closing.discard)


@dataclass(frozen=True, slots=True)
class _Request:
    """What `start` was given, and when it came."""

    ask: Ask
    answering: Models
    began: float
    opening: Opening | None
    # The run whose rows were sent to the database, which may not have been told to take them back in time.
    written: list[Started] = field(default_factory=list)


async def _admit(principal: Principal, request: _Request, time_limit: asyncio.Timeout) -> Started | Replayed:
    binding = Binding(tenant=principal.tenant, audit=frozenset({principal.tenant}))
    try:
        async with piped(binding) as conn:
            return await _admit_within(conn, principal, request, time_limit)
    except _AlreadyStarted as started:
        return started.earlier
    except caps.DailyCapReached:
        async with session(binding) as conn:
            earlier = await _earlier(await _same_request(conn, principal, request.ask), request.ask)
        if earlier is None:
            raise
        return earlier


async def _admit_within(
    conn: Connection, principal: Principal, request: _Request, time_limit: asyncio.Timeout
) -> Started | Replayed:
    ask = request.ask
    same = await _same_request(conn, principal, ask)
    now = await _circumstances(conn, principal)
    earlier = await _earlier(same, ask)
    if earlier is not None:
        return earlier
    policy = now.policy
    limits = Limits(
        max_steps=min(ask.max_steps or policy.max_steps, policy.max_steps),
        max_seconds=min(ask.max_seconds or policy.max_seconds, policy.max_seconds),
        result_characters=settings.PM_AGENT_RESULT_CHARACTERS,
    )
    if time_limit.expired():
        raise TimeoutError
    # The tenant's own limit may be shorter than what was reckoned with before it was known.
    time_limit.reschedule(_written_by(request.began, limits.max_seconds))
    allowed = _allowed(policy, request.answering)
    counting = await caps.ask(conn, principal.tenant, principal.caller, allowed)
    # The count holds back the tenant's other starts, so two that came together are told apart here.
    same, under_way = await _same_request(conn, principal, ask), await _under_way(conn, principal)
    need = _need(limits, request.answering.prices)
    taken = await caps.taken(conn, counting, principal.tenant, principal.caller, allowed, need)
    earlier = await _earlier(same, ask)
    if earlier is not None:
        raise _AlreadyStarted(earlier)
    await _check_concurrency(under_way)
    limits = dataclasses.replace(
        limits, run_tokens=taken.tokens, run_cost_usd=None if taken.cost_usd is None else float(taken.cost_usd)
    )
    return await _write(conn, _started(principal, request, limits, now), request, now, taken)


def _started(principal: Principal, request: _Request, limits: Limits, now: "_Now") -> Started:
    ask = request.ask
    zone = ask.timezone or now.timezone
    return Started(
        principal,
        now.run,
        models.run_public_id(),
        Question(ask.text, ask.now or timezone.now(), zone, now.policy.verification, ask.filters),
        limits,
        now.scope,
        now.policy,
        request.answering,
        request.began,
        RunChain(),
        now.clock,
        moments(request.began, limits.max_seconds),
    )


@dataclass(frozen=True, slots=True)
class _Now:
    """What holds when a run is asked for, and the id that it would have."""

    policy: EffectivePolicy
    timezone: str
    scope: Scope
    # Whether the tenant is there for evaluation alone.
    evaluation: bool
    clock: Clock
    run: int


async def _circumstances(conn: Connection, principal: Principal) -> _Now:
    policy = await policies.asked(conn, principal.tenant)
    tenant = await conn.execute(_TENANT, [principal.tenant], prepare=True)
    drawn = await draw(conn, models.Run)
    scope = await scope_within(conn, principal, Permission.SEARCH_AGENTIC)
    found, run = await tenant.fetchone(), await drawn.fetchone()
    assert found is not None and run is not None  # noqa: PT018 - a caller's tenant is never deleted
    zone, evaluation, moment = found
    held = await policies.told(policy, principal.tenant)
    return _Now(held, str(zone), scope, bool(evaluation), Clock.reading(moment), int(run[0]))


def _allowed(policy: EffectivePolicy, answering: Models) -> caps.Caps:
    """What the tenant's day allows for the models that answer."""
    if answering.chat:
        return policy.caps
    return dataclasses.replace(policy.caps, tokens=0 if answering.used_up else None, cost_usd=None)


def _need(limits: Limits, prices: Prices) -> caps.Need:
    """The most that a run can use: all steps, each with all the mail that may be shown."""
    prompt = limits.max_steps * (limits.run_characters // _CHARACTERS_PER_TOKEN + _STATIC_TOKENS)
    completion = limits.max_steps * limits.output_tokens
    return caps.Need(prompt + completion, Decimal(str(prices.cost(prompt, 0, completion))))


class _AlreadyStarted(Exception):
    def __init__(self, earlier: Replayed) -> None:
        super().__init__()
        self.earlier = earlier


async def _same_request(conn: Connection, principal: Principal, ask: Ask) -> AsyncCursor[TupleRow] | None:
    """Look for the run that the same request had started; `_earlier` reads the answer."""
    if not ask.idempotency_key:
        return None
    return await conn.execute(
        _SAME_REQUEST, (principal.caller, ask.idempotency_key, principal.tenant), prepare=True
    )  # fmt: skip


async def _earlier(found: AsyncCursor[TupleRow] | None, ask: Ask) -> Replayed | None:
    row = await found.fetchone() if found else None
    if row is None:
        return None
    if row[0] != ask.body_sha256:
        raise IdempotencyConflict
    return Replayed(str(row[1]))


async def _under_way(conn: Connection, principal: Principal) -> AsyncCursor[TupleRow]:
    return await conn.execute(_UNDER_WAY, (principal.caller, principal.tenant), prepare=True)


async def _check_concurrency(under_way: AsyncCursor[TupleRow]) -> None:
    row = await under_way.fetchone()
    assert row is not None
    for count, limit, whose in ((row[1], CALLER_RUNS, "caller"), (row[0], TENANT_RUNS, "tenant")):
        if int(str(count)) >= limit:
            raise TooManyRuns(limit, whose)


async def _write(conn: Connection, started: Started, request: _Request, now: _Now, taken: caps.Taken) -> Started:
    """Write down the run's head and state, and what comes first where it is begun at once."""
    sheet = _head(started, request.ask, now)
    opened = await request.opening(started, sheet) if request.opening else None
    state = {
        "status": "running" if opened else "queued",
        "run": started.run,
        "tenant": started.principal.tenant,
        **_holding(taken),
        **bell(started.principal.tenant, started.public_id),
    }
    request.written.append(started)
    await sheet.write(conn, _STATE + RING, state)
    return dataclasses.replace(started, opened=opened)


def _head(started: Started, ask: Ask, now: _Now) -> Sheet:
    """The run's head, as the first link of its chain."""
    sheet, question, tenant = Sheet(), started.question, started.principal.tenant
    sheet.add(
        models.Run,
        started.chain,
        id=started.run,
        started_at=now.clock.moment,
        tenant=tenant,
        public_id=started.public_id,
        caller=started.principal.caller,
        caller_label=started.principal.label,
        question=question.text,
        timezone=question.timezone,
        asked_now=question.now,
        scope=_scope_json(now.scope),
        filters=ask.filters_given,
        max_steps=started.limits.max_steps,
        max_seconds=started.limits.max_seconds,
        model=started.models.answering.name,
        policy=now.policy.verification,
        removed_text=now.policy.removed_text,
        verifier_version=versions.verifier(),
        prompt_hashes=versions.prompts_sha256(),
        service_version=versions.service(),
        evaluation=now.evaluation,
    )
    if ask.idempotency_key:
        sheet.add(
            models.IdempotencyKey,
            tenant=tenant,
            caller=started.principal.caller,
            key=ask.idempotency_key,
            body_sha256=ask.body_sha256,
            run=started.run,
        )
    return sheet


def _holding(taken: caps.Taken) -> dict[str, object]:
    reserved = taken.reserved
    return {"day": taken.day, "tokens": reserved.tokens, "cost": reserved.cost_usd, "lease": LEASE_SECONDS}


def _scope_json(scope: Scope) -> dict[str, object]:
    return {
        "folders": sorted(scope.folders),
        "received_from": scope.received_from,
        "received_until": scope.received_until,
        "version": scope.version,
    }
