"""What lower limits would have made of a run, told from its trace."""

import pytest

from agentic.core.budget import Budget, Limits, division
from agentic.core.what_if import Ask, Ending, Trace, rehearse

# Plans, looks again, and answers of its own accord at its third step; what it cites came with the second search.
USUAL = Trace(
    "answered", 6, 8.0,
    (Ask(1, 10, 900, False), Ask(2, 1000, 1900, False), Ask(3, 2000, 2900, False, drafted=True)),
    evidence_ms=300, cited_ms=1950,
)  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "seconds", "ending"),
    [
        (6, 8, "same"),
        (20, 120, "same"),  # Higher limits: the trace knows nothing of them.
        (3, 8, "same"),  # Its third step is the answer anyway.
        (2, 8, "less"),  # Asked for the answer at its second step, before the search that found what it cites.
        (1, 8, "exhausted"),  # At its first step, before any evidence.
        (6, 5, "same"),  # 4.65 s until the answer, of which 1.5 s are its own: the third step began at 2 s.
        (6, 4, "sooner"),  # From 2.15 s on nothing but the answer, which its third reply would not have been by then.
        (6, 3, "less"),  # From 1.15 s on nothing but the answer.
        (6, 2, "exhausted"),  # From 0.15 s on: nothing had been found.
    ],
)
def test_each_limit_has_its_end(steps: int, seconds: int, ending: Ending) -> None:
    assert rehearse(USUAL, steps, seconds) == ending


def test_an_answer_that_has_no_time_left_ends_the_budget() -> None:
    slow = Trace("answered", 6, 8.0, (Ask(1, 10, 900, False), Ask(2, 1000, 6000, True, drafted=True)), (), 300, 300)
    assert rehearse(slow, 6, 7) == "same"
    assert rehearse(slow, 6, 6) == "exhausted"


def test_what_was_cited_may_have_been_at_hand_already() -> None:
    early = Trace(USUAL.outcome, 6, 8.0, USUAL.asks, (), 300, 300)
    assert rehearse(early, 2, 8) == "sooner"


def test_a_second_draft_that_does_not_fit_leaves_the_first_one() -> None:
    twice = Trace("answered", 6, 8.0, USUAL.asks, (Ask(4, 3000, 4000, True),), 300, 1950)
    assert rehearse(twice, 4, 8) == "same"
    assert rehearse(twice, 3, 8) == "sooner"


def test_a_run_keeps_the_lower_limits_that_it_had_and_ends_that_nothing_changes() -> None:
    low = Trace("answered", 3, 4.0, USUAL.asks, (), 300, 1950)
    assert rehearse(low, 5, 8) == "same"
    assert rehearse(Trace("budget_exhausted", 6, 8.0, ()), 5, 8) == "exhausted"
    assert rehearse(Trace("degraded", 6, 8.0, ()), 1, 1) == "same"


def test_the_reserve_is_the_one_that_runs_are_held_to() -> None:
    for seconds in (1.0, 4.0, 8.0, 120.0):
        budget = Budget(Limits(max_seconds=seconds), lambda: 0.0, 0.35)
        assert division(seconds) == (budget.deadline, budget.reserve_from)
