"""How fast mail is taken in: messages per processor second, with attachments read and without, beside notmuch.

Processor seconds are user and system time of the importer, its child and Postgres; of `notmuch new` all that it used.
notmuch reads no attachments, so it is the import without them that stands beside it. Runs on Linux.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench._mail import write_corpus

MESSAGES = 3_000
_LONGEST = 300


def run(messages: int = MESSAGES) -> Mapping[str, object]:
    """The figures over *messages* generated messages; `ratio` is ours without attachments over notmuch's."""
    # Short, since a socket stands in it.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "mail").mkdir()
        size = write_corpus(folder / "mail", messages)
        without, with_ = (_imported(folder, read_attachments=attachments) for attachments in (False, True))
        theirs = _notmuch(folder, messages)
    ours = _rate(without)
    return {
        "messages": messages,
        "bytes": size,
        "messages_per_cpu_second": ours,
        "with_attachments": _rate(with_),
        "notmuch": theirs if theirs is not None else "not measured",
        "ratio": round(ours / theirs, 2) if theirs else "not measured",
        "without": without,
        "with": with_,
    }


def _rate(figures: Mapping[str, float]) -> float:
    return round(figures["messages"] / (figures["importer_seconds"] + figures["postgres_seconds"]), 1)


def _imported(folder: Path, *, read_attachments: bool) -> Mapping[str, float]:
    data = folder / ("with" if read_attachments else "without")
    command = [sys.executable, "-m", "bench._importing", str(folder / "mail")]
    done = subprocess.run(
        command + ["--attachments"] * read_attachments,
        env={**os.environ, "PM_DATA": str(data), "PM_DATABASE_URL": "", "PM_DATABASE_NAME": "bench"},
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.PIPE,
        check=True,
        timeout=_LONGEST,
    )
    figures: Mapping[str, float] = json.loads(done.stdout.splitlines()[-1])
    if figures["lost"]:
        raise RuntimeError(f"The import lost {figures['lost']} messages.")
    return figures


def _notmuch(folder: Path, messages: int) -> float | None:
    """Messages per processor second of `notmuch new` on the same files; None where notmuch is not installed."""
    program = shutil.which("notmuch")
    if program is None:
        return None
    configuration = folder / "notmuch-config"
    configuration.write_text(
        f"[database]\npath={folder / 'mail'}\n[user]\nname=Bench\nprimary_email=bench@shop.example\n[new]\ntags=new\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [program, "--config", str(configuration), "new", "--quiet"], check=True, timeout=_LONGEST, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return round(messages / seconds, 1)
