"""What stands around a run's loop takes time of the run's, too: how much, as this process has measured it lately."""

from collections import deque
from dataclasses import dataclass

_KEPT = 50
# Of what was measured lately, so much took no longer than what is reckoned with; and what is allowed above it.
_SHARE, _MARGIN = 0.9, 1.5
# However long they took lately, at most so much of a run's seconds goes to its end, to reading it, and to sending it.
_ENDING_SHARE, _READING_SHARE, _SENDING_SHARE = 0.3, 0.12, 0.08
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


# From the loop's last event to the run's end on record; from there to its response out of the rows; and how late this
# process comes to what is due, which is also what only sending takes.
ENDING, READING, LATENESS = Overhead(0.15), Overhead(0.1), Overhead(0.03)


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
