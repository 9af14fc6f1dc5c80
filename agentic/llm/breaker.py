"""A circuit breaker: a model that is down must not cost every run its seconds."""

from collections.abc import Callable

Clock = Callable[[], float]

FAILURES_TO_OPEN = 3
_FIRST_PAUSE = 10.0
_LONGEST_PAUSE = 120.0
# Faults that no short pause cures open the circuit at once.
_LASTING_PAUSE = 60.0
LASTING = frozenset({"auth", "daily_quota", "no_such_model"})


class Breaker:
    """Closed at first; open for a while after failures in a row; then lets one call through to try.

    Each opening without a success between them doubles the pause, up to two minutes. State is of one process only:
    it saves time and decides nothing else.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._pause = _FIRST_PAUSE
        self._open_until: float | None = None
        self._trying = False

    @property
    def is_open(self) -> bool:
        """Whether the model failed so lately that it is left alone, or is being tried."""
        return self._open_until is not None

    def admits(self) -> bool:
        """Whether a call may be made now. Who gets True must tell how it went."""
        if self._open_until is None:
            return True
        if self._trying or self._clock() < self._open_until:
            return False
        self._trying = True
        return True

    def succeeded(self) -> None:
        """A reply came, whatever it said."""
        self._failures, self._pause, self._open_until, self._trying = 0, _FIRST_PAUSE, None, False

    def failed(self, code: str) -> None:
        """No reply came, for the reason *code*."""
        self._failures += 1
        if code in LASTING:
            self._open(_LASTING_PAUSE)
        elif self._trying or self._failures >= FAILURES_TO_OPEN:
            self._open(self._pause)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def released(self) -> None:
        """The call was given up before it could show anything."""
        self._trying = False

    def _open(self, pause: float) -> None:
        self._open_until, self._trying = self._clock() + pause, False
