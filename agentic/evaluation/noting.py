"""One evaluation at a time notes into a file of results, so that no case is asked and counted twice."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from agentic.evaluation.report import BadInput


@contextmanager
def noting(file: Path | None) -> Iterator[None]:
    """Within this block nobody else notes into *file*. Raises BadInput where somebody does already, or nobody can."""
    if file is None:
        yield
        return
    with _held(file):
        yield


def _held(file: Path) -> TextIO:
    """*file*, locked until it is closed."""
    try:
        held = file.open("a", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} can't be written: {error.strerror}") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.close()
        raise BadInput(f"another evaluation notes into {file}: wait for its end, or name another file") from error
    return held
