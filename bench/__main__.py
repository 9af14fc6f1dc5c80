"""Run the benchmarks, all or those named: `python -m bench [SUBJECT …]`.

A benchmark is a module of this folder with `run() -> Mapping[str, object]`: figures by name, ratios measured within
the one run. Each is printed as one line of JSON, with the machine and versions that it was measured on.
"""

import importlib
import json
import os
import pkgutil
import platform
import sys
import time
from pathlib import Path


def main(names: list[str]) -> int:
    known = sorted(found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if found.name[0] != "_")
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.stderr.write(f"No benchmark called {', '.join(unknown)}; there are: {', '.join(known)}.\n")
        return 2
    for name in names or known:
        began = time.perf_counter()
        figures = importlib.import_module(f"bench.{name}").run()
        line = {
            "subject": name,
            **figures,
            "seconds": round(time.perf_counter() - began, 1),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "machine": platform.machine(),
        }
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
