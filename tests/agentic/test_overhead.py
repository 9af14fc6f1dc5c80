"""What is reckoned for a run's end follows what ends have taken lately."""

from agentic.overhead import Overhead


def test_nothing_shorter_than_the_least_is_reckoned_with() -> None:
    overhead = Overhead(0.35)
    assert overhead.seconds == 0.35
    for _ in range(100):
        overhead.took(0.02)
    assert overhead.seconds == 0.35


def test_ends_that_take_longer_are_reckoned_with_until_they_are_quick_again() -> None:
    overhead = Overhead(0.35)
    for _ in range(60):
        overhead.took(0.6)
    assert 0.6 < overhead.seconds < 1.2
    for _ in range(60):
        overhead.took(0.02)
    assert overhead.seconds == 0.35


def test_a_single_end_that_was_held_up_does_not_shorten_the_runs_after_it() -> None:
    overhead = Overhead(0.35)
    for seconds in [0.02] * 30 + [2.5] + [0.02] * 10:
        overhead.took(seconds)
    assert overhead.seconds == 0.35
