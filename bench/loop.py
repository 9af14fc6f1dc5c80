"""What a run costs beside its model: milliseconds of one alone, runs a second, and of many that arrive as they like.

Asked is over recombined sample mail (BENCH_MESSAGES of it, 100,000 if not set) with a model that replies at once, or
after a second, by quoting what it is shown. Everything is written as in service: trace, evidence, sentences, response.
Statements, transactions and processor milliseconds a run mean something on a busy machine, too.

The mail is stored once and kept under build/bench (or BENCH_CACHE). BENCH_STORE names the folder of a store that
`python -m bench search` has made, with vectors: asked is then over the largest of its tenants.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from bench._apart import figures
from bench._mail import write_corpus

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "100000"))
_PROJECT = Path(__file__).resolve().parents[1]
_CACHE = Path(os.environ.get("BENCH_CACHE", str(_PROJECT / "build" / "bench")))
_LONGEST = 7_200


def run(messages: int = MESSAGES) -> Mapping[str, object]:
    """The figures over *messages* generated messages; `open_ratio` is p95 under arrivals over p95 alone."""
    store = os.environ.get("BENCH_STORE", "")
    folder = Path(store) if store else corpus(messages)
    return figures("_asking", str(folder), data=folder / "data", longest=_LONGEST, settings={})


def corpus(messages: int) -> Path:
    """A folder with so many generated messages and their database, made where it is missing."""
    folder = _CACHE / f"mail-{messages}"
    folder.mkdir(parents=True, exist_ok=True)
    # The server runs under an account of its own where root starts it.
    folder.chmod(0o711)
    mail = folder / "mail"
    if not (folder / "written").exists():
        mail.mkdir(exist_ok=True)
        write_corpus(mail, messages)
        (folder / "written").touch()
    return folder
