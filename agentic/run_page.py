"""What the page of one run shows, read from its rows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.html import format_html
from django.utils.timezone import now

from agentic.caps import Caps
from agentic.models import (
    AgentPolicy,
    DailyUse,
    Evidence,
    Run,
    RunFinished,
    RunState,
    Sentence,
    TraceEvent,
    WidenAttempt,
)
from agentic.policies import effective
from agentic.reviewers import Person, audited_tenants, mail_scope
from mailsearch.models import Message
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, rebind

OUTCOMES = {
    "answered": "Answered",
    "insufficient_evidence": "The mail does not answer this",
    "budget_exhausted": "Ran out of budget",
    "degraded": "The model was unavailable",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One event on the time line; `left` and `width` in percent of the run's seconds."""

    event: TraceEvent
    left: float
    width: float
    words: str


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """A message of the evidence; `row` is None where the reader may not read it now."""

    message_id: str
    row: Evidence | None


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything that the template of a run needs."""

    run: Run
    status: str
    end: RunFinished | None
    outcome: str
    bars: list[Bar]
    drafts: list[tuple[int, list[Sentence]]]
    evidence: list[ShownEvidence]
    attempts: list[WidenAttempt]


def of(run: Run, reader: Person) -> RunPage:
    """The page of *run* as *reader* may see it: mail outside the reader's own scope is left out, and said so."""
    end = end_of(run)
    events = list(TraceEvent.objects.filter(run=run).order_by("seq"))
    state = RunState.objects.filter(run=run).first()
    return RunPage(
        run=run,
        status=state.status if state else "unknown",
        end=end,
        outcome=OUTCOMES.get(end.outcome, end.outcome) if end else "Not finished",
        bars=_bars(events, end.seconds if end else run.max_seconds),
        drafts=_drafts(run),
        evidence=_evidence(run, reader),
        attempts=list(WidenAttempt.objects.filter(run=run).order_by("pk")),
    )


def end_of(run: Run) -> RunFinished | None:
    """How *run* ended, or None while it has not."""
    # Read through the relation, so that a list that prefetched it asks nothing more.
    return next(iter(run.runfinisheds.all()), None)


def link(run: Run) -> str:
    return format_html('<a href="{}">{}</a>', reverse("admin:agentic_run_change", args=[run.pk]), run.public_id)


def detail_words(detail: dict[str, Any]) -> str:
    """`{"fact": "1,450 EUR"}` as words."""
    return " · ".join(f"{name}: {value}" for name, value in detail.items())


def in_force(policy: AgentPolicy) -> str:
    """The limits that hold for the tenant's next run, with what is inherited; empty for the row of defaults."""
    if policy.tenant is None:
        return ""
    now_held = effective(policy.tenant.pk)
    return (
        f"{now_held.max_steps} steps · {now_held.max_seconds:g} s · {_caps_words(now_held.caps)}"
        f" · {now_held.verification} · removed text {now_held.removed_text}"
    )


def _caps_words(caps: Caps) -> str:
    tokens = f", {caps.tokens:,} tokens" if caps.tokens is not None else ""
    cost = f", {caps.cost_usd:.2f} USD" if caps.cost_usd is not None else ""
    share = f", {caps.key_share} % of it a key" if caps.key_share < 100 else ""
    return f"{caps.runs}{tokens}{cost} a day{share}"


def used_today(policy: AgentPolicy) -> str:
    """Runs of the tenant's present day, and what they used; empty for the row of defaults."""
    if policy.tenant is None:
        return ""
    day = now().astimezone(ZoneInfo(policy.tenant.timezone)).date()
    use = DailyUse.objects.filter(tenant=policy.tenant, day=day).first()
    if use is None or not use.tokens:
        return str(use.used if use else 0)
    return f"{use.used} · {use.tokens:,} tokens · {use.cost_usd:.2f} USD"


def _bars(events: list[TraceEvent], seconds: float) -> list[Bar]:
    whole = max(seconds * 1000, max((event.at_ms for event in events), default=0), 1)
    bars = []
    ends = [event.at_ms for event in events[1:]] + [event.at_ms for event in events[-1:]]
    for event, until in zip(events, ends, strict=True):
        width = max(0.4, (until - event.at_ms) / whole * 100)
        bars.append(Bar(event, event.at_ms / whole * 100, min(width, 100), _words(event)))
    return bars


def _words(event: TraceEvent) -> str:
    data = event.data if isinstance(event.data, dict) else {}
    shown = ("tool", "model", "total", "fault", "finding", "limit", "outcome", "kept", "removed", "detail")
    return " · ".join(f"{name} {data[name]}" for name in shown if data.get(name) not in (None, "", [], {}))


def _drafts(run: Run) -> list[tuple[int, list[Sentence]]]:
    rows = Sentence.objects.filter(run=run).prefetch_related("citations").order_by("round", "position")
    drafts: dict[int, list[Sentence]] = {}
    for sentence in rows:
        drafts.setdefault(sentence.round, []).append(sentence)
    return list(drafts.items())


def _evidence(run: Run, reader: Person) -> list[ShownEvidence]:
    rows = list(Evidence.objects.filter(run=run).order_by("seq", "pk"))
    readable = _readable(mail_scope(reader, run.tenant_id), reader, {row.message_id for row in rows})
    return [ShownEvidence(row.message_id, row if row.message_id in readable else None) for row in rows]


def _readable(scope: Scope, reader: Person, message_ids: set[str]) -> set[str]:
    if scope.empty:
        return set()
    rebind(Binding(scope.tenant, scope.mailboxes, audit=audited_tenants(reader)))
    window: dict[str, datetime] = {}
    if scope.received_from:
        window["received_at__gte"] = scope.received_from
    if scope.received_until:
        window["received_at__lt"] = scope.received_until
    found = Message.objects.filter(
        public_id__in=message_ids, folder_id__in=scope.folder_ids, deleted_at_source=None, **window
    )
    return set(found.values_list("public_id", flat=True))
