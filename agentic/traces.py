"""The newest runs of a tenant, as far as `core.what_if` looks at them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentic.core.what_if import Ask, Ending, Trace, rehearse
from agentic.models import Citation, Evidence, RunFinished, TraceEvent

NEWEST = 500
_Events = Sequence[tuple[int, str, str, int | None, int]]


@dataclass(frozen=True, slots=True)
class Traced:
    """A run that ended by itself."""

    public_id: str
    started_at: datetime
    outcome: str
    steps: int
    seconds: float
    trace: Trace


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How the newest runs would have ended: each with its end, the newest first."""

    ends: tuple[tuple[Traced, Ending], ...]

    def of(self, ending: Ending) -> list[Traced]:
        return [run for run, end in self.ends if end == ending]

    def count(self, ending: Ending) -> int:
        return sum(end == ending for _, end in self.ends)


def rehearsed(traced: Iterable[Traced], max_steps: int, max_seconds: float) -> Rehearsal:
    """What would have become of *traced* under other limits."""
    return Rehearsal(tuple((one, rehearse(one.trace, max_steps, max_seconds)) for one in traced))


def newest(tenant: int, most: int = NEWEST) -> list[Traced]:
    """The last *most* runs of *tenant* that ended by themselves, within a session that may see its audit."""
    ended = RunFinished.objects.filter(tenant=tenant, run__evaluation=False, run__state__status="finished")
    rows = list(ended.select_related(None).select_related("run").order_by("-pk")[:most])
    ids = [row.run_id for row in rows]
    events = _by_run(
        TraceEvent.objects.filter(run__in=ids, event__in=("asked", "replied", "cut", "found", "drafted"))
        .order_by("run", "seq")
        .values_list("run", "seq", "event", "phase", "step", "at_ms")
    )
    admitted = _by_run(Evidence.objects.filter(run__in=ids).values_list("run", "label", "seq"))
    cited = _by_run(
        Citation.objects.filter(run__in=ids, sentence__final=True, sentence__kept=True).values_list("run", "label")
    )
    return [
        Traced(
            row.run.public_id,
            row.run.started_at,
            row.outcome,
            row.steps,
            row.seconds,
            _trace(row, events[row.run_id], dict(admitted[row.run_id]), {label for (label,) in cited[row.run_id]}),
        )
        for row in rows
    ]


def _by_run(rows: Iterable[tuple[int, *tuple[object, ...]]]) -> Mapping[int, list[tuple]]:  # type: ignore[type-arg]
    found: dict[int, list[tuple]] = defaultdict(list)  # type: ignore[type-arg]
    for run, *more in rows:
        found[run].append(tuple(more))
    return found


def _trace(row: RunFinished, events: _Events, admitted: Mapping[str, int], cited: set[str]) -> Trace:
    came = {seq: at_ms for seq, event, _, _, at_ms in events if event == "found"}
    first, later = _asks(events, round(1000 * row.seconds))
    moments = [came[admitted[label]] for label in cited if admitted.get(label) in came]
    return Trace(
        row.outcome,
        row.run.max_steps,
        row.run.max_seconds,
        first,
        later,
        min((came[seq] for seq in admitted.values() if seq in came), default=None),
        max(moments, default=None),
    )


def _asks(events: _Events, ended_ms: int) -> tuple[tuple[Ask, ...], tuple[Ask, ...]]:
    """What was asked of the model up to the first draft, and after it."""
    asked: list[Ask] = []
    open_, drafts, first = None, 0, 0
    for _, event, phase, step, at_ms in events:
        if event == "asked":
            open_ = (step or 0, at_ms, phase == "answer")
        elif open_ is not None and event in ("replied", "cut"):
            asked.append(Ask(open_[0], open_[1], at_ms, open_[2]))
            open_ = None
        elif event == "drafted" and asked and not drafts:
            drafts, first = 1, len(asked)
            last = asked[-1]
            asked[-1] = Ask(last.step, last.at_ms, last.end_ms, last.answering, drafted=True)
    if open_ is not None:
        asked.append(Ask(open_[0], open_[1], max(open_[1], ended_ms), open_[2]))
    first = first or len(asked)
    return tuple(asked[:first]), tuple(asked[first:])
