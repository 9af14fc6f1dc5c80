"""Mixed traffic for half an hour (BENCH_SOAK_SECONDS) on two workers, with the database restarted in the middle.

Searches of all modes, questions with an idempotency key that are repeated until they are answered, runs read later,
streams, verified answers. Watched are each worker's own memory, threads and open files and the database's sessions;
no run may be lost, be there twice, or end otherwise than the same question did in peace.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.loop import corpus, stored_in

SECONDS = int(os.environ.get("BENCH_SOAK_SECONDS", "1800"))
_MESSAGES = 500


def run(seconds: int = SECONDS) -> Mapping[str, object]:
    """Growth after warm-up in per cent, what was left open, runs lost, doubled and wrong, seconds of recovery."""
    folder = corpus(_MESSAGES)
    done = subprocess.run(
        [sys.executable, "-m", "bench._soaking", str(folder), str(seconds)],
        env={**os.environ, **stored_in(folder), "PM_RATE_CALLER": "10000", "PM_RATE_TENANT": "10000"},
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.PIPE,
        check=True,
        timeout=4 * seconds + 600,
    )
    figures: Mapping[str, object] = json.loads(done.stdout.splitlines()[-1])
    return figures
