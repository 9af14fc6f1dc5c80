"""The run's end: rights are checked once more, and answer, outcome and state are written in one transaction."""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from agentic import caps, meters, models, records, sealing
from agentic.audit import RING, Recorder
from agentic.callers import Principal, Rights, ask_rights, scope_by, told_rights
from agentic.core import verify
from agentic.core.answer import Sentence, Verification
from agentic.core.events import Event, Finished, Verified
from agentic.core.ports import Usage
from agentic.links import RunChain
from agentic.mailjson import coverage_json
from agentic.models import Seal
from agentic.records import Record
from agentic.rows import Clock, Sheet, draw
from mailsearch.hits import Coverage
from mailsearch.models import Permission
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, piped, session

Connection = AsyncConnection[TupleRow]
_CLOSING_SECONDS, _CLOSING_AGAIN_SECONDS = 5.0, 0.2
# How often a run's end is tried, within its time.
_ATTEMPTS = 3
# How long a table may keep waiting whoever reads a run that ended.
_READING_MS = 100
# Whoever changes the state ends the run; nobody does it twice. Gives a row to the one who did.
_END = (
    b"""WITH held AS (
    SELECT s.run_id, s.tenant_id, s.counted_on, s.reserved_tokens, s.reserved_cost_usd, r.caller
    FROM agentic_runstate s JOIN agentic_run r ON r.id = s.run_id
    WHERE s.run_id = %(run)s AND s.status IN ('queued', 'running')
    FOR UPDATE OF s
), """
    + caps.SETTLED
    + b"""
UPDATE agentic_runstate state
SET status = %(status)s, leased_until = NULL, counted_on = NULL, reserved_tokens = 0, reserved_cost_usd = 0
FROM held WHERE state.run_id = held.run_id RETURNING state.run_id"""
)
# Holds the run's state until it is ended by the same transaction.
_HOLD = """
SELECT true FROM agentic_runstate WHERE run_id = %s AND status IN ('queued', 'running')
    AND (NOT %s OR coalesce(leased_until, '-infinity') < statement_timestamp()) FOR UPDATE
"""
# One by one, by a key that belongs to one row: planned for one tenant, it suits the others.
_PLACES = """
SELECT m.public_id, m.folder_id, m.received_at FROM unnest(%(ids)s::text[]) AS u (id)
CROSS JOIN LATERAL (SELECT m.* FROM mailsearch_message m WHERE m.public_id = u.id AND {} OFFSET 0) AS m
"""
_log = logging.getLogger(__name__)


class AuditUnavailable(Exception):
    """What happened could not be written down in time, so there is no answer."""


async def finish(
    principal: Principal, scope: Scope, question: str, recorder: Recorder, last: Sequence[Event], coverage: Coverage
) -> Record | None:
    """Write the *last* events and the run's end, of which the very last one tells.

    Sentences that cite mail which the caller may no longer read are removed first. Gives the run as it is then on
    record, for the caller; None where it must be looked up. Raises AuditUnavailable if somebody else has
    closed the run meanwhile.
    """
    *before, finished = last
    if not isinstance(finished, Finished):
        raise TypeError("the loop's last event must be Finished")
    recorder.note_all(before)
    kept = recorder.kept()
    for left in reversed(range(_ATTEMPTS)):
        try:
            return await _finish(principal, scope, question, recorder, finished, coverage)
        except psycopg.OperationalError:
            # The connection that waited while the model thought may have been lost; the next one is another.
            if not left:
                raise
            recorder.restore(kept)
    return None


