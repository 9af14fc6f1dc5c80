"""The run's end: rights are checked once more, and answer, outcome and state are written in one transaction."""

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from agentic import caps, models
from agentic.audit import Recorder, put, ring
from agentic.callers import Principal, scope_within
from agentic.core import verify
from agentic.core.answer import Sentence, Verification
from agentic.core.events import Event, Finished
from agentic.core.ports import Usage
from agentic.mailjson import coverage_json
from mailsearch.hits import Coverage
from mailsearch.models import Permission
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, session, writing

Connection = AsyncConnection[TupleRow]
_CLOSING_SECONDS = 5.0
_log = logging.getLogger(__name__)


class AuditUnavailable(Exception):
    """What happened could not be written down in time, so there is no answer."""


async def finish(
    principal: Principal, scope: Scope, question: str, recorder: Recorder, last: Sequence[Event], coverage: Coverage
) -> None:
    """Write the *last* events and the run's end, of which the very last one tells.

    Sentences that cite mail which the caller may no longer read are removed first. Raises AuditUnavailable if somebody
    else has closed the run meanwhile.
    """
    *before, finished = last
    if not isinstance(finished, Finished):
        raise TypeError("the loop's last event must be Finished")
    async with writing(recorder.binding) as conn:
        for event in before:
            await recorder.note(conn, event)
        now = scope & await scope_within(conn, principal, Permission.SEARCH_AGENTIC)
        await _rebind(conn, recorder, now)
        readable = await _readable(conn, now, recorder.evidence)
        ended = _withdrawn(question, finished, recorder, readable)
        for draft in recorder.drafts:
            final = draft.verification is finished.verification
            counted = ended.verification if final and ended.verification else draft.verification
            await recorder.add_verification(conn, draft.round, counted, final=final)
        await _write_end(conn, recorder, ended, coverage)


async def close_quietly(recorder: Recorder, status: str, reason: str) -> None:
    """End a run that could not end by itself: no answer, and what is on record stays. Never raises."""
    try:
        async with asyncio.timeout(_CLOSING_SECONDS):
            await _close(recorder, status, reason)
    except (psycopg.Error, TimeoutError, AuditUnavailable):
        # Its lease runs out, and then whoever starts next closes it.
        _log.warning("run %s could not be closed", recorder.public_id)


async def close_left_over() -> int:
    """Close the runs that a dead process left behind: those whose lease ran out. Returns how many."""
    async with session(Binding()) as conn:
        cursor = await conn.execute(
            "SELECT s.tenant_id, s.run_id FROM agentic_runstate s WHERE s.status IN ('queued', 'running')"
            " AND coalesce(s.leased_until, '-infinity') < statement_timestamp()"
        )
        left = [(int(tenant), int(run)) for tenant, run in await cursor.fetchall()]
    closed = 0
    for tenant, run in left:
        async with session(Binding(audit=frozenset({tenant}))) as conn:
            row = await (await conn.execute("SELECT public_id FROM agentic_run WHERE id = %s", (run,))).fetchone()
        try:
            recorder = Recorder(tenant, run, str(row[0]) if row else "", began=0.0)
            await _close(recorder, "interrupted", "interrupted", only_left_over=True)
            closed += 1
        except AuditUnavailable:
            # Another process was faster.
            continue
    return closed


def _withdrawn(question: str, finished: Finished, recorder: Recorder, readable: Collection[str]) -> Finished:
    """*finished* without what rests on mail that is no longer *readable*."""
    verification = finished.verification
    if verification is None or recorder.evidence <= set(readable):
        return finished
    kept = Verification(tuple(_still(one, readable) for one in verification.sentences), verification.version)
    outcome, reason = finished.outcome, finished.reason
    if outcome == "answered" and not any(one.support == "quote" for one in kept.kept):
        outcome, reason = "insufficient_evidence", "all_removed"
    elif outcome == "answered" and not verify.question_covered(question, kept, recorder.sources):
        outcome, reason = "insufficient_evidence", "question_not_covered"
    return replace(finished, verification=kept, outcome=outcome, reason=reason)


def _still(sentence: Sentence, readable: Collection[str]) -> Sentence:
    if sentence.kept and any(citation.message_id not in readable for citation in sentence.citations):
        return replace(sentence, kept=False, support=None, reason="source_withdrawn", later_message="")
    if sentence.later_message and sentence.later_message not in readable:
        return replace(sentence, later_message="")
    return sentence


async def _rebind(conn: Connection, recorder: Recorder, scope: Scope) -> None:
    binding = replace(recorder.binding, mailboxes=scope.mailboxes)
    for statement in binding.statements():
        await conn.execute(statement)


async def _readable(conn: Connection, scope: Scope, ids: frozenset[str]) -> frozenset[str]:
    condition, values = scope.condition("m")
    statement = sql.SQL("SELECT public_id FROM mailsearch_message m WHERE m.public_id = ANY(%(ids)s) AND ") + condition
    cursor = await conn.execute(statement, {"ids": list(ids), **values})
    return frozenset(str(row[0]) for row in await cursor.fetchall())


