"""What a keyword search over HTTP costs beside a request that does nothing but say who asks.

Both are asked in turn, one after the other on one connection, with a key, its scope and row-level security, over
recombined sample mail (BENCH_MESSAGES of it, 5,000 if not set). The one that does nothing is `OPTIONS`, which
recognises its caller like any request. `ratio` is p95 over p95 and should be 3 at most.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench._apart import UNHURRIED, figures
from bench._mail import write_corpus

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "5000"))
_LONGEST = 3_600


def run(messages: int = MESSAGES) -> Mapping[str, object]:
    """The figures over *messages* generated messages, times in milliseconds."""
    # Short, since a socket stands in it.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "mail").mkdir()
        write_corpus(folder / "mail", messages)
        return figures("_requesting", str(folder / "mail"), data=folder / "data", longest=_LONGEST, settings=UNHURRIED)
