"""A run as its rows tell it, and what of it a reader may still read.

Reading is bound to the reader's scope of now: a message that left it, was quarantined or erased since is no longer
readable, and neither is anything in the run that repeats its words.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from django.db.models import QuerySet
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from agentic import stored
from agentic.callers import Principal, ask_rights, told_rights
from agentic.models import Citation, Evidence, Run, RunFinished, RunState, Seal, Sentence, TraceEvent, WidenAttempt
from mailsearch.models import Message, Permission
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, bind, piped, rebind

Connection = AsyncConnection[TupleRow]
_Rows = Mapping[type[Any], list[Any]]
_Cursors = Mapping[type[Any], AsyncCursor[TupleRow]]
_ROWS_AT_A_TIME = 50
# One by one, by a key that belongs to one row: planned for one tenant, it suits the others.
_READABLE = """
SELECT m.public_id FROM unnest(%(ids)s::text[]) AS u (id)
CROSS JOIN LATERAL (SELECT m.public_id FROM mailsearch_message m WHERE m.public_id = u.id AND {} OFFSET 0) AS m
"""
_NAMED = "WHERE t.public_id = %s AND t.tenant_id = %s"
# How the rows of a run are found, by table; the sentences are those of the draft that counts.
_OF_RUN: Mapping[type[Any], str] = MappingProxyType(
    {
        RunState: "WHERE t.run_id = %s",
        TraceEvent: "WHERE t.run_id = %s ORDER BY t.seq",
        Evidence: "WHERE t.run_id = %s ORDER BY t.seq, t.id",
        Sentence: "WHERE t.run_id = %s AND t.final ORDER BY t.position, t.id",
        Citation: "JOIN agentic_sentence s ON s.id = t.sentence_id AND s.final WHERE t.run_id = %s ORDER BY t.id",
        WidenAttempt: "WHERE t.run_id = %s ORDER BY t.id",
        RunFinished: "WHERE t.run_id = %s",
        Seal: f"JOIN agentic_run r ON r.tenant_id = t.tenant_id AND r.id = t.row WHERE t.kind = '{Seal.Kind.RUN}'"
        " AND r.id = %s",
    }
)


@dataclass(frozen=True, slots=True)
class Record:
    """The rows of one run, and the ids of the messages in them that the reader may read now."""

    run: Run
    status: str
    finished: RunFinished | None
    trace: tuple[TraceEvent, ...]
    evidence: tuple[Evidence, ...]
    # Of the draft that counts, with their citations.
    sentences: tuple[Sentence, ...]
    widen_attempts: tuple[WidenAttempt, ...]
    readable: frozenset[str]
    # The reader holds audit:read: drafts, arguments as sent and requested values are shown.
    audits: bool
    # The run's entry in its tenant's chain, once it ended.
    seal: Seal | None = None

    @property
    def wholly_readable(self) -> bool:
        """Whether every message that the model read in this run may be read now."""
        return all(row.message_id in self.readable for row in self.evidence)


async def load(principal: Principal, public_id: str, *, own_only: bool = False) -> Record | None:
    """The run, for who started it or (unless *own_only*) holds audit:read in its tenant; None for everybody else."""
    audit = Binding(principal.tenant, audit=frozenset({principal.tenant}))
    # Else the end of a run could be seen in one table and not yet in another.
    async with piped(audit, at_one_moment=True) as conn:
        asked = await ask_rights(conn, principal)
        found = await conn.execute(stored.select(Run, _NAMED), (public_id, principal.tenant), prepare=True)
        now, runs = await told_rights(asked), stored.made(Run, await found.fetchall())
        audits = now is not None and Permission.AUDIT_READ in now.permissions
        if now is None or not runs or not (runs[0].caller == principal.caller or (audits and not own_only)):
            return None
        await bind(conn, replace(audit, mailboxes=now.scope.mailboxes))
        reading = await _ask_rows(conn, runs[0].pk)
        rows = {table: await _made(table, cursor) for table, cursor in reading.items()}
        shown = await _ask_readable(conn, now.scope, _named(rows))
        return _record(runs[0], rows, await _told_readable(shown), audits=audits)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of a run's rows by `ask`, for `told`."""

    run: AsyncCursor[TupleRow]
    rows: _Cursors
    readable: AsyncCursor[TupleRow]


