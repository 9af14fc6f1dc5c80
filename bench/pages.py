"""How long the pages of an auditor take over many runs: 100,000 runs with 1,000,000 sentences, one in five removed.

The rows are made by the database itself, in a Postgres of the benchmark's own; the pages are loaded and rendered as the
service does, without a network between: with filters that fit nothing, one row, or nearly all of them. Told are the
median milliseconds of five loads, those of processors for one (Postgres' included), and the pages over the limit.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

LIMIT_MS = 500


def run() -> Mapping[str, object]:
    with tempfile.TemporaryDirectory(prefix="mailsearch-bench-") as folder:
        command = [sys.executable, "-m", "bench._page_rows", folder]
        told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    figures: dict[str, object] = json.loads(told.stdout.splitlines()[-1])
    medians = figures["median_ms"]
    assert isinstance(medians, dict)
    return {**figures, "over_limit": sorted(name for name, median in medians.items() if median > LIMIT_MS)}
