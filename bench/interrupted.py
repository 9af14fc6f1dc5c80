"""An import that is killed ten times and repeated, beside an undisturbed one: both must leave the same store."""

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench import _running
from bench._mail import write_corpus

# Ten batches.
MESSAGES = 5_000
KILLS = 10


def run(messages: int = MESSAGES, kills: int = KILLS, seed: int = 11) -> Mapping[str, object]:
    """`same`: whether every kind of row agrees. Kills come at random moments of the import, by SIGKILL.

    Each is within half the time of an undisturbed import: some come before a batch is stored, others amid the rest.
    """
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "mail").mkdir()
        write_corpus(folder / "mail", messages)
        calm = _running.finish(folder, "calm", "--state")
        killed = sum(_kill(folder, draw.uniform(0, calm["wall_seconds"] / 2)) for _ in range(kills))
        disturbed = _running.finish(folder, "killed", "--state")
    one, other = calm["state"], disturbed["state"]
    return {
        "messages": messages,
        "kills": killed,
        "left_for_the_last": disturbed["messages"],
        "same": one == other,
        "differ": sorted(kind for kind in one if one[kind] != other[kind]),
    }


def _kill(folder: Path, after: float) -> bool:
    """Start an import and kill it *after* seconds; False where it had come to its end."""
    importer = subprocess.Popen(**_running.command(folder, "killed"))
    assert importer.stdout is not None
    importer.stdout.readline()
    time.sleep(after)
    os.kill(importer.pid, signal.SIGKILL)
    importer.stdout.close()
    return importer.wait() == -signal.SIGKILL
