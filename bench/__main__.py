"""Run the benchmarks, all or those named: `python -m bench [--write] [SUBJECT …]`.

A benchmark is a module of this folder with `run() -> Mapping[str, object]`: figures by name, ratios measured within
the one run. Each runs in a process by itself and is printed as one line of JSON, with the machine and versions that it
was measured on; `--write` puts it into docs/benchmarks.md, too. One that fails, or takes longer than BENCH_LONGEST
seconds, is named, and the others go on.

All together take less than 40 minutes: then `soak` lasts five minutes instead of its half hour, unless
BENCH_SOAK_SECONDS says otherwise, and leaves what its whole length has shown on the page. What was never kept comes
first, then what took least, and what has not begun after BENCH_ALTOGETHER seconds is named as not measured.
"""

import importlib
import json
import math
import os
import pkgutil
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import _table

_ONE, _WRITE = "--one", "--write"
# What is shorter where all are run, and so says too little for the page.
_SHORTENED = {"soak": {"BENCH_SOAK_SECONDS": "300"}}
# Until a benchmark that was asked to end has stopped its servers.
_ENDING_SECONDS = 60


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
    began = time.perf_counter()
    until = began + _limit("BENCH_ALTOGETHER")
    failed = [
        name for name in names or _in_order(known) if not _run(name, until, whole=not names, keep=_WRITE in arguments)
    ]
    sys.stderr.write(f"{round(time.perf_counter() - began)} seconds in all.\n")
    if failed:
        sys.stderr.write(f"Failed: {', '.join(failed)}.\n")
    return 1 if failed else 0


def _in_order(names: Sequence[str]) -> list[str]:
    """*names* by the seconds that they took when they were kept last; what never was comes first."""
    kept = _table.load()
    return sorted(names, key=lambda name: (float(kept.get(name, {}).get("seconds", 0.0)), name))


def _run(name: str, until: float, *, whole: bool, keep: bool) -> bool:
    """Measure *name* in a process of its own, no longer than *until*; whether it came to its end.

    *whole*: as one of all.
    """
    longest = min(_limit("BENCH_LONGEST"), until - time.perf_counter())
    if longest <= 0:
        sys.stderr.write(f"{name} was not measured: BENCH_ALTOGETHER is over.\n")
        return False
    shorter = {key: value for key, value in _SHORTENED.get(name, {}).items() if whole and key not in os.environ}
    line = _last_line(name, {**os.environ, **shorter}, longest)
    if line is None:
        return False
    _print(line | ({"shortened_by": shorter} if shorter else {}))
    if keep and not shorter and "skipped" not in line:
        _table.write({**_table.load(), name: line})
    return True


def _last_line(name: str, environment: Mapping[str, str], longest: float) -> dict[str, Any] | None:
    """What the process printed last; None where it failed or took more than *longest* seconds, which is told."""
    # A group of its own, so that what it has started ends with it.
    with subprocess.Popen(
        [sys.executable, "-m", "bench", _ONE, name],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            told, _ = process.communicate(timeout=None if longest == math.inf else longest)
            line: dict[str, Any] | None = json.loads(told.splitlines()[-1]) if process.returncode == 0 else None
        except subprocess.TimeoutExpired:
            _end(process)
            sys.stderr.write(f"{name} took longer than BENCH_LONGEST or BENCH_ALTOGETHER allow.\n")
            return None
        except KeyboardInterrupt:
            _end(process)
            raise
        except (ValueError, IndexError):
            line = None
    if line is None:
        sys.stderr.write(f"{name} ended without figures, with {process.returncode}.\n")
    return line


def _limit(name: str) -> float:
    """Seconds that the environment allows; without an end unless they are named."""
    return float(os.environ.get(name) or "inf")


def _end(process: "subprocess.Popen[str]") -> None:
    """As Ctrl-C would, so that databases are stopped; what does not end by that is killed."""
    for sign in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_ENDING_SECONDS)
            return


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
