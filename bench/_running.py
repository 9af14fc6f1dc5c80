"""Starts `bench._importing` as a process with a data folder of its own."""

import compileall
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_LONGEST = 7_200
_ROOT = Path(__file__).resolve().parents[1]


def compile_packages() -> None:
    """Have bytecode beside the modules, as an installation has it: a start that is measured compiles nothing."""
    for package in ("agentic", "bench", "mailsearch"):
        compileall.compile_dir(_ROOT / package, quiet=2)


def command(folder: Path, store: str, *options: str) -> dict[str, Any]:
    """Arguments of subprocess for an import of *folder*/mail into the store called *store*."""
    return {
        "args": [sys.executable, "-m", "bench._importing", str(folder / "mail"), *options],
        "env": {**os.environ, "PM_DATA": str(folder / store), "PM_DATABASE_URL": "", "PM_DATABASE_NAME": "bench"},
        "cwd": _ROOT,
        "stdout": subprocess.PIPE,
    }


def finish(folder: Path, store: str, *options: str) -> dict[str, Any]:
    """The figures of an import that comes to its end. Raises RuntimeError where mail was lost."""
    done = subprocess.run(**command(folder, store, *options), check=True, timeout=_LONGEST)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if figures["lost"]:
        raise RuntimeError(f"The import lost {figures['lost']} messages.")
    return figures
