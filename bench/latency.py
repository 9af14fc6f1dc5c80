"""How long a client waits for an answer, to the last byte, with a model that takes its time as real ones do.

400 questions (BENCH_RUNS) by ten clients at once over HTTP, each as a stream, over recombined sample mail
(BENCH_MESSAGES, 100,000 if not set), by one worker. Asked twice: with 8 seconds and with 60; answers within 8 s should
be 90 % of those within 60. The model's pace stands in bench/_paced_model.py.

The store is made once and kept under build/bench (or BENCH_CACHE), which takes longer than to ask.
"""

import os
from collections.abc import Mapping

from bench._apart import UNHURRIED, figures
from bench.loop import corpus

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "100000"))
_LONGEST = 7_200


def run(messages: int = MESSAGES) -> Mapping[str, object]:
    """Seconds by percentile for either budget, `cold_seconds` of a process's first question, and `kept_share`."""
    folder = corpus(messages)
    return figures("_waiting", str(folder), data=folder / "data", longest=_LONGEST, settings=UNHURRIED)
