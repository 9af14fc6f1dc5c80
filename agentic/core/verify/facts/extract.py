"""All facts of a text, the most specific reading first; what one reading took is gone for the next."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial

from agentic.core.verify.facts import dates, numbers, tokens
from agentic.core.verify.facts.values import Fact

_Reader = Callable[[str], Iterator[Fact]]
_READERS: tuple[_Reader, ...] = (
    tokens.urls,
    tokens.emails,
    tokens.ibans,
    *(partial(dates.dates, style=style) for style in dates.STYLES),
    dates.times,
    tokens.phones,
    dates.months,
    dates.weekdays,
)


def extract(text: str, languages: tuple[str, ...] = ("en",), *, claims: bool = False) -> list[Fact]:
    """The facts of *text*, which is in normal form, ordered by place.

    *languages* are those whose number words are read. With *claims* only what states something is taken: number words
    that count, months and weekdays.
    """
    found: list[Fact] = []
    rest = _ascii_digits(text)
    for reader in _READERS:
        rest = _take(rest, reader(rest), found)
    rest = _take(rest, (fact for fact in numbers.numbers(rest) if _is_plain(rest, fact)), found)
    rest = _take(rest, tokens.domains(rest), found)
    rest = _take(rest, tokens.identifiers(rest), found)
    rest = _take(rest, tokens.leftovers(rest), found)
    _take(rest, numbers.worded(rest, languages, claims=claims), found)
    return sorted(found, key=lambda fact: fact.start)


def _ascii_digits(text: str) -> str:
    """*text* with the decimal digits of every script as ASCII, so that they are read by the same rules."""
    return text if text.isascii() else _OTHER_DIGIT.sub(lambda match: str(unicodedata.digit(match.group())), text)


_LONG = re.compile(r"[0-9]{5,}")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


def _take(text: str, facts: Iterator[Fact], found: list[Fact]) -> str:
    """Add *facts* and return *text* with their spans blanked, so that nothing is read twice."""
    taken = list(facts)
    if not taken:
        return text
    found.extend(taken)
    pieces, position = [], 0
    for start, end in sorted({(fact.start, fact.end) for fact in taken}):
        if start < position:
            continue
        pieces.append(text[position:start])
        pieces.append("\ue001" * (end - start))
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


_RANGE_RIGHT = re.compile(r"-(?P<number>[0-9]{1,4}(?:[.,][0-9]{1,2})?)(?![0-9a-z_/-]|[.,:][0-9])")
_RANGE_LEFT = re.compile(r"(?<![0-9a-z_/.,-])(?P<number>[0-9]{1,4}(?:[.,][0-9]{1,2})?)-$")
_COMPOUND = re.compile(r"[-/][^\W\d_]{3,}(?![0-9_])")


def _is_plain(text: str, fact: Fact) -> bool:
    """Whether the number stands by itself and is no piece of an identifier ("CL-2024-00173", "A12", five digits)."""
    if not (_free_left(text, fact) and _free_right(text, fact)):
        return False
    return not (
        fact.kind == "number" and not fact.unit and not fact.counts and _LONG.fullmatch(fact.text)
    )


def _free_left(text: str, fact: Fact) -> bool:
    before, beyond = (
        text[fact.start - 1 : fact.start] if fact.start else "",
        text[fact.start - 2 : fact.start - 1] if fact.start > 1 else "",
    )
    if (before.isalnum() and before < "\u0e00") or before in ("_", "@"):
        return False
    if before in ("-", "/", ":", ".") and beyond.isalnum() and beyond < "\u0e00":
        left = _RANGE_LEFT.search(text[max(0, fact.start - 10) : fact.start])
        return left is not None and _rises(left.group("number"), fact.text)
    return True


def _free_right(text: str, fact: Fact) -> bool:
    after, beyond = text[fact.end : fact.end + 1], text[fact.end + 1 : fact.end + 2]
    if (after.isalnum() and after < "\u0e00") or after == "_":
        return False
    if after in ("-", "/", ":", ".") and beyond.isalnum() and beyond < "\u0e00":
        right = _RANGE_RIGHT.match(text, fact.end)
        rising = right is not None and _rises(fact.text, right.group("number"))
        return rising or (after == "." and beyond.isalpha()) or _COMPOUND.match(text, fact.end) is not None
    return True


def _rises(first: str, second: str) -> bool:
    """A range goes up and keeps its order of size ("10-12", "900-1100"); "77-4410" is a file number."""
    low, high = re.match(r"[0-9]+", first), re.match(r"[0-9]+", second)
    return (
        low is not None
        and high is not None
        and int(low.group()) < int(high.group())
        and len(high.group()) - len(low.group()) <= 1
    )
