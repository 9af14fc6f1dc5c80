"""How long a client waits for an answer, to the last byte, with a model that takes its time as real ones do.

400 questions (BENCH_RUNS) by ten clients at once over HTTP, each as a stream, over recombined sample mail
(BENCH_MESSAGES, 100,000 if not set), by one worker. Asked twice: with 8 seconds and with 60; answers within 8 s should
be 90 % of those within 60. The model's pace stands in bench/_paced_model.py.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.loop import corpus, stored_in

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "100000"))
_LONGEST = 7_200


def run(messages: int = MESSAGES) -> Mapping[str, object]:
    """Seconds by percentile for either budget, `cold_seconds` of a process's first question, and `kept_share`."""
    folder = corpus(messages)
    done = subprocess.run(
        [sys.executable, "-m", "bench._waiting", str(folder)],
        env={
            **os.environ,
            **stored_in(folder),
            "PM_RATE_CALLER": "10000",
            "PM_RATE_TENANT": "10000",
        },
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.PIPE,
        check=True,
        timeout=_LONGEST,
    )
    figures: Mapping[str, object] = json.loads(done.stdout.splitlines()[-1])
    return figures
