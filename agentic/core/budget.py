"""What a run may spend: steps, seconds, tokens and money, with a reserve that only the answer may touch."""

from collections.abc import Callable
from dataclasses import dataclass

from agentic.core.ports import Usage

Clock = Callable[[], float]

RESERVE_SECONDS = 1.5
RESERVE_SHARE = 0.3
# With nothing but the reserve from the start, a search may take this share of what is left.
_SEARCH_SHARE = 0.4
# What the end of a run takes after its loop: rights, answer, response. However small the budget, no more than this
# share of it goes to what stands around the loop.
OVERHEAD_SECONDS = 0.35
_OVERHEAD_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a run may spend. Seconds are of the wall clock; characters are of mail shown to the model.

    Tokens and USD are what was reserved of the tenant's day, None where its day has no such cap. What a call costs is
    known when it is over, so the last one may go beyond them.
    """

    max_steps: int = 6
    max_seconds: float = 8.0
    reserve_steps: int = 1
    calls_per_step: int = 8
    result_characters: int = 12_000
    run_characters: int = 120_000
    output_tokens: int = 2_000
    run_tokens: int | None = None
    run_cost_usd: float | None = None


def division(max_seconds: float, overhead: float = OVERHEAD_SECONDS) -> tuple[float, float]:
    """When a run of *max_seconds* must have its answer, and from when on only the answer may use the time."""
    deadline = max_seconds - min(overhead, max_seconds * _OVERHEAD_SHARE)
    return deadline, deadline - max(RESERVE_SECONDS, RESERVE_SHARE * max_seconds)


class Budget:
    """Counts what a run has spent. A step is charged where a reply arrives, not where it is understood.

    *overhead* is what the caller needs after the loop's end to write and send the response; the loop's own deadline
    is earlier by it. *spent* is what had passed of the run's seconds before. All moments are on *clock*.
    """

    def __init__(self, limits: Limits, clock: Clock, overhead: float, spent: float = 0.0) -> None:
        self.limits = limits
        self.steps = 0
        self.usage = Usage()
        self._clock = clock
        self._started = clock() - spent
        until, reserve = division(limits.max_seconds, overhead)
        self.deadline, self.reserve_from = self._started + until, self._started + reserve

    def charge(self) -> None:
        """One reply arrived."""
        self.steps += 1

    def pay(self, usage: Usage) -> None:
        """A reply cost *usage*, whether or not it is of any use."""
        self.usage += usage

    @property
    def search_until(self) -> float:
        """When a search must be back: before the reserve begins; if it has begun, early enough to answer."""
        now = self._clock()
        return max(self.reserve_from, now + _SEARCH_SHARE * (self.deadline - now))

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
    def only_reserve(self) -> str:
        """The limit of which nothing but the answer may still be paid for: as in `ended`; empty while there is more."""
        if self.steps_left <= self.limits.reserve_steps:
            return "steps"
        return self._spent(1 - RESERVE_SHARE) or ("seconds" if self._clock() >= self.reserve_from else "")

    @property
    def ended(self) -> str:
        """The limit that is used up: `steps`, `seconds`, `tokens` or `cost`; empty while all last."""
        if self.seconds_left <= 0:
            return "seconds"
        return "steps" if self.steps_left <= 0 else self._spent(1)

    def _spent(self, share: float) -> str:
        """Which of tokens and cost is used up to *share*."""
        tokens, cost = self.limits.run_tokens, self.limits.run_cost_usd
        if tokens is not None and self.usage.prompt + self.usage.completion >= tokens * share:
            return "tokens"
        return "cost" if cost is not None and self.usage.cost_usd > 0 and self.usage.cost_usd >= cost * share else ""
