"""Events become rows: added before the act that they announce, never changed.

A Recorder belongs to one run. Each batch of events is one transaction: the rows, the renewed lease, and a ring of the
doorbell (`pg_notify`) that wakes whoever follows the run.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.db.models import Field, JSONField, Model
from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from agentic import models
from agentic.core.answer import Sentence, Verification
from agentic.core.events import Asked, Called, Cut, Drafted, Event, Finished, Found, Replied, Verified
from agentic.core.evidence import EvidenceItem
from agentic.core.ports import Usage, WidenAttempt
from agentic.mailjson import excerpt_json, head_json
from mailsearch.hits import MessageText
from mailsearch.sessions import Binding, writing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DOORBELL = "mailsearch_run"
LEASE_SECONDS = 20
Connection = AsyncConnection[TupleRow]


async def add(conn: Connection, table: type[Model], **values: object) -> int:
    """Insert one row of *table* with the columns in *values* and else their defaults; returns its id."""
    statement, columns = _insertion(table, frozenset(values), returning=True)
    row = await (await conn.execute(statement, _given(columns, values))).fetchone()
    assert row is not None
    return int(row[0])


async def put(conn: Connection, table: type[Model], **values: object) -> None:
    """The same for rows whose id nobody needs; within a pipeline it does not wait."""
    statement, columns = _insertion(table, frozenset(values), returning=False)
    await conn.execute(statement, _given(columns, values))


@lru_cache(64)
def _insertion(
    table: type[Model], names: frozenset[str], *, returning: bool
) -> tuple[bytes, "tuple[Field[Any, Any], ...]"]:
    """The statement that inserts a row, and the columns that it sets in their order."""
    columns = tuple(
        column
        for column in table._meta.concrete_fields
        if column.name in names or (column.has_default() and not column.has_db_default() and not column.primary_key)
    )
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table._meta.db_table),
        sql.SQL(", ").join(sql.Identifier(str(column.column)) for column in columns),
        sql.SQL(", ").join(sql.Placeholder() for _ in columns),
    )
    if returning:
        statement += sql.SQL(" RETURNING {}").format(sql.Identifier(str(table._meta.pk.column)))
    return statement.as_bytes(None), columns


def _given(columns: "tuple[Field[Any, Any], ...]", values: Mapping[str, object]) -> list[object]:
    return [
        _adapted(column, values[column.name] if column.name in values else column.get_default()) for column in columns
    ]


def channel(tenant: int, run: str) -> str:
    """The name under which a run's doorbell rings."""
    return f"{tenant}-{run}"


async def ring(conn: Connection, tenant: int, run: str) -> None:
    """Wake whoever follows the run with this public id, once the transaction is committed."""
    await conn.execute("SELECT pg_notify(%s, %s)", (DOORBELL, channel(tenant, run)))


@dataclass(slots=True)
class Recorder:
    """Writes down one run. `cancelled` turns true once somebody asked for the run's end."""

    tenant: int
    run: int
    public_id: str
    # Moment on `time.monotonic` at which the request came.
    began: float
    seq: int = 0
    cancelled: bool = False
    drafts: list[Verified] = field(default_factory=list)
    # Label to message, of all evidence.
    sources: dict[str, MessageText] = field(default_factory=dict)
    _read_before: tuple[str, ...] = ()

    @property
    def binding(self) -> Binding:
        return Binding(tenant=self.tenant, audit=frozenset({self.tenant}))

    @property
    def evidence(self) -> frozenset[str]:
        """Public ids of all messages that were admitted."""
        return frozenset(message.head.message_id for message in self.sources.values())

    async def record(self, events: Iterable[Event]) -> None:
        """Write *events* down. Finished is not for here but for the run's end."""
        # All in one trip: what a run writes down, it waits for.
        async with writing(self.binding) as conn:
            for event in events:
                await self.note(conn, event)
            await ring(conn, self.tenant, self.public_id)
            renewed = await self.renew(conn)
        await self.heed(renewed)

    async def note(self, conn: Connection, event: Event) -> None:
        """Add the rows of *event*."""
        await self.trace(conn, event)
        if isinstance(event, Verified):
            self.drafts.append(event)
        if isinstance(event, Found):
            await self._add_found(conn, event)
            read = tuple(item.message.head.message_id for item in event.admitted)
            self.sources |= {item.label: item.message for item in event.admitted}
            self._read_before = read + event.seen_again or self._read_before

    async def trace(self, conn: Connection, event: Event) -> None:
        """Add the trace's next row."""
        await self.add_event(
            conn,
            name=type(event).__name__.lower(),
            phase=getattr(event, "phase", "answer" if isinstance(event, Drafted) else "verify"),
            step=getattr(event, "step", None),
            data=event_data(event),
        )

    async def add_event(
        self, conn: Connection, *, name: str, phase: str, step: int | None, data: Mapping[str, object]
    ) -> None:
        self.seq += 1
        await put(
            conn,
            models.TraceEvent,
            tenant=self.tenant,
            run=self.run,
            seq=self.seq,
            at_ms=max(0, round(1000 * (time.monotonic() - self.began))),
            phase=phase,
            step=step,
            event=name,
            data=data,
        )

    async def renew(self, conn: Connection) -> AsyncCursor[TupleRow]:
        """Say that this process still drives the run. `heed` reads the answer."""
        return await conn.execute(
            "UPDATE agentic_runstate SET leased_until = statement_timestamp() + make_interval(secs => %s),"
            " status = CASE status WHEN 'queued' THEN 'running' ELSE status END"
            " WHERE run_id = %s RETURNING cancel_requested",
            (LEASE_SECONDS, self.run),
        )

    async def heed(self, renewed: AsyncCursor[TupleRow]) -> None:
        """Learn whether somebody asked for the run's end."""
        row = await renewed.fetchone()
        self.cancelled = self.cancelled or bool(row and row[0])

    async def _add_found(self, conn: Connection, event: Found) -> None:
        for item in event.admitted:
            await self._add_evidence(conn, item)
        for attempt in event.widen:
            await self._add_widen_attempt(conn, attempt, event.step)

    async def _add_evidence(self, conn: Connection, item: EvidenceItem) -> None:
        await put(
            conn,
            models.Evidence,
            tenant=self.tenant,
            run=self.run,
            seq=self.seq,
            label=item.label,
            message_id=item.message.head.message_id,
            head=head_json(item.message.head),
            excerpts=[excerpt_json(excerpt) for excerpt in item.excerpts],
            found_by=[asdict(found) for found in item.found_by],
            text_sha256=item.text_sha256,
        )

    async def _add_widen_attempt(self, conn: Connection, attempt: WidenAttempt, step: int | None) -> None:
        await put(
            conn,
            models.WidenAttempt,
            tenant=self.tenant,
            run=self.run,
            kind=attempt.kind,
            step=step,
            tool=attempt.tool[:40],
            argument=attempt.argument[:100],
            requested=attempt.requested[:2000],
            effective=attempt.effective,
            read_before=list(self._read_before)[:100],
        )

    async def add_verification(self, conn: Connection, round_: int, verification: Verification, *, final: bool) -> None:
        """Every unit of one draft, kept or removed, with its citations."""
        for sentence in verification.sentences:
            row = await self._add_sentence(conn, round_, sentence, final=final)
            for citation in sentence.citations:
                await put(conn, models.Citation, tenant=self.tenant, run=self.run, sentence=row, **_fields(citation))

    async def _add_sentence(self, conn: Connection, round_: int, sentence: Sentence, *, final: bool) -> int:
        return await add(
            conn,
            models.Sentence,
            tenant=self.tenant,
            run=self.run,
            round=round_,
            final=final,
            support=sentence.support or "",
            **_fields(sentence, "citations", "support"),
        )