async def ask(conn: Connection, run: int, scope: Scope, messages: Iterable[str]) -> Asked:
    """Ask for the rows of *run*, which has just ended, for a reader of *scope* who may read them.

    *messages* are all that its rows name, by public id. Within a pipeline it does not wait.
    """
    found = await conn.execute(stored.select(Run, "WHERE t.id = %s"), [run], prepare=True)
    return Asked(found, await _ask_rows(conn, run), await _ask_readable(conn, scope, messages))


async def told(asked: Asked, *, audits: bool) -> Record:
    """The record that was asked for."""
    (run,) = stored.made(Run, await asked.run.fetchall())
    rows = {table: await _made(table, cursor) for table, cursor in asked.rows.items()}
    return _record(run, rows, await _told_readable(asked.readable), audits=audits)


async def _ask_rows(conn: Connection, run: int) -> _Cursors:
    return {
        table: await conn.execute(stored.select(table, rest), [run], prepare=True) for table, rest in _OF_RUN.items()
    }


async def _made(table: type[Any], cursor: AsyncCursor[TupleRow]) -> list[Any]:
    """The rows of *table* that *cursor* gives, in pieces: a draft may hold hundreds, and other runs have deadlines."""
    rows: list[Any] = []
    while piece := await cursor.fetchmany(_ROWS_AT_A_TIME):
        if rows:
            await asyncio.sleep(0)
        rows += stored.made(table, piece)
    return rows


def of_run(run: Run, scope: Scope, *, audits: bool) -> Record:
    """The record of *run* for a reader of *scope*, in an open session, which from here on sees that scope."""
    rebind(Binding(run.tenant_id, scope.mailboxes, audit=frozenset({run.tenant_id})))
    rows = {table: stored.read(table, rest, run.pk) for table, rest in _OF_RUN.items()}
    return _record(run, rows, readable(scope, _named(rows)), audits=audits)


def _named(rows: _Rows) -> set[str]:
    """Public ids of all messages that the rows of a run name."""
    named = {row.message_id for table in (Evidence, Citation) for row in rows[table]}
    named |= {row.later_message for row in rows[Sentence]}
    return named | {message for row in rows[TraceEvent] for message in row.data.get("nearest", ())}


def _record(run: Run, rows: _Rows, shown: frozenset[str], *, audits: bool) -> Record:
    # Where the words of the evidence ran out, the message may be readable, but what the run read of it is not.
    gone = {row.message_id for row in rows[Evidence] if row.erased}
    citations: dict[int, list[Citation]] = {}
    for citation in rows[Citation]:
        citations.setdefault(citation.sentence_id, []).append(citation)
    for sentence in rows[Sentence]:
        stored.keep(sentence, "citations", citations.get(sentence.pk, []))
    return Record(
        run=run,
        status=rows[RunState][0].status,
        finished=next(iter(rows[RunFinished]), None),
        trace=tuple(rows[TraceEvent]),
        evidence=tuple(rows[Evidence]),
        sentences=tuple(rows[Sentence]),
        widen_attempts=tuple(rows[WidenAttempt]),
        readable=shown - gone,
        audits=audits,
        seal=next(iter(rows[Seal]), None),
    )


async def _ask_readable(conn: Connection, scope: Scope, ids: Iterable[str]) -> AsyncCursor[TupleRow]:
    """The same as `readable` over an event loop's connection. Within a pipeline it does not wait."""
    statement, values = replace(scope, with_deleted=True).statement(_READABLE)
    return await conn.execute(statement, {"ids": list(ids), **values}, prepare=True)


async def _told_readable(asked: AsyncCursor[TupleRow]) -> frozenset[str]:
    return frozenset(str(row[0]) for row in await asked.fetchall())


def readable(scope: Scope, ids: Iterable[str]) -> frozenset[str]:
    """Those of the messages *ids* that *scope* holds, in a session bound to it.

    Mail that was only deleted at its source stays readable where it is evidence.
    """
    return frozenset(messages_of(scope).filter(public_id__in=set(ids)))


def messages_of(scope: Scope) -> QuerySet[Message, str]:
    """Public ids of all messages that *scope* holds, in a session bound to it; also of those deleted at the source."""
    found = Message.objects.filter(folder__in=scope.folder_ids)
    if scope.received_from is not None:
        found = found.filter(received_at__gte=scope.received_from)
    if scope.received_until is not None:
        found = found.filter(received_at__lt=scope.received_until)
    return found.values_list("public_id", flat=True)
