"""A run as its page tells it: a time line to scale, sentences with their sources, evidence with its spans."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic import responses
from agentic.mailjson import Json, cleaned_head
from agentic.models import Citation, Sentence, TraceEvent
from agentic.run_page import RunRows
from agentic.templatetags.mail_words import seconds
from agentic.web.pages import results, wording
from agentic.web.pages.results import Found

# What an event's line says, in this order, of what it holds.
_SAID = ("tool", "model", "total", "fault", "finding", "limit", "outcome", "kept", "removed", "round")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its arguments as the model sent them, and as they were applied."""

    sent: Any
    applied: Any


@dataclass(frozen=True, slots=True)
class Bar:
    """One event on the time line; *left* and *width* in per cent of the run's seconds."""

    event: TraceEvent
    left: float
    width: float
    words: str
    took: str
    call: Call | None = None
    facts: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Grounding:
    """A citation; `address` is empty where the message may not be read now."""

    row: Citation
    address: str


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence of a draft; its words are shown only if *readable*."""

    row: Sentence
    readable: bool
    words: str
    detail: str
    groundings: tuple[Grounding, ...] = ()


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything that the template of a run needs."""

    rows: RunRows
    outcome: str
    code: str
    reason: str
    bars: tuple[Bar, ...]
    # Seconds at the right end of the time line, and where the limit stands on it in per cent.
    whole: float
    limit: float
    drafts: tuple[tuple[int, tuple[ShownSentence, ...]], ...]
    final: tuple[ShownSentence, ...]
    evidence: tuple[tuple[str, Found], ...]
    events: tuple[Json, ...]
    attempts: tuple[Json, ...] = field(default=())
    scope: str = ""


def of(rows: RunRows, scope: str) -> RunView:
    """The page's view of a run's rows."""
    record = rows.record
    end = record.finished
    last = max((row.at_ms for row in record.trace), default=0) / 1000
    whole = max(end.seconds if end else 0, last, 0.001)
    drafts = tuple((number, tuple(_sentence(rows, one) for one in sentences)) for number, sentences in rows.drafts)
    reason = end.reason if end else ""
    return RunView(
        rows=rows,
        outcome=wording.outcome(end.outcome if end else None, record.status),
        code=" · ".join(part for part in (end.outcome if end else record.status, reason) if part),
        reason=wording.REASONS.get(reason, ""),
        bars=tuple(_bars(rows, whole)),
        whole=whole,
        limit=min(100.0, record.run.max_seconds / whole * 100),
        drafts=drafts,
        final=next((sentences for _, sentences in drafts if any(one.row.final for one in sentences)), ()),
        evidence=tuple(_evidence(rows)),
        events=tuple(responses.step(record, row) for row in record.trace if row.event != "done"),
        attempts=tuple(_attempts(rows)),
        scope=scope,
    )


def _bars(rows: RunRows, whole: float) -> list[Bar]:
    trace = [row for row in rows.record.trace if row.event != "done"]
    sent = {row.data.get("call"): row.data.get("arguments") for row in trace if row.event == "called"}
    return [_bar(rows, row, sent, whole * 1000) for row in trace]


def _bar(rows: RunRows, row: TraceEvent, sent: dict[Any, Any], whole: float) -> Bar:
    """An event that tells how long it took is drawn as that long, ending where it was written; others as a moment."""
    took = row.data.get("took_ms") or 0
    left = max(0, row.at_ms - took) / whole * 100
    shown = responses.step(rows.record, row)
    call = None
    if row.event == "found" and rows.record.audits and rows.record.wholly_readable:
        call = Call(sent.get(row.data.get("call")), row.data.get("applied"))
    facts = tuple((name, value) for name, value in shown.items() if name not in ("arguments", "applied", "draft"))
    return Bar(
        event=row,
        left=min(left, 99.0),
        width=max(0.8, min(took / whole * 100, 100 - left)),
        words=" · ".join(f"{name} {shown[name]}" for name in _SAID if shown.get(name) not in (None, "", [], {})),
        took=seconds(took / 1000) if took else "",
        call=call,
        facts=facts,
    )


def _sentence(rows: RunRows, row: Sentence) -> ShownSentence:
    readable = rows.shows(row)
    groundings = tuple(
        Grounding(one, _address(one) if one.message_id in rows.readable else "") for one in row.citations.all()
    )
    words = wording.REMOVALS.get(row.reason, "")
    return ShownSentence(row, readable, words, wording.detail(row.detail) if readable else "", groundings)


def _address(citation: Citation) -> str:
    span = {"part": citation.part, "start": citation.start, "end": citation.end}
    return results.span_address(citation.message_id, span)


def _evidence(rows: RunRows) -> list[tuple[str, Found]]:
    """Each message once, with its label, the cited ones first."""
    record = rows.record
    kept = [row for row in record.sentences if row.kept]
    cited = {citation.message_id for row in kept for citation in row.citations.all()}
    labels = {row.message_id: row.label for row in record.evidence}
    shown = [(item["message_id"], results.found(item, cited=item["message_id"] in cited)) for item in _items(rows)]
    return [(labels.get(message, ""), one) for message, one in sorted(shown, key=lambda pair: not pair[1].cited)]


def _items(rows: RunRows) -> Sequence[Json]:
    return responses.evidence(rows.record)


def _attempts(rows: RunRows) -> list[Json]:
    """Widen attempts; what was requested may repeat mail, so it is for those who may read all that the run read."""
    record = rows.record
    heads = {row.message_id: row.head for row in record.evidence if row.head and row.message_id in record.readable}
    return [
        {
            "row": row,
            "kind": wording.WIDENING.get(row.kind, row.kind),
            "requested": row.requested if record.audits and record.wholly_readable else None,
            "effective": row.effective,
            "before": [_sender(heads, message) for message in row.read_before],
        }
        for row in record.widen_attempts
    ]


def _sender(heads: dict[str, Any], message: str) -> Json:
    if message not in heads:
        return {"words": "", "address": ""}
    head = cleaned_head(heads[message])
    return {"words": head["from"]["address"], "address": results.message_address(message)}
