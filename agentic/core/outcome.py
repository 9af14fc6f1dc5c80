"""How a run ended: one of four outcomes, decided in one fixed order from what happened."""

from dataclasses import dataclass

from agentic.core.events import Outcome


@dataclass(frozen=True, slots=True)
class Ending:
    """All that bears on a run's outcome.

    `drafted`: a draft was verified. `supported`: the draft that counts kept a sentence with support `quote`.
    `covered`: what the question names exactly occurs in what that draft cites. `lowered`: a model that was asked about
    the answer said that it answers nothing. `declared`: the model said that the mail does not hold the answer, after it
    had seen what the first search gave. `found`: a tool returned mail. `usable`: a usable reply came. `fault`: the
    reason code of faults that ended the run. `last_fault`: of any fault. `limit`: `steps`, `seconds`, `tokens` or
    `cost` where one was used up.
    """

    cancelled: bool = False
    drafted: bool = False
    supported: bool = False
    covered: bool = False
    lowered: bool = False
    declared: bool = False
    found: bool = False
    usable: bool = False
    fault: str = ""
    last_fault: str = ""
    limit: str = ""


def decide(ending: Ending) -> tuple[Outcome, str | None]:
    """The outcome, and its reason where it is not `answered`.

    A run that was cancelled has no answer, whatever it had reached.
    """
    if ending.cancelled:
        return "budget_exhausted", "cancelled"
    if ending.supported and ending.covered and not ending.declared:
        return ("insufficient_evidence", "judged_insufficient") if ending.lowered else ("answered", None)
    if ending.declared:
        return "insufficient_evidence", "model_declared" if ending.found else "nothing_found"
    if ending.drafted:
        return "insufficient_evidence", "question_not_covered" if ending.supported else "all_removed"
    if ending.fault or not ending.usable:
        return "degraded", ending.fault or ending.last_fault or "timeout"
    return "budget_exhausted", ending.limit or "steps"
