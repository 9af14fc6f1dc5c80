"""Runs with traces that are made up to the millisecond."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils.timezone import now

from agentic.models import Citation, Evidence, Run, RunFinished, RunState, Sentence, TraceEvent
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound

# (phase, step, asked at ms, replied at ms); a draft comes with the last.
Asked = tuple[str, int, int, int]
Happened = tuple[int, str, str, int | None]


def ended(
    tenant: Tenant,
    *,
    outcome: str = "answered",
    asks: Sequence[Asked] = (("plan", 1, 10, 800), ("answer", 2, 1000, 2000)),
    found_ms: Sequence[int] = (300,),
    cites: int = 0,
    at: datetime | None = None,
    quoted: bool = True,
    **more: object,
) -> Run:
    """A run that ended. *found_ms*: when each piece of evidence came; *cites*: the one that the answer cites."""
    moment = at or now()
    _, steps, _, ended_ms = asks[-1]
    values: dict[str, object] = {
        "steps": steps, "seconds": ended_ms / 1000, "first_evidence_ms": min(found_ms, default=None),
        "model_calls": len(asks), "tool_calls": len(found_ms), "model": "m", "at": moment,
    }  # fmt: skip
    with bound(Binding(audit=frozenset({tenant.pk}))):
        run: Run = Run.objects.create(
            tenant=tenant, caller="key:abc", question="When?", timezone="UTC", asked_now=moment, scope={},
            max_steps=6, max_seconds=8, model="m", policy="standard", verifier_version="1",
            started_at=moment - timedelta(seconds=5),
        )  # fmt: skip
        RunState.objects.create(run=run, tenant=tenant, status="finished")
        _trace(run, asks, found_ms, drafted=outcome != "budget_exhausted")
        if outcome == "answered":
            _answer(run, f"m{cites:05d}", quoted=quoted)
        RunFinished.objects.create(tenant=tenant, run=run, outcome=outcome, **(values | more))
    return run


def _trace(run: Run, asks: Sequence[Asked], found_ms: Sequence[int], *, drafted: bool) -> None:
    happened: list[Happened] = [(at_ms, "found", "search", None) for at_ms in found_ms]
    for phase, step, asked_ms, replied_ms in asks:
        happened += [(asked_ms, "asked", phase, step), (replied_ms, "replied", phase, step)]
    happened.sort(key=lambda one: one[0])
    if drafted:
        happened.append((asks[-1][3], "drafted", "answer", asks[-1][1]))
    found = 0
    for seq, (at_ms, event, phase, number) in enumerate(happened, 1):
        TraceEvent.objects.create(
            tenant=run.tenant, run=run, seq=seq, at_ms=at_ms, phase=phase, step=number, event=event
        )
        if event == "found":
            label = f"m{found:05d}"
            Evidence.objects.create(tenant=run.tenant, run=run, seq=seq, label=label, message_id=f"msg_{found}")
            found += 1


def _answer(run: Run, label: str, *, quoted: bool) -> None:
    kept = Sentence.objects.create(
        tenant=run.tenant, run=run, round=1, final=True, position=1, kept=True, support="quote", text="In May."
    )
    span = {"start": 0, "end": 4} if quoted else {}
    Citation.objects.create(
        tenant=run.tenant, run=run, sentence=kept, label=label, message_id="msg_0", part="body", **span
    )
