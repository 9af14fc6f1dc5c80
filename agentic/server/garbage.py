"""How a process that serves looks for garbage that holds on to itself: so that nobody who has a deadline waits for it.

Looking through all that is loaded takes a tenth of a second, in which no run of the process gets on.
"""

import gc
from functools import cache

# Values made and not yet given up before the youngest are looked through; by default 700.
_COLLECT_AFTER = 5_000


@cache
def settle() -> None:
    """What is loaded by now stays for good, so no later look goes through it. Call it once all is loaded.

    A page of hits makes some thousands of values at once, of which hardly any is part of a cycle.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 10, 10)
