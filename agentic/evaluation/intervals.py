"""Intervals of shares: exact for independent cases, by bootstrap where cases come in groups."""

import math
import random
from collections.abc import Callable, Mapping, Sequence

_HALVINGS = 60


def exact(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of Clopper and Pearson (Biometrika 26, 1934) for *hits* of *n*, as shares from 0 to 1.

    It holds the true share in at least *confidence* of all samples. Nothing is known of an empty sample: (0, 1).
    Raises ValueError where *hits* are no part of *n*.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is no share")
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _share_where(lambda share: 1 - _at_most(hits - 1, n, share) >= tail)
    high = 1.0 if hits == n else _share_where(lambda share: _at_most(hits, n, share) <= tail)
    return low, high


def clustered(
    groups: Mapping[str, Sequence[bool]], *, seed: int, rounds: int = 2_000, confidence: float = 0.95
) -> tuple[float, float]:
    """The percentile interval of the share of true values, drawn anew by whole groups (Efron and Tibshirani, 1993).

    Cases of one group (questions of one thread of mail) fail together, so an interval over single cases would be too
    narrow. Deterministic for a *seed*. Without any value: (0, 1).
    """
    sums = [(sum(values), len(values)) for _, values in sorted(groups.items()) if values]
    if not sums:
        return 0.0, 1.0
    # Not for secrets: whoever knows the seed shall get the same interval.
    dice = random.Random(seed)  # noqa: S311
    shares = []
    for _ in range(rounds):
        drawn = dice.choices(sums, k=len(sums))
        shares.append(sum(hits for hits, _ in drawn) / sum(n for _, n in drawn))
    shares.sort()
    tail = (1 - confidence) / 2
    return shares[int(tail * rounds)], shares[min(int((1 - tail) * rounds), rounds - 1)]


def _share_where(reached: Callable[[float], bool]) -> float:
    """The least share from which on *reached* holds, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return (low + high) / 2


def _at_most(hits: int, n: int, share: float) -> float:
    """The chance of at most *hits* among *n* where each is one with chance *share*."""
    if share <= 0.0:
        return 1.0
    if share >= 1.0:
        return 1.0 if hits >= n else 0.0
    whole = math.lgamma(n + 1)
    odds = (math.log(share), math.log1p(-share))
    return math.fsum(
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * odds[0] + (n - k) * odds[1])
        for k in range(hits + 1)
    )
