"""Events become rows: added before the act that they announce, never changed.

A Recorder belongs to one run. Each batch of events is one transaction: the rows, the renewed lease, and a ring of the
doorbell (`pg_notify`) that wakes whoever follows the run. What an event says goes onto a sheet, which is written whole.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from agentic import meters, models, toolschemas
from agentic.core.answer import Sentence, Verification
from agentic.core.events import Asked, Called, Cut, Drafted, Event, Finished, Found, Replied, Verified
from agentic.core.evidence import EvidenceItem
from agentic.core.ports import Usage, WidenAttempt
from agentic.links import RunChain
from agentic.mailjson import excerpt_json, head_json
from agentic.rows import Clock, Sheet
from mailsearch.hits import MessageText
from mailsearch.sessions import Binding, trip

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DOORBELL = "mailsearch_run"
LEASE_SECONDS = 20
_ROWS_AT_A_TIME = 20
# Of an event's data, what a model or a server said.
_SAID = ("arguments", "applied", "draft", "detail")
Connection = AsyncConnection[TupleRow]
# Only of a run that is open: what comes late must not open it again.
_RENEW = b"""
UPDATE agentic_runstate SET leased_until = statement_timestamp() + make_interval(secs => %(lease)s), status = 'running'
WHERE run_id = %(run)s AND status IN ('queued', 'running') RETURNING cancel_requested
"""
# Wakes whoever follows the run, once the transaction is committed: at the end of a statement that changes its state.
RING = b", pg_notify(%(bell)s, %(channel)s)"
_RENEW_AND_RING = _RENEW + RING


def channel(tenant: int, run: str) -> str:
    """The name under which a run's doorbell rings."""
    return f"{tenant}-{run}"


def bell(tenant: int, run: str) -> dict[str, object]:
    """The values of RING for the run with this public id."""
    return {"bell": DOORBELL, "channel": channel(tenant, run)}


@dataclass(frozen=True, slots=True)
class Kept:
    """How far a Recorder had come."""

    seq: int
    chain: RunChain
    sheet: Sheet