async def _write_end(conn: Connection, recorder: Recorder, finished: Finished, coverage: Coverage) -> None:
    await recorder.trace(conn, finished)
    verification = finished.verification
    answered = verification is not None and finished.outcome == "answered"
    answer_text = verify.rebuild(verification, recorder.sources) if verification and answered else None
    await put(
        conn,
        models.RunFinished,
        tenant=recorder.tenant,
        run=recorder.run,
        outcome=finished.outcome,
        reason=finished.reason or "",
        answer_text=answer_text,
        steps=finished.steps,
        seconds=finished.seconds,
        first_evidence_ms=finished.first_evidence_ms,
        model_calls=finished.model_calls,
        tool_calls=finished.tool_calls,
        prompt_tokens=finished.usage.prompt,
        cached_tokens=finished.usage.cached,
        completion_tokens=finished.usage.completion,
        cost_usd=finished.usage.cost_usd,
        kept=len(verification.kept) if verification and answered else 0,
        removed=len(verification.removed) if verification else 0,
        model=finished.model,
        coverage=coverage_json(coverage),
    )
    status = "cancelled" if finished.reason == "cancelled" else "finished"
    await _change_status(conn, recorder.run, status)
    await caps.settle(conn, recorder.run, finished.usage)
    await recorder.add_event(conn, name="done", phase="answer", step=None, data={})
    await ring(conn, recorder.tenant, recorder.public_id)


async def _change_status(conn: Connection, run: int, status: str, *, only_left_over: bool = False) -> None:
    """Whoever changes the state ends the run; nobody does it twice. Raises AuditUnavailable for the second."""
    cursor = await conn.execute(
        "UPDATE agentic_runstate SET status = %s, leased_until = NULL"
        " WHERE run_id = %s AND status IN ('queued', 'running')"
        " AND (NOT %s OR coalesce(leased_until, '-infinity') < statement_timestamp()) RETURNING run_id",
        (status, run, only_left_over),
    )
    if await cursor.fetchone() is None:
        raise AuditUnavailable("the run was closed by somebody else")


async def _close(recorder: Recorder, status: str, reason: str, *, only_left_over: bool = False) -> None:
    async with session(recorder.binding) as conn:
        await _change_status(conn, recorder.run, status, only_left_over=only_left_over)
        so_far = await _so_far(conn, recorder.run)
        await caps.settle(conn, recorder.run, so_far.usage)
        recorder.seq = so_far.seq
        recorder.began = time.monotonic() - so_far.ms / 1000
        for draft in recorder.drafts:
            await recorder.add_verification(conn, draft.round, draft.verification, final=False)
        # As in every run: without one usable reply it is degraded, else what it was given ended first.
        outcome = "budget_exhausted" if so_far.usable else "degraded"
        data = {"outcome": outcome, "reason": reason, "kept": 0, "removed": 0}
        await recorder.add_event(conn, name="cut", phase="answer", step=None, data={"limit": reason, "detail": ""})
        await recorder.add_event(conn, name="finished", phase="answer", step=None, data=data)
        await put(
            conn,
            models.RunFinished,
            tenant=recorder.tenant,
            run=recorder.run,
            outcome=outcome,
            reason=reason[:60],
            steps=so_far.steps,
            seconds=so_far.ms / 1000,
            model_calls=so_far.asked,
            tool_calls=so_far.called,
            prompt_tokens=so_far.prompt,
            cached_tokens=so_far.cached,
            completion_tokens=so_far.completion,
            cost_usd=so_far.cost_usd,
            model=so_far.model,
        )
        await recorder.add_event(conn, name="done", phase="answer", step=None, data={})
        await ring(conn, recorder.tenant, recorder.public_id)


@dataclass(frozen=True, slots=True)
class _SoFar:
    """What the trace of an unfinished run says."""

    model: str
    seq: int
    ms: int
    steps: int
    asked: int
    called: int
    usable: int
    prompt: int
    cached: int
    completion: int
    cost_usd: float

    @property
    def usage(self) -> Usage:
        return Usage(self.prompt, self.cached, self.completion, self.cost_usd)


async def _so_far(conn: Connection, run: int) -> _SoFar:
    cursor = await conn.execute(
        "SELECT (SELECT model FROM agentic_run WHERE id = %(run)s),"
        " coalesce(max(seq), 0), coalesce(max(at_ms), 0), coalesce(max(step), 0),"
        " count(*) FILTER (WHERE event = 'asked'), count(*) FILTER (WHERE event = 'called'),"
        " count(*) FILTER (WHERE event = 'replied' AND coalesce(data->>'fault', '') = ''),"
        " coalesce(sum((data#>>'{tokens,prompt}')::bigint), 0)::bigint,"
        " coalesce(sum((data#>>'{tokens,cached}')::bigint), 0)::bigint,"
        " coalesce(sum((data#>>'{tokens,completion}')::bigint), 0)::bigint,"
        " coalesce(sum((data->>'cost_usd')::float8), 0)"
        " FROM agentic_traceevent WHERE run_id = %(run)s",
        {"run": run},
    )
    row = await cursor.fetchone()
    assert row is not None
    return _SoFar(*row)
