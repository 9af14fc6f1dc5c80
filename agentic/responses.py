"""The response to a question, built from the rows of its run: the same now and later, for whoever may read it."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from agentic.core import answer as answers
from agentic.core import verify
from agentic.core.fence import clean
from agentic.core.notice import NOTICE
from agentic.core.verify.form import visible
from agentic.mailjson import Json, cleaned_excerpt, cleaned_head, head_of
from agentic.masking import MASK, asked_words, guarded_query, mask
from agentic.models import Citation, RunFinished, Sentence, TraceEvent, WidenAttempt
from agentic.records import Record
from mailsearch.hits import MessageText

# What of an event the trace shows to everybody who may read the run, beside number, time, phase and step.
_SHOWN = {
    "called": ("tool",),
    "found": ("tool", "admitted", "seen_again", "total", "finding", "took_ms"),
    "asked": ("model", "prompt_sha256"),
    "replied": ("model", "tool_calls", "tokens", "fault", "took_ms"),
    "drafted": ("round",),
    "verified": ("round", "kept", "removed", "took_ms"),
    "cut": ("limit", "detail"),
    "finished": ("outcome", "reason", "kept", "removed"),
}
_DATES = ("after", "before")
# And what only the audit shows: the model's own words, and those of whoever serves it.
_AUDITED = {"called": ("arguments",), "found": ("applied",), "replied": ("detail",), "drafted": ("draft",)}


def build(record: Record) -> Json:
    """The whole response. Where mail is no longer readable, a tombstone stands in its place."""
    run, finished = record.run, record.finished
    return {
        "run_id": run.public_id,
        "status": record.status,
        "mode": "agentic",
        "outcome": finished.outcome if finished else None,
        "reason": (finished.reason or None) if finished else None,
        "answer": answer(record),
        "evidence": evidence(record),
        "searched": _searched(record),
        "coverage": finished.coverage if finished else {},
        "removed_sentences": [_removed(record, row) for row in record.sentences if not row.kept],
        "widen_attempts": [_widen(record, row) for row in record.widen_attempts],
        "trace": [step(record, row) for row in record.trace if row.event != "done"],
        "usage": _usage(finished),
        "budget": {"max_steps": run.max_steps, "max_seconds": _number(run.max_seconds)},
        "model": finished.model if finished else run.model,
        "verifier_version": run.verifier_version,
        "policy": run.policy,
        "notice": NOTICE,
        "receipt": record.seal.receipt if record.seal else None,
    }


def answer(record: Record) -> Json | None:
    """The kept sentences, where the outcome is `answered`; else None."""
    if record.finished is None or record.finished.outcome != "answered":
        return None
    heads = {row.message_id: row.head for row in record.evidence}
    kept = [row for row in record.sentences if row.kept and not row.structural]
    shown = [row for row in record.sentences if row.kept and _is_readable(record, row)]
    whole = all(_is_readable(record, row) for row in kept)
    return {
        "text": record.finished.answer_text if whole and not record.finished.erased else _text(record, shown),
        "sentences": [_sentence(record, row, heads) for row in kept],
    }


def evidence(record: Record, seq: int | None = None) -> list[Json]:
    """The evidence as it stands, or only what the event *seq* admitted."""
    rows = [row for row in record.evidence if seq is None or row.seq == seq]
    return [_evidence_item(record, message) for message in dict.fromkeys(row.message_id for row in rows)]


def step(record: Record, row: TraceEvent) -> Json:
    """One event of the trace."""
    entry: Json = {"seq": row.seq, "at_ms": row.at_ms, "phase": row.phase, "step": row.step, "event": row.event}
    entry |= {name: row.data[name] for name in _SHOWN.get(row.event, ()) if name in row.data}
    # The first search is made of the caller's own words.
    if row.event == "called" and row.step is None:
        entry["arguments"] = row.data["arguments"]
    if record.audits and record.wholly_readable:
        entry |= {name: row.data[name] for name in _AUDITED.get(row.event, ()) if name in row.data}
    return entry


def _evidence_item(record: Record, message: str) -> Json:
    rows = [row for row in record.evidence if row.message_id == message]
    found_by = [_found_by(record, row) for row in record.trace if row.event == "found" and message in _messages(row)]
    if message not in record.readable:
        return {"message_id": message, "withheld": True, "found_by": found_by}
    excerpts = [cleaned_excerpt(excerpt) for row in rows for excerpt in row.excerpts]
    return {**cleaned_head(rows[0].head), "excerpts": excerpts + _cited(record, message, rows), "found_by": found_by}


def _cited(record: Record, message: str, rows: Sequence[Any]) -> list[Json]:
    """Cited spans that lie outside of the excerpts: evidence is never less than what is cited."""
    shown = [(one["part"], one["start"], one["end"]) for row in rows for one in row.excerpts]
    spans = {
        (citation.part, citation.page, citation.start, citation.end): citation.quote
        for row in record.sentences
        if row.kept
        for citation in row.citations.all()
        if citation.message_id == message and citation.start is not None and citation.end is not None
    }
    return [
        {"part": part, "page": page, "start": start, "end": end, "text": clean(quote), "marks": []}
        for (part, page, start, end), quote in spans.items()
        if not any(one[0] == part and one[1] <= (start or 0) and (end or 0) <= one[2] for one in shown)
    ]


def _messages(row: TraceEvent) -> list[str]:
    return [*row.data.get("admitted", ()), *row.data.get("seen_again", ())]


def _found_by(record: Record, row: TraceEvent) -> Json:
    return {"step": row.step or 0, "tool": row.data["tool"], "query": _query(record, row)}


def _query(record: Record, row: TraceEvent) -> str:
    """The query of a search, as far as it may be shown: what a model wrote may repeat mail."""
    query = str(row.data.get("applied", {}).get("query", ""))
    if row.step is None:
        return query
    if not record.wholly_readable:
        return ""
    return guarded_query(asked_words(query, record.run.question) if _withholds(record) else query)


def _withholds(record: Record) -> bool:
    """Whether nothing unverified is shown: then the words of a model's search are those of the question alone."""
    return record.run.removed_text == "withheld" and not record.audits


