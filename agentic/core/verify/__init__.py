"""Is each sentence really in its evidence, and where? Pure, deterministic, linear, versioned."""

from agentic.core.verify.decide import MAX_ANSWER, MAX_UNITS, VERSION, verify
from agentic.core.verify.guard import answered, declares_absence, missing_from, question_covered, repair_hints
from agentic.core.verify.rebuild import rebuild, redraft
from agentic.core.verify.sources import SourceCache

__all__ = [
    "MAX_ANSWER",
    "MAX_UNITS",
    "VERSION",
    "SourceCache",
    "answered",
    "declares_absence",
    "missing_from",
    "question_covered",
    "rebuild",
    "redraft",
    "repair_hints",
    "verify",
]
