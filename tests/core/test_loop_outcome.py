"""The outcome of a run, under every combination of what can end one."""

import itertools
from dataclasses import replace

import pytest

from agentic.core.outcome import Ending, decide

BOTH = (False, True)
FAULTS = ("", "rate_limited")
LIMITS = ("", "steps", "seconds")
ALL = [
    Ending(*flags, fault, last, limit)  # type: ignore[call-arg,arg-type]
    for flags in itertools.product(BOTH, repeat=8)
    for fault, last, limit in itertools.product(FAULTS, FAULTS, LIMITS)
]


@pytest.mark.parametrize(
    ("ending", "outcome", "reason"),
    [
        (Ending(drafted=True, supported=True, covered=True, usable=True), "answered", None),
        (Ending(drafted=True, supported=True, covered=True, usable=True, limit="seconds"), "answered", None),
        (Ending(drafted=True, supported=True, covered=True, usable=True, fault="hung"), "answered", None),
        (Ending(drafted=True, supported=True, usable=True), "insufficient_evidence", "question_not_covered"),
        (Ending(drafted=True, usable=True), "insufficient_evidence", "all_removed"),
        (Ending(drafted=True, usable=True, fault="hung"), "insufficient_evidence", "all_removed"),
        (Ending(drafted=True, usable=True, limit="seconds"), "insufficient_evidence", "all_removed"),
        (Ending(declared=True, found=True, usable=True), "insufficient_evidence", "model_declared"),
        (Ending(declared=True, usable=True), "insufficient_evidence", "nothing_found"),
        (
            Ending(declared=True, found=True, drafted=True, supported=True, covered=True, usable=True),
            "insufficient_evidence",
            "model_declared",
        ),
        (Ending(), "degraded", "timeout"),
        (Ending(limit="seconds"), "degraded", "timeout"),
        (Ending(last_fault="auth", limit="seconds"), "degraded", "auth"),
        (Ending(found=True, usable=True, fault="no_call"), "degraded", "no_call"),
        (Ending(found=True, usable=True, limit="steps"), "budget_exhausted", "steps"),
        (Ending(found=True, usable=True, last_fault="hung", limit="seconds"), "budget_exhausted", "seconds"),
        (Ending(cancelled=True), "budget_exhausted", "cancelled"),
        (
            Ending(cancelled=True, drafted=True, supported=True, covered=True, usable=True),
            "budget_exhausted",
            "cancelled",
        ),
    ],
)
def test_each_way_to_end_has_its_outcome_and_reason(ending: Ending, outcome: str, reason: str | None) -> None:
    assert decide(ending) == (outcome, reason)


def test_answered_needs_support_coverage_and_no_declaration_in_every_combination() -> None:
    for ending in ALL:
        holds = ending.supported and ending.covered and not ending.declared and not ending.cancelled
        holds = holds and not ending.lowered
        assert (decide(ending)[0] == "answered") == holds, ending


def test_the_order_holds_in_every_combination() -> None:
    for ending in ALL:
        if ending.cancelled:
            expected = "budget_exhausted"
        elif ending.supported and ending.covered and not ending.declared:
            expected = "insufficient_evidence" if ending.lowered else "answered"
        elif ending.declared or ending.drafted:
            expected = "insufficient_evidence"
        elif not ending.usable or ending.fault:
            expected = "degraded"
        else:
            expected = "budget_exhausted"
        assert decide(ending)[0] == expected, ending


def test_a_judge_only_lowers_an_answer_in_every_combination() -> None:
    for ending in ALL:
        before = decide(replace(ending, lowered=False))
        after = decide(replace(ending, lowered=True))
        lowered = ("insufficient_evidence", "judged_insufficient")
        assert after == (lowered if before[0] == "answered" else before)


def test_every_outcome_but_answered_has_a_reason() -> None:
    for ending in ALL:
        outcome, reason = decide(ending)
        assert (reason is None) == (outcome == "answered"), ending
