"""What is reckoned for a run's end follows what ends have taken lately."""

import asyncio
import time

import pytest

from agentic.overhead import ENDING, LATENESS, Lateness, Moments, Overhead, moments, watch


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


def test_the_latest_of_some_seconds_is_reckoned_with_and_then_no_more() -> None:
    now = [1000.0]
    lateness = Lateness(0.03, lambda: now[0])
    assert lateness.seconds == 0.03
    for seconds in [0.001] * 50 + [0.2] + [0.001] * 50:
        lateness.came(seconds)
    now[0] += 6
    lateness.came(0.001)
    assert lateness.seconds > 0.2
    now[0] += 60
    assert lateness.seconds == 0.03
    lateness.came(0.001)
    assert lateness.seconds == 0.03


def test_an_event_loop_that_was_held_up_is_known_to_have_been_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LATENESS, "_most", type(LATENESS._most)(maxlen=4))
    looks = iter([True, True, False])

    async def held_up() -> None:
        watch(lambda: next(looks))
        # A second one watches nothing that the first does not.
        watch(lambda: pytest.fail("one watch is enough"))
        await asyncio.sleep(0.06)
        time.sleep(0.2)  # noqa: ASYNC251 - what must not happen happens
        await asyncio.sleep(0.2)

    asyncio.run(held_up())
    assert LATENESS.seconds >= 0.15
    assert next(looks, None) is None


@pytest.mark.parametrize("seconds", [1.0, 2.0, 8.0, 120.0])
def test_each_moment_of_a_run_comes_before_the_next_and_half_of_its_seconds_are_its_own(seconds: float) -> None:
    found = moments(100.0, seconds)
    assert 100.0 + seconds / 2 <= found.loop < found.end < found.response < found.left == 100.0 + seconds
    assert found.overhead == pytest.approx(found.left - found.loop)


def test_runs_that_are_long_in_ending_are_told_to_stop_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    before: Moments = moments(0.0, 8.0)
    monkeypatch.setattr(ENDING, "_lately", type(ENDING._lately)([0.8] * 50))
    later = moments(0.0, 8.0)
    assert later.end == before.end
    assert later.end - later.loop > 0.8
    assert moments(0.0, 2.0).loop >= 1.0
