"""How a run stands: what it has counted, and what came to its end."""

from dataclasses import dataclass

from agentic.core.budget import Budget
from agentic.core.events import Finished
from agentic.core.outcome import Ending, decide
from agentic.core.verdict import Verdict


@dataclass(slots=True)
class Tally:
    """Counts of one run, and why it ended, as far as it has."""

    calls: int = 0
    model_calls: int = 0
    # Replies in a row that could not be used; and whether any could.
    unusable: int = 0
    usable: bool = False
    # Replies in a row that only made calls which had been made before.
    repeats: int = 0
    first_evidence_ms: int | None = None
    # The answer or its lack is settled: nothing more is asked.
    over: bool = False
    # A model that was asked about the answer said that it answers nothing.
    lowered: bool = False
    # The limit that was used up, the fault that ended the run, and the last fault of any kind.
    limit: str = ""
    fault: str = ""
    last_fault: str = ""

    def end(self, *, limit: str = "", fault: str = "") -> None:
        """Nothing more will be asked, for this reason."""
        self.limit, self.fault, self.over = limit, fault, True

    def took(self) -> None:
        """A reply came that can be used."""
        self.unusable, self.usable = 0, True

    def searched(self, *, anew: bool) -> None:
        """A reply made calls; *anew* if any of them was not made before."""
        self.repeats = 0 if anew else self.repeats + 1

    def ending(self, verdict: Verdict, *, cancelled: bool, found: bool) -> Ending:
        """All that decides the outcome; *found* says whether a tool returned mail."""
        ruling = verdict.ruling
        return Ending(
            cancelled=cancelled,
            drafted=ruling is not None,
            supported=verdict.supported,
            covered=ruling is not None and ruling.covered,
            lowered=self.lowered,
            declared=verdict.declared,
            found=found,
            usable=self.usable,
            fault=self.fault,
            last_fault=self.last_fault,
            limit=self.limit,
        )

    def finished(self, ending: Ending, verdict: Verdict, budget: Budget, tool_calls: int, model: str) -> Finished:
        """The run's last event."""
        outcome, reason = decide(ending)
        return Finished(
            outcome=outcome,
            reason=reason,
            verification=verdict.ruling.verification if verdict.ruling else None,
            steps=budget.steps,
            seconds=budget.seconds,
            model_calls=self.model_calls,
            tool_calls=tool_calls,
            usage=budget.usage,
            first_evidence_ms=self.first_evidence_ms,
            model=model,
        )
