"""An import that is killed ten times and repeated, beside an undisturbed one: both must leave the same store.

Batches are small, so that each kill finds some stored, one under way and more to come.
"""

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

MESSAGES = 5_000
KILLS = 10
BATCH = 100


def run(messages: int = MESSAGES, kills: int = KILLS, seed: int = 11) -> Mapping[str, object]:
    """`same`: whether every kind of row agrees. Kills come by SIGKILL, at a random moment within the next two batches
    after the first that a start has stored. `stored_before_kills`: how many messages each had stored by then, at least.
    """
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "mail").mkdir()
        write_corpus(folder / "mail", messages)
        options = f"--batch={BATCH}"
        calm = _running.finish(folder, "calm", "--state", options)
        a_batch = calm["wall_seconds"] * BATCH / messages
        hits = [_kill(folder, options, draw.uniform(0, 2 * a_batch)) for _ in range(kills)]
        disturbed = _running.finish(folder, "killed", "--state", options)
    one, other = calm["state"], disturbed["state"]
    return {
        "messages": messages,
        "kills": sum(stored is not None for stored in hits),
        "stored_before_kills": hits,
        "left_for_the_last": disturbed["messages"],
        "same": one == other,
        "differ": sorted(kind for kind in one if one[kind] != other[kind]),
    }


def _kill(folder: Path, options: str, after: float) -> int | None:
    """Start an import and kill it *after* seconds from its first stored batch on; None where it had come to its end.

    Otherwise how many messages it had said to have stored.
    """
    importer = subprocess.Popen(**_running.command(folder, "killed", options))
    assert importer.stdout is not None
    stored = 0
    for line in importer.stdout:
        if line.strip().isdigit() and (stored := int(line)):
            break
    time.sleep(after)
    os.kill(importer.pid, signal.SIGKILL)
    importer.stdout.close()
    return stored if importer.wait() == -signal.SIGKILL else None
