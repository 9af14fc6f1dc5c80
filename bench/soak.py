"""Mixed traffic for half an hour (BENCH_SOAK_SECONDS) on two workers, with the database restarted in the middle.

Searches of all modes, questions with an idempotency key that are repeated until they are answered, runs read later,
streams, verified answers. Watched are each worker's own memory, threads and open files and the database's sessions;
no run may be lost, be there twice, or end otherwise than the same question did in peace.
"""

import os
from collections.abc import Mapping

from bench._apart import UNHURRIED, figures
from bench.loop import corpus

SECONDS = int(os.environ.get("BENCH_SOAK_SECONDS", "1800"))
_MESSAGES = 500


def run(seconds: int = SECONDS) -> Mapping[str, object]:
    """Growth after warm-up in per cent, what was left open, runs lost, doubled and wrong, seconds of recovery."""
    folder = corpus(_MESSAGES)
    longest = 4 * seconds + 600
    return figures("_soaking", str(folder), str(seconds), data=folder / "data", longest=longest, settings=UNHURRIED)
