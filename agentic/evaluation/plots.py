"""What a report draws: stacks of counts, shares with their intervals, and how values spread. Plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentic.evaluation.intervals import exact


@dataclass(frozen=True, slots=True)
class Share:
    """*hits* of *n* with an interval at 95 % (shares from 0 to 1); `method` says how it was made."""

    name: str
    hits: int
    n: int
    low: float
    high: float
    method: str = "exact binomial"

    @classmethod
    def exactly(cls, name: str, hits: int, n: int) -> "Share":
        """With the exact binomial interval."""
        return cls(name, hits, n, *exact(hits, n))

    def as_json(self) -> dict[str, object]:
        """The share with four decimals; None where nothing was counted."""
        share = round(self.hits / self.n, 4) if self.n else None
        return {"hits": self.hits, "n": self.n, "share": share, "low": round(self.low, 4), "high": round(self.high, 4)}


@dataclass(frozen=True, slots=True)
class Stacks:
    """One bar a row, each a stack of counts by series, in the order of `series`."""

    title: str
    series: tuple[str, ...]
    rows: tuple[tuple[str, Mapping[str, int]], ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """Points with their intervals on a scale from 0 to 100 %."""

    title: str
    rows: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """How many of the values are at most so large, as a rising line; `limit` is marked where there is one."""

    title: str
    unit: str
    values: Sequence[float]
    limit: float | None = None


Plot = Stacks | Shares | Spread
