"""What stands around a run's loop takes time of the run's, too: how much, as this process has measured it lately."""

import asyncio
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_KEPT = 50
# Of what was measured lately, so much took no longer than what is reckoned with; and what is allowed above it.
_SHARE, _MARGIN = 0.9, 1.5
# However long they took lately, at most so much of a run's seconds goes to its end, to reading it, and to sending it.
_ENDING_SHARE, _READING_SHARE, _SENDING_SHARE = 0.3, 0.12, 0.08
# For how long what was late counts, and how often the process looks.
_PERIODS, _PERIOD_SECONDS, _TICK_SECONDS = 4, 5.0, 0.05
# A process that waited long for a model is slower to find its way back.
_ENDING_LEAST_SHARE = 0.02


class Overhead:
    """Seconds that something takes, never reckoned as fewer than *least*."""

    def __init__(self, least: float) -> None:
        self._least = least
        self._lately: deque[float] = deque(maxlen=_KEPT)

    def took(self, seconds: float) -> None:
        """It took so long this time, or was given up after so long."""
        self._lately.append(seconds)

    @property
    def seconds(self) -> float:
        """What to reckon with. One that was held up by something else does not count for all that follow."""
        if not self._lately:
            return self._least
        ordered = sorted(self._lately)
        return max(self._least, _MARGIN * ordered[int(_SHARE * (len(ordered) - 1))])


class Lateness:
    """How late this process comes to what is due, in seconds: the most of it lately, never less than *least*.

    Unlike an end that was held up, one that was late says what can happen to whoever is next: what held it up, a flood
    of rows or a machine with much else to do, holds up all runs of the process at once.
    """

    def __init__(self, least: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._least, self._clock = least, clock
        # By period, the newest last: its number, and the most of it.
        self._most: deque[tuple[int, float]] = deque(maxlen=_PERIODS)

    def came(self, seconds: float) -> None:
        """It came so late this time."""
        period = self._period
        if self._most and self._most[-1][0] == period:
            self._most[-1] = period, max(seconds, self._most[-1][1])
        else:
            self._most.append((period, seconds))

    @property
    def seconds(self) -> float:
        """What to reckon with."""
        oldest = self._period - _PERIODS
        return max(self._least, _MARGIN * max((most for period, most in self._most if period > oldest), default=0.0))

    @property
    def _period(self) -> int:
        return int(self._clock() / _PERIOD_SECONDS)


# From the loop's last event to the run's end on record; and from there to its response out of the rows.
ENDING, READING = Overhead(0.15), Overhead(0.1)
# Also what only sending takes.
LATENESS = Lateness(0.03)
_watched: "weakref.WeakSet[asyncio.AbstractEventLoop]" = weakref.WeakSet()


def watch(wanted: Callable[[], bool]) -> None:
    """Learn, from now until it is not *wanted* any more, how late the running event loop comes to what is due."""
    loop = asyncio.get_running_loop()

    def begin() -> None:
        loop.call_at(due := loop.time() + _TICK_SECONDS, look, due)

    def look(due: float) -> None:
        LATENESS.came(loop.time() - due)
        if wanted():
            begin()
        else:
            _watched.discard(loop)

    if loop not in _watched:
        _watched.add(loop)
        begin()


@dataclass(frozen=True, slots=True)
class Moments:
    """By when what must have happened, on `time.monotonic`."""

    # The loop must have said its last.
    loop: float
    # The run's end must be written.
    end: float
    # The response must have been read, so that it can be sent.
    response: float
    # It must have left.
    left: float

    @property
    def overhead(self) -> float:
        """Seconds between the loop's last word and the response."""
        return self.left - self.loop


def moments(began: float, max_seconds: float) -> Moments:
    """The moments of a run that began at *began*, as far as can be told now."""
    left = began + max_seconds
    response = left - min(LATENESS.seconds, _SENDING_SHARE * max_seconds)
    end = response - min(READING.seconds, _READING_SHARE * max_seconds)
    ending = max(ENDING.seconds, _ENDING_LEAST_SHARE * max_seconds)
    return Moments(end - min(ending, _ENDING_SHARE * max_seconds), end, response, left)