def _filters(record: Record, row: TraceEvent) -> Json:
    """The filters of a search, where a model wrote them masked, but for what the question says itself."""
    filters: Json = row.data["applied"].get("filters", {})
    if row.step is None:
        return filters
    said = record.run.question.casefold()

    def guarded(value: Any) -> Any:
        if isinstance(value, list):
            return [guarded(one) for one in value]
        if not isinstance(value, str) or value.casefold() in said:
            return value
        return MASK if _withholds(record) else guarded_query(value)

    return {name: value if name in _DATES else guarded(value) for name, value in filters.items()}


def _searched(record: Record) -> list[Json]:
    searches = [row for row in record.trace if row.event == "found" and row.data["tool"] == "search"]
    entries = []
    for row in searches:
        applied = row.data["applied"]
        if "query" not in applied:
            continue
        shown = row.step is None or record.wholly_readable
        entry: Json = {
            "query": _query(record, row),
            "mode": applied.get("mode", "hybrid"),
            "filters": _filters(record, row) if shown else {},
            "total": row.data["total"],
        }
        nearest = [message for message in row.data["nearest"] if message in record.readable]
        entries.append({**entry, "nearest": nearest} if nearest else entry)
    return entries


def _sentence(record: Record, row: Sentence, heads: Mapping[str, Any]) -> Json:
    citations = list(row.citations.all())
    if not _is_readable(record, row):
        return {"text": None, "withheld": True, "citations": [_cited_only(citation) for citation in citations]}
    relayed = next((citation for citation in citations if citation.relayed_by), None)
    return {
        "text": row.text,
        "support": row.support,
        "qualified": row.qualified,
        "translated": row.translated,
        "relayed_by": relayed.relayed_by if relayed else None,
        "said_by": (relayed.said_by or None) if relayed else None,
        "later_message": row.later_message if row.later_message in record.readable else None,
        "citations": [citation_json(citation, cleaned_head(heads[citation.message_id])) for citation in citations],
    }