@dataclass(slots=True)
class Recorder:
    """Writes down one run. `cancelled` turns true once somebody asked for the run's end."""

    tenant: int
    run: int
    public_id: str
    # Moment on `time.monotonic` at which the request came.
    began: float
    # Where the run's chain stands, and the database's time.
    chain: RunChain
    clock: Clock
    seq: int = 0
    cancelled: bool = False
    drafts: list[Verified] = field(default_factory=list)
    # Label to message, of all evidence.
    sources: dict[str, MessageText] = field(default_factory=dict)
    # Public ids of the messages that searches which found nothing came nearest to.
    nearest: set[str] = field(default_factory=set)
    sheet: Sheet = field(default_factory=Sheet)
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
        self.note_all(events)
        # All in one trip: what a run writes down, it waits for.
        async with trip(self.binding) as conn:
            renewed = await self.sheet.write(conn, _RENEW_AND_RING, self._lease | self.bell)
        await self.heed(renewed)

    def note_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self.note(event)

    def note(self, event: Event) -> None:
        """Put the rows of *event* on the sheet."""
        self.trace(event)
        if isinstance(event, Verified):
            self.drafts.append(event)
        if isinstance(event, Found):
            self._add_found(event)
            read = tuple(item.message.head.message_id for item in event.admitted)
            self.sources |= {item.label: item.message for item in event.admitted}
            self.nearest.update(event.nearest)
            self._read_before = read + event.seen_again or self._read_before

    def trace(self, event: Event) -> None:
        """Put the trace's next row on the sheet, and count what it tells."""
        meters.happened(event)
        self.add_event(
            name=type(event).__name__.lower(),
            phase=getattr(event, "phase", "answer" if isinstance(event, Drafted) else "verify"),
            step=getattr(event, "step", None),
            data=event_data(event),
        )

    def add_event(self, *, name: str, phase: str, step: int | None, data: Mapping[str, object]) -> None:
        self.seq += 1
        self.put(
            models.TraceEvent,
            seq=self.seq,
            at_ms=max(0, round(1000 * (time.monotonic() - self.began))),
            phase=phase,
            step=step,
            event=name,
            facts={key: value for key, value in data.items() if key not in _SAID},
            # Words of a model or a server: where there are none, no row of words is made.
            **{key: value for key, value in data.items() if key in _SAID and value not in ("", {})},
        )

    def put(self, table: type[models.ChainedRow], **values: object) -> None:
        """Put a row of the run on the sheet, as the next link of its chain."""
        self.sheet.add(table, self.chain, tenant=self.tenant, run=self.run, at=self.clock.now(), **values)

    def kept(self) -> "Kept":
        """How far it has come, for `restore`: where what was written was taken back by the database."""
        return Kept(self.seq, RunChain(self.chain.count, self.chain.head), self.sheet.copy())

    def restore(self, kept: "Kept") -> None:
        """Go on from there as if nothing had been noted since."""
        self.seq, self.chain, self.sheet = kept.seq, RunChain(kept.chain.count, kept.chain.head), kept.sheet.copy()

    async def renew(self, conn: Connection) -> AsyncCursor[TupleRow]:
        """Say that this process still drives the run. `heed` reads the answer."""
        return await conn.execute(_RENEW, self._lease, prepare=True)

    async def heed(self, renewed: AsyncCursor[TupleRow]) -> None:
        """Learn whether somebody asked for the run's end, or has ended it."""
        row = await renewed.fetchone()
        self.cancelled = self.cancelled or row is None or bool(row[0])

    @property
    def _lease(self) -> dict[str, object]:
        return {"lease": LEASE_SECONDS, "run": self.run}

    @property
    def bell(self) -> dict[str, object]:
        return bell(self.tenant, self.public_id)

    def _add_found(self, event: Found) -> None:
        for item in event.admitted:
            self._add_evidence(item)
        for attempt in event.widen:
            self._add_widen_attempt(attempt, event.step)

    def _add_evidence(self, item: EvidenceItem) -> None:
        self.put(
            models.Evidence,
            seq=self.seq,
            label=item.label,
            message_id=item.message.head.message_id,
            head=head_json(item.message.head),
            excerpts=[excerpt_json(excerpt) for excerpt in item.excerpts],
            found_by=[asdict(found) for found in item.found_by],
            text_sha256=item.text_sha256,
        )

    def _add_widen_attempt(self, attempt: WidenAttempt, step: int | None) -> None:
        self.put(
            models.WidenAttempt,
            kind=attempt.kind,
            step=step,
            tool=attempt.tool[:40],
            argument=known_argument(attempt.argument),
            argument_sent=attempt.argument[:100],
            requested=attempt.requested[:2000],
            effective=attempt.effective,
            read_before=list(self._read_before)[:100],
        )

    async def add_verification(
        self, ids: Sequence[int], found: Verified, verification: Verification, *, final: bool
    ) -> None:
        """Every unit of one draft, kept or removed, with its citations. *ids* are those of the sentences' rows."""
        for number, (row, sentence) in enumerate(zip(ids, verification.sentences, strict=True), 1):
            if number % _ROWS_AT_A_TIME == 0:
                # A draft may hold hundreds, and other runs have deadlines, too.
                await asyncio.sleep(0)
            self._add_sentence(row, found.round, sentence, final=final)
            link = self.chain.count
            for citation in sentence.citations:
                self.put(models.Citation, sentence=row, sentence_link=link, **_fields(citation))

    def _add_sentence(self, row: int, round_: int, sentence: Sentence, *, final: bool) -> None:
        self.put(
            models.Sentence,
            id=row,
            round=round_,
            final=final,
            support=sentence.support or "",
            **_fields(sentence, "citations", "support"),
        )


def known_argument(name: str) -> str:
    """*name* where it is one that can be named for good; else `(other)`: a model can make it of words of a mail."""
    return name if name in toolschemas.ARGUMENTS else "(other)"


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
