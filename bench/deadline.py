"""Whether every run leaves in time: 1,000 of them (BENCH_RUNS) with short budgets, against random delays and faults.

The model answers late, hangs, ignores that it is cancelled, fails, or writes floods; the tables are locked for a while
now and then. On a quiet machine `late` is 0. The same seed (BENCH_SEED) draws the same delays and faults.
"""

from collections.abc import Mapping

from bench._apart import figures
from bench.loop import corpus

_MESSAGES = 500
_LONGEST = 1_800


def run() -> Mapping[str, object]:
    """`late` of `runs` left after their budget, the `slowest_over_ms` by so much; below 0 all were in time."""
    folder = corpus(_MESSAGES)
    return figures("_hurrying", str(folder), data=folder / "data", longest=_LONGEST, settings={})
