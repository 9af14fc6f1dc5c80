"""The words of a text, whatever its white space, quoting and case: what near-duplicates share."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
# The same for ASCII, at a third of the cost.
_APART = str.maketrans(dict.fromkeys((chr(code) for code in range(128) if not re.match(r"\w", chr(code))), " "))
_QUOTE_PREFIX = re.compile(r"(?m)^[ \t]{0,3}(?:>[ \t]?)+")


def words(text: str) -> list[str]:
    """The words of *text* in order, folded for comparison."""
    if ">" in text:
        text = _QUOTE_PREFIX.sub("", text)
    if text.isascii():
        return text.lower().translate(_APART).split()
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def words_hash(text: str) -> str:
    """A hash (64 hexadecimal digits) that texts with the same words in the same order share; "" for no words."""
    return hash_of(words(text))


def hash_of(found: Sequence[str]) -> str:
    """`words_hash` of a text whose words are *found*."""
    return hashlib.sha256(" ".join(found).encode("utf-8", "replace")).hexdigest() if found else ""


def differ(first: str, second: str) -> bool:
    """Whether much of what *first* or *second* says in words is missing in the other."""
    one, other = set(words(first)), set(words(second))
    smaller = min(len(one), len(other))
    shared = len(one & other)
    return shared < 0.7 * smaller or len(one | other) - shared > 10 + 0.6 * max(len(one), len(other))