def event_data(event: Event) -> Mapping[str, object]:
    """What of *event* the trace keeps beside phase and step. Text of mail stands in rows of its own."""
    match event:
        case Called():
            return {"call": event.call_id, "tool": event.tool, "arguments": dict(event.arguments)}
        case Found():
            return _found_data(event)
        case Asked():
            return {"model": event.model, "prompt_sha256": event.prompt_sha256, "characters": event.characters}
        case Replied():
            return {
                "model": event.model,
                "tool_calls": event.tool_calls,
                "tokens": tokens_json(event.usage),
                "cost_usd": event.usage.cost_usd,
                "fault": event.fault,
                "detail": event.detail,
                "took_ms": event.took_ms,
            }
        case Drafted():
            return {"round": event.round, "draft": asdict(event.draft)}
        case Cut():
            return {"limit": event.limit, "detail": event.detail}
        case Verified() | Finished():
            return _ruled_data(event)


def tokens_json(usage: Usage) -> dict[str, int]:
    return {"prompt": usage.prompt, "cached": usage.cached, "completion": usage.completion}


def _found_data(event: Found) -> Mapping[str, object]:
    return {
        "call": event.call_id,
        "tool": event.tool,
        "applied": dict(event.applied),
        "admitted": [item.message.head.message_id for item in event.admitted],
        "seen_again": list(event.seen_again),
        "total": event.total,
        "finding": event.finding,
        "nearest": list(event.nearest),
        "widen_attempts": len(event.widen),
        "characters": event.characters,
        "took_ms": event.took_ms,
    }


def _ruled_data(event: Verified | Finished) -> Mapping[str, object]:
    if isinstance(event, Verified):
        return {"round": event.round, "took_ms": event.took_ms, **_counts(event.verification)}
    return {"outcome": event.outcome, "reason": event.reason, **_counts(event.verification)}


def _counts(verification: Verification | None) -> Mapping[str, object]:
    if verification is None:
        return {"kept": 0, "removed": 0}
    return {"kept": len(verification.kept), "removed": len(verification.removed)}


def _fields(value: "DataclassInstance", *without: str) -> dict[str, object]:
    return {one.name: getattr(value, one.name) for one in fields(value) if one.name not in without}


def _adapted(column: "Field[Any, Any]", value: object) -> object:
    if isinstance(column, JSONField):
        return Jsonb(_json_ready(value))
    return _storable(value) if isinstance(value, str) else value


def _storable(text: str) -> str:
    """*text* as Postgres can keep it: without NUL and without half of a surrogate pair. Mail may hold either."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _json_ready(value: object) -> object:
    match value:
        case str():
            return _storable(value)
        case datetime():
            return value.isoformat()
        case Mapping():
            return {_storable(str(key)): _json_ready(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_json_ready(inner) for inner in value]
        case None | bool() | int() | float():
            return value
        case _:
            return _storable(str(value))
