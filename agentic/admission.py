"""Whether a question may become a run: permission, daily cap, runs under way; and then the run's head, written down."""

import asyncio
import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.utils import timezone
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from agentic import caps, models, versions
from agentic.audit import LEASE_SECONDS, add, ring
from agentic.callers import Principal, scope_now
from agentic.core.budget import Limits
from agentic.core.ports import Model
from agentic.core.question import Question
from agentic.finishing import AuditUnavailable
from agentic.links import RunChain
from agentic.llm.wire import Prices
from agentic.policies import SECONDS, EffectivePolicy, effective
from agentic.rows import Clock
from agentic.workers import in_worker
from mailsearch.hits import Filters
from mailsearch.models import Permission, Tenant
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, session

TENANT_RUNS, CALLER_RUNS = 8, 4
# What reading the response from the rows and sending it may take, and at most of a run's seconds.
_RESPONSE_SECONDS, _RESPONSE_SHARE = 0.15, 0.1
_NO_PRICES = Prices()
# For estimates on the safe side: texts that are dense in tokens, and what a prompt holds beside mail.
_CHARACTERS_PER_TOKEN, _STATIC_TOKENS = 3, 8_000
Connection = AsyncConnection[TupleRow]
_STATE = """
INSERT INTO agentic_runstate
    (run_id, tenant_id, status, cancel_requested, leased_until, counted_on, reserved_tokens, reserved_cost_usd)
VALUES (%(run)s, %(tenant)s, 'queued', false, statement_timestamp() + make_interval(secs => %(lease)s),
    %(day)s, %(tokens)s, %(cost)s)
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


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as a request holds it. What is None comes from the tenant."""

    text: str
    filters: Filters = dataclasses.field(default_factory=Filters)
    filters_given: Mapping[str, object] = dataclasses.field(default_factory=dict)
    max_steps: int | None = None
    max_seconds: float | None = None
    timezone: str | None = None
    now: datetime | None = None
    idempotency_key: str = ""
    body_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Models:
    """The model that answers and the one that is asked before giving up."""

    answering: Model
    fallback: Model | None = None
    # False for the built-in reader, which costs nothing and can be asked nothing but a run's question.
    chat: bool = True
    # Of the dearer of the two, as far as they are known.
    prices: Prices = _NO_PRICES
    # Whether the day counts as used up: for the sandbox's question that shows it.
    used_up: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """A run that was admitted and written down."""

    principal: Principal
    run: int
    public_id: str
    question: Question
    limits: Limits
    scope: Scope
    policy: EffectivePolicy
    models: Models
    # Moment on `time.monotonic` at which the request came; the response leaves within max_seconds of it.
    began: float
    # Where the run's chain stands after its head, and the database's time.
    chain: RunChain
    clock: Clock

    @property
    def ends_by(self) -> float:
        """When the run's end must be written, so that the response to it leaves within max_seconds."""
        seconds = self.limits.max_seconds
        return self.began + seconds - min(_RESPONSE_SECONDS, _RESPONSE_SHARE * seconds)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The run that the same request had started before."""

    public_id: str


async def start(principal: Principal, ask: Ask, answering: Models, began: float | None = None) -> Started | Replayed:
    """Admit one run and write down who asks what, within which scope and limits.

    Raises NotPermitted, caps.AgenticSearchOff, caps.DailyCapReached, TooManyRuns and IdempotencyConflict. A run that
    is refused is not counted. Raises AuditUnavailable where its time is over before it could be written down.
    """
    if not principal.may(Permission.SEARCH_AGENTIC):
        raise NotPermitted(Permission.SEARCH_AGENTIC)
    began = time.monotonic() if began is None else began
    try:
        async with asyncio.timeout_at(began + (ask.max_seconds or SECONDS) * (1 - _RESPONSE_SHARE)):
            return await _admit(principal, ask, answering, began)
    except TimeoutError as error:
        raise AuditUnavailable("the run could not be written down in time") from error


async def _admit(principal: Principal, ask: Ask, answering: Models, began: float) -> Started | Replayed:
    policy, zone, scope = await in_worker(_circumstances, principal)
    question = Question(ask.text, ask.now or timezone.now(), ask.timezone or zone, policy.verification, ask.filters)
    limits = Limits(
        max_steps=min(ask.max_steps or policy.max_steps, policy.max_steps),
        max_seconds=min(ask.max_seconds or policy.max_seconds, policy.max_seconds),
    )
    binding = Binding(tenant=principal.tenant, audit=frozenset({principal.tenant}))
    try:
        async with session(binding) as conn:
            earlier = await _replay(conn, principal, ask)
            if earlier is not None:
                return earlier
            taken = await _take(conn, principal, policy, limits, answering)
            # The count holds back the tenant's other starts, so two that came together are told apart here.
            earlier = await _replay(conn, principal, ask)
            if earlier is not None:
                raise _AlreadyStarted(earlier)
            await _check_concurrency(conn, principal)
            head = await _write_head(conn, principal, ask, question, limits, scope, policy, answering, taken)
    except _AlreadyStarted as started:
        return started.earlier
    except caps.DailyCapReached:
        async with session(binding) as conn:
            earlier = await _replay(conn, principal, ask)
        if earlier is None:
            raise
        return earlier
    limits = dataclasses.replace(
        limits, run_tokens=taken.tokens, run_cost_usd=None if taken.cost_usd is None else float(taken.cost_usd)
    )
    return Started(
        principal, head.run, head.public_id, question, limits, scope, policy, answering, began, head.chain, head.clock
    )  # fmt: skip


def _circumstances(principal: Principal) -> tuple[EffectivePolicy, str, Scope]:
    zone = Tenant.objects.values_list("timezone", flat=True).get(pk=principal.tenant)
    return effective(principal.tenant), zone, scope_now(principal, Permission.SEARCH_AGENTIC)


async def _take(
    conn: Connection, principal: Principal, policy: EffectivePolicy, limits: Limits, answering: Models
) -> caps.Taken:
    allowed = policy.caps
    if not answering.chat:
        allowed = dataclasses.replace(allowed, tokens=0 if answering.used_up else None, cost_usd=None)
    return await caps.take(conn, principal.tenant, principal.caller, allowed, _need(limits, answering.prices))


def _need(limits: Limits, prices: Prices) -> caps.Need:
    """The most that a run can use: all steps, each with all the mail that may be shown."""
    prompt = limits.max_steps * (limits.run_characters // _CHARACTERS_PER_TOKEN + _STATIC_TOKENS)
    completion = limits.max_steps * limits.output_tokens
    return caps.Need(prompt + completion, Decimal(str(prices.cost(prompt, 0, completion))))


class _AlreadyStarted(Exception):
    def __init__(self, earlier: Replayed) -> None:
        super().__init__()
        self.earlier = earlier


async def _replay(conn: Connection, principal: Principal, ask: Ask) -> Replayed | None:
    if not ask.idempotency_key:
        return None
    cursor = await conn.execute(
        "SELECT i.body_sha256, r.public_id FROM agentic_idempotencykey i JOIN agentic_run r ON r.id = i.run_id"
        " WHERE i.caller = %s AND i.key = %s AND i.tenant_id = %s",
        (principal.caller, ask.idempotency_key, principal.tenant),
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    if row[0] != ask.body_sha256:
        raise IdempotencyConflict
    return Replayed(str(row[1]))


async def _check_concurrency(conn: Connection, principal: Principal) -> None:
    cursor = await conn.execute(
        "SELECT count(*), count(*) FILTER (WHERE r.caller = %s)"
        " FROM agentic_runstate s JOIN agentic_run r ON r.id = s.run_id"
        " WHERE s.tenant_id = %s AND s.status IN ('queued', 'running') AND s.leased_until > statement_timestamp()",
        (principal.caller, principal.tenant),
    )
    row = await cursor.fetchone()
    assert row is not None
    for count, limit, whose in ((row[1], CALLER_RUNS, "caller"), (row[0], TENANT_RUNS, "tenant")):
        if int(str(count)) >= limit:
            raise TooManyRuns(limit, whose)


@dataclass(frozen=True, slots=True)
class _Head:
    run: int
    public_id: str
    chain: RunChain
    clock: Clock


async def _write_head(
    conn: Connection, principal: Principal, ask: Ask, question: Question,
    limits: Limits, scope: Scope, policy: EffectivePolicy, answering: Models, taken: caps.Taken,
) -> _Head:  # fmt: skip
    public_id, chain = models.run_public_id(), RunChain()
    evaluation, clock = await _circumstances_of(conn, principal.tenant)
    run = await add(
        conn,
        models.Run,
        chain,
        started_at=clock.moment,
        tenant=principal.tenant,
        public_id=public_id,
        caller=principal.caller,
        caller_label=principal.label,
        question=question.text,
        timezone=question.timezone,
        asked_now=question.now,
        scope=_scope_json(scope),
        filters=ask.filters_given,
        max_steps=limits.max_steps,
        max_seconds=limits.max_seconds,
        model=answering.answering.name,
        policy=policy.verification,
        removed_text=policy.removed_text,
        verifier_version=versions.verifier(),
        prompt_hashes=versions.prompts_sha256(),
        service_version=versions.service(),
        evaluation=evaluation,
    )
    await conn.execute(_STATE, {**_holding(taken), "run": run, "tenant": principal.tenant})
    if ask.idempotency_key:
        await add(
            conn,
            models.IdempotencyKey,
            tenant=principal.tenant,
            caller=principal.caller,
            key=ask.idempotency_key,
            body_sha256=ask.body_sha256,
            run=run,
        )
    await ring(conn, principal.tenant, public_id)
    return _Head(run, public_id, chain, clock)


def _holding(taken: caps.Taken) -> dict[str, object]:
    reserved = taken.reserved
    return {"day": taken.day, "tokens": reserved.tokens, "cost": reserved.cost_usd, "lease": LEASE_SECONDS}


async def _circumstances_of(conn: Connection, tenant: int) -> tuple[bool, Clock]:
    """Whether the tenant is there for evaluation alone, and the database's time."""
    cursor = await conn.execute("SELECT evaluation, now() FROM mailsearch_tenant WHERE id = %s", (tenant,))
    row = await cursor.fetchone()
    assert row is not None
    return bool(row[0]), Clock.reading(row[1])


def _scope_json(scope: Scope) -> dict[str, object]:
    return {
        "folders": sorted(scope.folders),
        "received_from": scope.received_from,
        "received_until": scope.received_until,
        "version": scope.version,
    }
