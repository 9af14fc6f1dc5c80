"""How a run would have ended under lower limits, told from its trace alone: no model is asked again.

A run under lower limits is the same run up to the moment at which nothing but the answer may still be paid for
(agentic/core/budget.py). What a model would have said when asked sooner, no trace can tell; that it would have had
nothing to answer from, or no time to, it can.
"""

from dataclasses import dataclass
from typing import Literal

from agentic.core.budget import division

# same: it fits. exhausted: no evidence when the answer was due, or no time for it. sooner: it would have been asked for
# its answer earlier, with all that it cites at hand. less: earlier, before what it cites was found.
Ending = Literal["same", "exhausted", "sooner", "less"]


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the model: when it was asked and answered, in milliseconds since the run began."""

    step: int
    at_ms: int
    end_ms: int
    # Whether the model was told to answer now.
    answering: bool
    # Whether the draft came of it that the run went on with.
    drafted: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """What of a run decides how it would have ended."""

    outcome: str
    max_steps: int
    max_seconds: float
    # Up to the first draft, in order; and those after it: a second draft, a judge.
    asks: tuple[Ask, ...]
    later: tuple[Ask, ...] = ()
    # When the first evidence came, and the last of what the answer cites; None where there was none.
    evidence_ms: int | None = None
    cited_ms: int | None = None


def rehearse(trace: Trace, max_steps: int, max_seconds: float) -> Ending:
    """The end of the run if it had been given no more than *max_steps* and *max_seconds*.

    A limit that the run had lower already stays; a higher one changes nothing, since a trace knows nothing of it.
    """
    steps, seconds = min(trace.max_steps, max_steps), min(trace.max_seconds, max_seconds)
    if (steps, seconds) == (trace.max_steps, trace.max_seconds) or trace.outcome == "degraded":
        return "same"
    if trace.outcome == "budget_exhausted":
        return "exhausted"
    until, reserve = (round(1000 * moment) for moment in division(seconds))
    for ask in trace.asks:
        if ask.step >= steps or ask.at_ms >= reserve:
            return _forced(trace, ask, ask.at_ms, until, steps)
        if not ask.answering and ask.end_ms > reserve:
            # The reply would not have been waited for.
            return _forced(trace, ask, reserve, until, steps)
    return _finished(trace, until, steps)


def _forced(trace: Trace, ask: Ask, at_ms: int, until: int, steps: int) -> Ending:
    """From *at_ms* on, where *ask* stood, there is only the answer's reserve."""
    if ask.drafted and ask.at_ms >= at_ms:
        # It answered there of its own accord, or was made to anyway.
        return _finished(trace, until, steps)
    if trace.evidence_ms is None or trace.evidence_ms > at_ms:
        return "exhausted"
    answer = next((one for one in trace.asks if one.drafted), ask)
    if at_ms + answer.end_ms - answer.at_ms > until:
        return "exhausted"
    return "sooner" if trace.cited_ms is None or trace.cited_ms <= at_ms else "less"


def _finished(trace: Trace, until: int, steps: int) -> Ending:
    """The first draft came as it did: was it in time, and what came after it, too?"""
    if trace.asks and (trace.asks[-1].end_ms > until or trace.asks[-1].step > steps):
        return "exhausted"
    fits = all(ask.end_ms <= until and ask.step <= steps for ask in trace.later)
    return "same" if fits else "sooner"
