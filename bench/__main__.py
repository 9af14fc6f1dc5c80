"""Run the benchmarks, all or those named: `python -m bench [--write] [SUBJECT …]`.

A benchmark is a module of this folder with `run() -> Mapping[str, object]`: figures by name, ratios measured within
the one run. Each runs in a process by itself and is printed as one line of JSON, with the machine and versions that it
was measured on; `--write` puts it into docs/benchmarks.md, too. One that fails is named, and the others go on.
"""

import importlib
import json
import os
import pkgutil
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import _table

_ONE, _WRITE = "--one", "--write"


def main(arguments: list[str]) -> int:
    """The exit code: 0, 1 where a benchmark failed, 2 where there is none of a name."""
    known = sorted(found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if found.name[0] != "_")
    names = [argument for argument in arguments if argument not in (_ONE, _WRITE)]
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.stderr.write(f"No benchmark called {', '.join(unknown)}; there are: {', '.join(known)}.\n")
        return 2
    if _ONE in arguments:
        _print(_measured(names[0]))
        return 0
    failed = [name for name in names or known if not _run(name, keep=_WRITE in arguments)]
    if failed:
        sys.stderr.write(f"Failed: {', '.join(failed)}.\n")
    return 1 if failed else 0


def _run(name: str, *, keep: bool) -> bool:
    """Measure *name* in a process of its own; whether it came to its end."""
    done = subprocess.run([sys.executable, "-m", "bench", _ONE, name], stdout=subprocess.PIPE, text=True)
    if done.returncode or not done.stdout.strip():
        return False
    line = json.loads(done.stdout.splitlines()[-1])
    _print(line)
    if keep:
        _table.write({**_table.load(), name: line})
    return True


def _measured(name: str) -> dict[str, Any]:
    began = time.perf_counter()
    figures = importlib.import_module(f"bench.{name}").run()
    return {
        "subject": name,
        **figures,
        "seconds": round(time.perf_counter() - began, 1),
        "at": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "django": version("django"),
        "psycopg": version("psycopg"),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
    }


def _print(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
