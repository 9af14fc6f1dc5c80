"""Runs a benchmark's module in a process by itself, so that settings and caches of one don't reach into the next."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# For benchmarks that send as much as they can: how often a caller may ask is not what they measure.
UNHURRIED = {"PM_RATE_CALLER": "10000", "PM_RATE_TENANT": "10000"}
_PROJECT = Path(__file__).resolve().parents[1]


def figures(module: str, *arguments: str, data: Path, longest: float, settings: Mapping[str, str]) -> dict[str, Any]:
    """The figures that `bench.<module>` prints last, over a Postgres of its own in *data*, with *settings* beside.

    Raises CalledProcessError where it fails, TimeoutExpired where it takes more than *longest* seconds.
    """
    stored = {"PM_DATA": str(data), "PM_DATABASE_URL": "", "PM_DATABASE_NAME": "bench"}
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{module}", *arguments],
        env={**os.environ, **stored, **settings},
        cwd=_PROJECT,
        stdout=subprocess.PIPE,
        check=True,
        timeout=longest,
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told
