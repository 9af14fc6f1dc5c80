"""What a run may spend: steps and seconds, with a reserve that only the answer may touch."""

from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]

RESERVE_SECONDS = 1.5
RESERVE_SHARE = 0.3
# However small the budget: no more than this share of it goes to what stands around the loop.
_OVERHEAD_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a run may spend. Seconds are of the wall clock; characters are of mail shown to the model."""

    max_steps: int = 6
    max_seconds: float = 8.0
    reserve_steps: int = 1
    calls_per_step: int = 8
    result_characters: int = 12_000
    run_characters: int = 120_000
    output_tokens: int = 2_000


class Budget:
    """Counts what a run has spent. A step is charged where a reply arrives, not where it is understood.

    *overhead* is what the caller needs after the loop's end to write and send the response; the loop's own deadline
    is earlier by it. All moments are on *clock*.
    """

    def __init__(self, limits: Limits, clock: Clock, overhead: float) -> None:
        self.limits = limits
        self.steps = 0
        self._clock = clock
        self._started = clock()
        self.deadline = self._started + limits.max_seconds - min(overhead, limits.max_seconds * _OVERHEAD_SHARE)
        self.reserve_from = self.deadline - max(RESERVE_SECONDS, RESERVE_SHARE * limits.max_seconds)

    def charge(self) -> None:
        """One reply arrived."""
        self.steps += 1

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float:
        return self.deadline - self._clock()

    @property
    def steps_left(self) -> int:
        return self.limits.max_steps - self.steps

    @property
    def only_reserve(self) -> bool:
        """Whether nothing but the answer may still be paid for."""
        return self.steps_left <= self.limits.reserve_steps or self._clock() >= self.reserve_from

    @property
    def ended(self) -> str:
        """The limit that is used up, `steps` or `seconds`; empty while both last."""
        if self.seconds_left <= 0:
            return "seconds"
        return "steps" if self.steps_left <= 0 else ""
