"""Names of people as a reader takes them: two that look the same are the same."""

import re
from functools import lru_cache

from mailsearch.terms import fold

LONGEST_KEY = 100
# Letters of Cyrillic and Greek, rare ones of Latin, and digits, with the small Latin letters that they look like. A
# capital I looks like an l.
_LIKE = str.maketrans(
    "авеѕіјкмнорстухԁԛԝһьαβγεηικνορτυχωıɑɡłøđ01|i",
    "abesljkmhopctyxdqwhbabyenlkvoptuxwlaglodolll",
)
# Spaces and punctuation, and letters that are blank.
_APART = re.compile("[\\W_\u115f\u1160\u3164]+")


@lru_cache(20_000)
def likeness(name: str) -> str:
    """What *name* looks like: without case, accents, spaces and punctuation, and in one alphabet as far as that goes.

    "Berg, Anna" is Anna Berg.
    """
    folded = fold(name)
    if folded.count(",") == 1:
        folded = "".join(reversed(folded.split(",")))
    return _APART.sub("", folded.translate(_LIKE))[:LONGEST_KEY] or folded[:LONGEST_KEY]
