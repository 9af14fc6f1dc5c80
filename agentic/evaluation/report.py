"""What an evaluation found: its figures, its gates, one last line of JSON, and an exit code.

Exit codes: 0 all gates held, 1 a gate was missed, 2 the input could not be used.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agentic.evaluation.plots import Plot

HELD, MISSED, BAD_INPUT = 0, 1, 2


class BadInput(Exception):
    """The file of cases or the options can't be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One figure that must hold. `bound` says whether *limit* is the least or the most that is allowed."""

    value: float
    limit: float
    bound: Literal["min", "max"] = "max"

    @property
    def ok(self) -> bool:
        return self.value <= self.limit if self.bound == "max" else self.value >= self.limit


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one evaluation. `agree` of `n` cases were as expected; `differ` are the ids of the others."""

    subject: str
    file: str
    n: int
    agree: int
    differ: tuple[str, ...] = ()
    gates: Mapping[str, Gate] = field(default_factory=dict)
    # The subject's own figures, JSON-ready.
    figures: Mapping[str, object] = field(default_factory=dict)
    # Lines for people, printed before the last one.
    lines: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()

    @property
    def ok(self) -> bool:
        return all(gate.ok for gate in self.gates.values())

    @property
    def exit_code(self) -> int:
        return HELD if self.ok else MISSED

    def last_line(self) -> str:
        """The report as one line of JSON."""
        own = {key: value for key, value in self.figures.items() if key not in _FIXED}
        gates = {name: {"value": gate.value, "limit": gate.limit, "ok": gate.ok} for name, gate in self.gates.items()}
        fixed = {
            "subject": self.subject,
            "file": self.file,
            "n": self.n,
            "agree": self.agree,
            "differ": list(self.differ),
            "gates": gates,
            "ok": self.ok,
        }
        return json.dumps({**fixed, **own}, ensure_ascii=False)


_FIXED = frozenset({"subject", "file", "n", "agree", "differ", "gates", "ok"})


def failed_line(subject: str, file: str, why: str) -> str:
    """The last line where the input could not be used."""
    return json.dumps(
        {"subject": subject, "file": file, "n": 0, "agree": 0, "differ": [], "gates": {}, "ok": False, "error": why}
    )
