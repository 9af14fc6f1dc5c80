"""How long the pages of an auditor take over many runs: 100,000 runs with 1,000,000 sentences, one in five removed.

The rows are made by the database itself, in a Postgres of the benchmark's own; the pages are loaded and rendered as the
service does, without a network between. Counted are the median of five and the queries of one.
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
    return figures
