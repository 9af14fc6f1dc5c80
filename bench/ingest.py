"""How fast mail is taken in: messages per processor second, with attachments read and without, beside notmuch.

Processor seconds are user and system time of the importer, its child and Postgres, starts included; of `notmuch new`
all that it used. So many messages as a few years of mail have, so that a start counts as it does in use
(`BENCH_MESSAGES` for another number). notmuch reads no attachments, so it is the import without them that stands beside
it. Disk is without raw copies and vectors. `BENCH_LARGE=100000` also imports so many messages and a tenth of them, and
tells how the time grows; that takes many minutes. Runs on Linux.
"""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import _running
from bench._mail import write_corpus

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "10000"))


def run(messages: int = MESSAGES) -> Mapping[str, object]:
    """The figures over *messages* generated messages; `ratio` is ours without attachments over notmuch's."""
    _running.compile_packages()
    # Short, since a socket stands in it.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        size = _fill(folder, messages)
        without = _running.finish(folder, "without")
        with_ = _running.finish(folder, "with", "--attachments")
        theirs = _notmuch(folder, messages)
    ours = _rate(without)
    return {
        "messages": messages,
        "bytes": size,
        "messages_per_cpu_second": ours,
        "with_attachments": _rate(with_),
        "notmuch": theirs if theirs is not None else "not measured",
        "ratio": round(ours / theirs, 2) if theirs else "not measured",
        "bytes_a_message": without["bytes_a_message"],
        "without": without,
        "with": with_,
        **_growth(int(os.environ.get("BENCH_LARGE", "0"))),
    }


def _growth(large: int) -> Mapping[str, object]:
    """Processor seconds of *large* messages over those of a tenth of them."""
    if not large:
        return {}
    measured: list[dict[str, Any]] = []
    for messages in (large // 10, large):
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            folder = Path(name)
            _fill(folder, messages)
            measured.append(_running.finish(folder, "large"))
    tenth, whole = measured
    return {"growth": round(_seconds(whole) / _seconds(tenth), 2), "tenth": tenth, "large": whole}


def _fill(folder: Path, messages: int) -> int:
    folder.chmod(0o711)
    (folder / "mail").mkdir()
    return write_corpus(folder / "mail", messages)


def _rate(figures: Mapping[str, Any]) -> float:
    return round(int(figures["messages"]) / _seconds(figures), 1)


def _seconds(figures: Mapping[str, Any]) -> float:
    return float(figures["importer_seconds"]) + float(figures["postgres_seconds"])


def _notmuch(folder: Path, messages: int) -> float | None:
    """Messages per processor second of `notmuch new` on the same files; None where notmuch is not installed."""
    program = shutil.which("notmuch")
    if program is None:
        return None
    configuration = folder / "notmuch-config"
    # All else as it is by default, so as people have it.
    configuration.write_text(
        f"[database]\npath={folder / 'mail'}\n[user]\nname=Bench\nprimary_email=bench@shop.example\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [program, "--config", str(configuration), "new", "--quiet"], check=True, timeout=600, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return round(messages / seconds, 1)
