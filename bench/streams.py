"""A thousand streams held by one worker: what each costs in memory, that threads and database connections stay flat,
and how long an event takes to reach them.

The streams follow the runs of fifty tenants, twenty watchers each (BENCH_STREAMS changes how many in all). Events are
written by another process, as another worker would.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

STREAMS = int(os.environ.get("BENCH_STREAMS", "1000"))
_LONGEST = 1_800


def run(streams: int = STREAMS) -> Mapping[str, object]:
    """The figures over *streams* streams; `threads_more` and `connections_more` are what they added to a worker."""
    # Short, since a socket stands in it.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        Path(name).chmod(0o711)
        done = subprocess.run(
            [sys.executable, "-m", "bench._streaming", str(streams)],
            env={
                **os.environ,
                "PM_DATA": str(Path(name) / "data"),
                "PM_DATABASE_URL": "",
                "PM_DATABASE_NAME": "bench",
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
