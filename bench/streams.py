"""A thousand streams held by one worker: what each costs in memory, that threads and database connections stay flat,
and how long an event takes to reach them.

The streams follow the runs of fifty tenants, twenty watchers each (BENCH_STREAMS changes how many in all). Events are
written by another process, as another worker would.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench._apart import UNHURRIED, figures

STREAMS = int(os.environ.get("BENCH_STREAMS", "1000"))
_LONGEST = 1_800


def run(streams: int = STREAMS) -> Mapping[str, object]:
    """The figures over *streams* streams; `threads_more` and `connections_more` are what they added to a worker."""
    # Short, since a socket stands in it.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        Path(name).chmod(0o711)
        return figures("_streaming", str(streams), data=Path(name) / "data", longest=_LONGEST, settings=UNHURRIED)