def _is_readable(record: Record, row: Sentence) -> bool:
    citations = row.citations.all()
    if row.erased or any(citation.erased for citation in citations):
        return False
    return all(citation.message_id in record.readable for citation in citations)


def _cited_only(citation: Citation) -> Json:
    return {"message_id": citation.message_id, "withheld": True}


def citation_json(citation: Citation | answers.Citation, head: Json) -> Json:
    """Where a sentence is grounded, beside who wrote that when; *head* is the message's, cleaned."""
    return {
        "message_id": citation.message_id,
        "rfc_message_id": head["rfc_message_id"],
        "part": citation.part,
        "page": citation.page,
        "start": citation.start,
        "end": citation.end,
        # The stored words, without signs that make them read otherwise than they are.
        "quote": visible(citation.quote),
        "context": clean(citation.context),
        "from": head["from"],
        "attached_to": head["attached_to"],
        "sent_at": head["sent_at"],
        "received_at": head["received_at"],
        "date_disputed": head["date_disputed"],
        "authentication": head["authentication"],
    }


def _text(record: Record, rows: Sequence[Sentence]) -> str:
    """The answer's text from some of its sentences, where not every one may be shown."""
    kept = tuple(
        answers.Sentence(
            position=row.position,
            drafted=row.drafted,
            text=row.text,
            kept=True,
            structural=row.structural,
            citations=tuple(_value(citation) for citation in row.citations.all()),
        )
        for row in rows
    )
    sources = {row.label: MessageText(head_of(row.head), ()) for row in record.evidence if not row.erased}
    return verify.rebuild(answers.Verification(kept, record.run.verifier_version), sources)


def _value(row: Citation) -> answers.Citation:
    names = [field.name for field in dataclasses.fields(answers.Citation)]
    return answers.Citation(**{name: getattr(row, name) for name in names})


def _removed(record: Record, row: Sentence) -> Json:
    """A removed sentence, guarded: nobody has checked what a model wrote there."""
    entry: Json = {"position": row.position, "reason": row.reason, "verified": False, "masked": False}
    policy = "full" if record.audits else "withheld" if row.reason == "marker_leak" else record.run.removed_text
    if policy == "withheld" or row.erased or not record.wholly_readable:
        return {**entry, "detail": {}, "text": None, "withheld": True}
    if policy == "full":
        return {**entry, "detail": row.detail, "text": row.text}
    text = mask(row.text)
    detail = {name: mask(str(value)) for name, value in row.detail.items()}
    return {**entry, "detail": detail, "text": text, "masked": text != row.text or detail != row.detail}


def _widen(record: Record, row: WidenAttempt) -> Json:
    entry = {
        "kind": row.kind,
        "step": row.step,
        "tool": row.tool,
        # A name that no tool knows is the model's own word.
        "argument": (row.argument_sent or row.argument) if record.audits else row.argument,
        "effective": row.effective,
    }
    if not record.audits:
        return entry
    # A model may have written there what it had read, and auditing opens no mail.
    return {**entry, "requested": row.requested if record.wholly_readable else None, "read_before": row.read_before}


def _usage(finished: RunFinished | None) -> Json | None:
    if finished is None:
        return None
    return {
        "steps": finished.steps,
        "seconds": round(finished.seconds, 3),
        "first_evidence_ms": finished.first_evidence_ms,
        "model_calls": finished.model_calls,
        "tool_calls": finished.tool_calls,
        "tokens": {
            "prompt": finished.prompt_tokens,
            "cached": finished.cached_tokens,
            "completion": finished.completion_tokens,
        },
        "cost_usd": finished.cost_usd,
    }


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else value
