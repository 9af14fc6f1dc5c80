"""What a run costs beside its model: milliseconds of one alone, runs a second, and of many that arrive as they like.

Asked is over recombined sample mail (BENCH_MESSAGES of it, 5,000 if not set) with a model that replies at once, or
after a second, by quoting what it is shown. Everything is written as in service: trace, evidence, sentences, response.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench._mail import write_corpus

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "5000"))
_LONGEST = 3_600


def run(messages: int = MESSAGES) -> Mapping[str, object]:
    """The figures over *messages* generated messages; `open_ratio` is p95 under arrivals over p95 alone."""
    # Short, since a socket stands in it.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "mail").mkdir()
        write_corpus(folder / "mail", messages)
        done = subprocess.run(
            [sys.executable, "-m", "bench._asking", str(folder / "mail")],
            env={**os.environ, "PM_DATA": str(folder / "data"), "PM_DATABASE_URL": "", "PM_DATABASE_NAME": "bench"},
            cwd=Path(__file__).resolve().parents[1],
            stdout=subprocess.PIPE,
            check=True,
            timeout=_LONGEST,
        )
    figures: Mapping[str, object] = json.loads(done.stdout.splitlines()[-1])
    return figures