async def _finish(
    principal: Principal, scope: Scope, question: str, recorder: Recorder, finished: Finished, coverage: Coverage
) -> Record | None:
    # What is bound is what the run began with: it can only have become less.
    async with piped(replace(recorder.binding, mailboxes=scope.mailboxes)) as conn:
        ids = await _draw(conn, recorder.drafts)
        asked = await ask_rights(conn, principal)
        there = await _look_for(conn, scope, recorder.evidence)
        rights = await told_rights(asked)
        now = scope & scope_by(rights, principal, Permission.SEARCH_AGENTIC)
        readable = now.among(await there.fetchall())
        ended = _withdrawn(question, finished, recorder, readable)
        for draft, rows in zip(recorder.drafts, await _drawn(ids, recorder.drafts), strict=True):
            final = draft.verification is finished.verification
            counted = ended.verification if final and ended.verification else draft.verification
            await recorder.add_verification(rows, draft, counted, final=final)
        sealed = await _write_end(conn, recorder, ended, coverage)
    sealing.log(sealed)
    meters.ended(ended)
    return await _read(recorder, scope, rights, _named(recorder, ended)) if rights else None


async def _read(recorder: Recorder, scope: Scope, rights: Rights, named: Collection[str]) -> Record | None:
    """What is on record now, in one trip; None where that can't be had at once, and then whoever wants it waits."""
    binding = replace(recorder.binding, mailboxes=scope.mailboxes, statement_timeout_ms=_READING_MS)
    try:
        async with piped(binding, at_one_moment=True) as conn:
            asked = await records.ask(conn, recorder.run, rights.scope, named)
        return await records.told(asked, audits=Permission.AUDIT_READ in rights.permissions)
    except psycopg.Error:
        return None


def _named(recorder: Recorder, ended: Finished) -> set[str]:
    """Public ids of all messages that the rows of the run name."""
    sentences = ended.verification.sentences if ended.verification else ()
    return {*recorder.evidence, *recorder.nearest, *(one.later_message for one in sentences)}


async def close_quietly(recorder: Recorder, status: str, reason: str, *, where_it_is: bool = False) -> None:
    """End a run that could not end by itself: no answer, and what is on record stays. Never raises.

    *where_it_is*: it may never have come to be, and then there is nothing to close.
    """
    try:
        async with asyncio.timeout(_CLOSING_SECONDS):
            await _close_with_patience(recorder, status, reason)
    except (psycopg.Error, TimeoutError, AuditUnavailable) as error:
        # Its lease runs out, and then whoever starts next closes it.
        if not (where_it_is and isinstance(error, AuditUnavailable)):
            _log.warning("run %s could not be closed", recorder.public_id)


async def _close_with_patience(recorder: Recorder, status: str, reason: str) -> None:
    while True:
        try:
            await _close(recorder, status, reason)
            break
        except psycopg.OperationalError:
            await asyncio.sleep(_CLOSING_AGAIN_SECONDS)


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
            # Chain and clock are read when it is closed.
            clock = Clock.reading(datetime.now(UTC))
            recorder = Recorder(tenant, run, str(row[0]) if row else "", 0.0, RunChain(), clock)
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


async def _draw(conn: Connection, drafts: Sequence[Verified]) -> AsyncCursor[TupleRow]:
    """Ids for the rows of all sentences of *drafts*. Within a pipeline it does not wait."""
    return await draw(conn, models.Sentence, sum(len(one.verification.sentences) for one in drafts))


async def _drawn(cursor: AsyncCursor[TupleRow], drafts: Sequence[Verified]) -> list[list[int]]:
    """The ids by draft."""
    ids = (int(row[0]) for row in await cursor.fetchall())
    return [list(islice(ids, len(one.verification.sentences))) for one in drafts]


async def _look_for(conn: Connection, scope: Scope, ids: frozenset[str]) -> AsyncCursor[TupleRow]:
    """Ask where in *scope* the messages *ids* lie. Within a pipeline it does not wait."""
    statement, values = scope.statement(_PLACES)
    return await conn.execute(statement, {"ids": list(ids), **values}, prepare=True)


async def _write_end(
    conn: Connection, recorder: Recorder, finished: Finished, coverage: Coverage
) -> Mapping[str, object]:
    recorder.trace(finished)
    verification = finished.verification
    answered = verification is not None and finished.outcome == "answered"
    answer_text = verify.rebuild(verification, recorder.sources) if verification and answered else None
    recorder.put(
        models.RunFinished,
        outcome=finished.outcome,
        reason=finished.reason or "",
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
        **({} if answer_text is None else {"answer_text": answer_text}),
    )
    status = "cancelled" if finished.reason == "cancelled" else "finished"
    return await _seal(conn, recorder, status, finished.usage)


