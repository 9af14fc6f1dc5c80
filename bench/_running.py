"""Starts `bench._importing` as a process with a data folder of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_LONGEST = 7_200


def command(folder: Path, store: str, *options: str) -> dict[str, Any]:
    """Arguments of subprocess for an import of *folder*/mail into the store called *store*."""
    return {
        "args": [sys.executable, "-m", "bench._importing", str(folder / "mail"), *options],
        "env": {**os.environ, "PM_DATA": str(folder / store), "PM_DATABASE_URL": "", "PM_DATABASE_NAME": "bench"},
        "cwd": Path(__file__).resolve().parents[1],
        "stdout": subprocess.PIPE,
    }


def finish(folder: Path, store: str, *options: str) -> dict[str, Any]:
    """The figures of an import that comes to its end. Raises RuntimeError where mail was lost."""
    done = subprocess.run(**command(folder, store, *options), check=True, timeout=_LONGEST)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if figures["lost"]:
        raise RuntimeError(f"The import lost {figures['lost']} messages.")
    return figures
