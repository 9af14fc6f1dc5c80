"""How often Python looks for garbage that holds on to itself.

Taking mail in makes objects by the hundred thousand, and none of them in circles; at the usual rate a sixth of the
work is looking through them in vain.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two looks. A batch of mail has about so many.
_BETWEEN = 100_000
_lock = threading.Lock()
_asking = 0
_usual = gc.get_threshold()


def rarely() -> None:
    """From here on in this process."""
    gc.set_threshold(_BETWEEN, 20, 50)


@contextmanager
def seldom() -> Iterator[None]:
    """Within this block, and until others like it in the process have ended."""
    global _asking, _usual
    with _lock:
        if not _asking:
            _usual = gc.get_threshold()
            rarely()
        _asking += 1
    try:
        yield
    finally:
        with _lock:
            _asking -= 1
            if not _asking:
                gc.set_threshold(*_usual)