async def _seal(conn: Connection, recorder: Recorder, status: str, usage: Usage) -> Mapping[str, object]:
    """The last event, the run's state and use, and its chain closed. Raises AuditUnavailable where it has ended.

    Within a pipeline that is looked at no earlier, so that all comes back in one trip.
    """
    recorder.add_event(name="done", phase="answer", step=None, data={})
    values = {"run": recorder.run, "status": status, **caps.settling(usage)}
    ended = await recorder.sheet.write(conn, _END + RING, values | recorder.bell)
    # Taken last, since the tenant's other runs wait for it from here on.
    place = await sealing.take(conn, recorder.tenant)
    await _check(ended)
    chain = recorder.chain
    return await sealing.seal(conn, place, recorder.tenant, Seal.Kind.RUN, recorder.run, chain, recorder.public_id)


async def _check(open_run: AsyncCursor[TupleRow]) -> None:
    if await open_run.fetchone() is None:
        raise AuditUnavailable("the run was closed by somebody else")


async def _close(recorder: Recorder, status: str, reason: str, *, only_left_over: bool = False) -> None:
    async with session(recorder.binding) as conn:
        await _check(await conn.execute(_HOLD, (recorder.run, only_left_over)))
        so_far = await _so_far(conn, recorder.run)
        recorder.seq = so_far.seq
        recorder.began = time.monotonic() - so_far.ms / 1000
        # What this process remembers of the chain may not have been committed.
        recorder.chain = await sealing.chain_of(conn, recorder.run)
        recorder.clock = Clock.reading(so_far.now)
        # Nor what it had not written by then.
        recorder.sheet = Sheet()
        ids = await _drawn(await _draw(conn, recorder.drafts), recorder.drafts)
        for rows, draft in zip(ids, recorder.drafts, strict=True):
            await recorder.add_verification(rows, draft, draft.verification, final=False)
        # As in every run: without one usable reply it is degraded, else what it was given ended first.
        outcome = "budget_exhausted" if so_far.usable else "degraded"
        data = {"outcome": outcome, "reason": reason, "kept": 0, "removed": 0}
        recorder.add_event(name="cut", phase="answer", step=None, data={"limit": reason, "detail": ""})
        recorder.add_event(name="finished", phase="answer", step=None, data=data)
        recorder.put(
            models.RunFinished,
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
        sealed = await _seal(conn, recorder, status, so_far.usage)
    sealing.log(sealed)
    meters.closed(outcome, reason, so_far.ms / 1000)


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
    now: datetime

    @property
    def usage(self) -> Usage:
        return Usage(self.prompt, self.cached, self.completion, self.cost_usd)


async def _so_far(conn: Connection, run: int) -> _SoFar:
    cursor = await conn.execute(
        "SELECT (SELECT model FROM agentic_run WHERE id = %(run)s),"
        " coalesce(max(seq), 0), coalesce(max(at_ms), 0), coalesce(max(step), 0),"
        " count(*) FILTER (WHERE event = 'asked'), count(*) FILTER (WHERE event = 'called'),"
        " count(*) FILTER (WHERE event = 'replied' AND coalesce(facts->>'fault', '') = ''),"
        " coalesce(sum((facts#>>'{tokens,prompt}')::bigint), 0)::bigint,"
        " coalesce(sum((facts#>>'{tokens,cached}')::bigint), 0)::bigint,"
        " coalesce(sum((facts#>>'{tokens,completion}')::bigint), 0)::bigint,"
        " coalesce(sum((facts->>'cost_usd')::float8), 0), now()"
        " FROM agentic_traceevent WHERE run_id = %(run)s",
        {"run": run},
    )
    row = await cursor.fetchone()
    assert row is not None
    return _SoFar(*row)
