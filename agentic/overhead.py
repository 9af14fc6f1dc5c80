"""What stands around a run's loop takes time of the run's, too: how much, as this process has measured it lately."""

from collections import deque

_KEPT = 50
# Of what was measured lately, so much took no longer than what is reckoned with; and what is allowed above it.
_SHARE, _MARGIN = 0.9, 1.5


class Overhead:
    """Seconds that something takes, never reckoned as fewer than *least*."""

    def __init__(self, least: float) -> None:
        self._least = least
        self._lately: deque[float] = deque(maxlen=_KEPT)

    def took(self, seconds: float) -> None:
        """It took so long this time."""
        self._lately.append(seconds)

    @property
    def seconds(self) -> float:
        """What to reckon with. One that was held up by something else does not count for all that follow."""
        if not self._lately:
            return self._least
        ordered = sorted(self._lately)
        return max(self._least, _MARGIN * ordered[int(_SHARE * (len(ordered) - 1))])
