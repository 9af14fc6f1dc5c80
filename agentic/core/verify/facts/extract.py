"""All facts of a text, the most specific reading first; what one reading took is gone for the next."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from agentic.core.verify.facts import dates, fractions, numbers, roman, spoken, tokens
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.facts.worded import worded
from agentic.core.verify.words import words_in

_Reader = Callable[[str], Iterator[Fact]]
# Numbers in digits of one part that are read, and facts of any other kind: what stands behind them supports nothing.
# A flood of numbers would else take longer than a run has.
MAX_FACTS = 25_000
_RUN = re.compile("[0-9]+")
# A source is read once, and is too long to be kept twice.
_SHORT = 2000
_WORDS = re.compile(r"[^\W\d_]+")


def extract(text: str, languages: tuple[str, ...] = ("en",), *, claims: bool = False) -> list[Fact]:
    """The facts of *text*, which is in normal form, ordered by place.

    *languages* are those whose number words are read. With *claims* only what states something is taken: number words
    that count, months and weekdays.
    """
    found: list[Fact] = []
    rest = _ascii_digits(text)
    words = words_in(rest) if len(rest) < _SHORT else frozenset(_WORDS.findall(rest))
    if "://" in rest or "www." in rest:
        rest = _take(rest, tokens.urls(rest), found)
    if "@" in rest:
        rest = _take(rest, tokens.emails(rest), found)
    months = dates.months_among(words)
    for reader in _spoken_readers(rest, words, months):
        rest = _take(rest, reader(rest), found)
    if not fractions.WORDS.isdisjoint(words):
        rest = _take(rest, fractions.worded_parts(rest, claims=claims), found)
    rest = _take_digits(rest, months, found)
    for reader in _word_readers(rest, words, months):
        rest = _take(rest, reader(rest), found)
    if not roman.NUMERALS.isdisjoint(words):
        rest = _take(rest, roman.numerals(rest, words), found)
    _take(rest, worded(rest, words, languages, claims=claims), found)
    return sorted(found, key=lambda fact: fact.start)


def _spoken_readers(text: str, words: frozenset[str], months: tuple[str, ...]) -> Iterator[_Reader]:
    """Readers of what is told in words and may have digits beside it."""
    days = spoken.days_among(words) if months else ()
    if days:
        yield partial(spoken.spoken_days, names=days, months=months)
    if not spoken.CLOCK_WORDS.isdisjoint(words):
        yield spoken.spoken_times
    if not text.isascii() and max(text) > "\u036f":
        yield spoken.foreign_weekdays
        yield spoken.han


def _word_readers(text: str, words: frozenset[str], months: tuple[str, ...]) -> Iterator[_Reader]:
    """Readers of facts that need no digit, where the text has what they look for."""
    if months:
        yield partial(dates.months, names=months)
    weekdays = dates.weekdays_among(words)
    if weekdays:
        yield partial(dates.weekdays, names=weekdays)
    if words & dates.NAMED_TIMES:
        yield dates.named_times
    if "." in text:
        yield tokens.domains
    if not text.isascii():
        yield numbers.fractions


def _take_digits(text: str, months: tuple[str, ...], found: list[Fact]) -> str:
    """Add the facts that hold a digit, and return *text* with them blanked.

    Only what stands near digits is read: in mail that is a small part, and the patterns are the costly ones.
    """
    windows = _windows(text[: _end_of_reading(text)])
    if not windows:
        return text
    near = "\n".join(text[start:end] for start, end in windows)
    own: list[Fact] = []
    styles = [partial(dates.dates, style=style, names=months) for style in dates.styles_for(near, months)]
    readers: list[_Reader] = [tokens.ibans, *styles, dates.times, tokens.phones, numbers.inside]
    for reader in readers:
        near = _take(near, reader(near), own)
    near = _take(near, (fact for fact in numbers.numbers(near) if _is_plain(near, fact)), own)
    for reader in (tokens.domains, tokens.identifiers, tokens.leftovers):
        near = _take(near, reader(near), own)
    placed = list(_placed(own, windows))
    return _take(text, iter(placed), found)


def _end_of_reading(text: str) -> int:
    """Where the last number that is read ends: at the blank before the one that is too many."""
    beyond = next(islice(_RUN.finditer(text), MAX_FACTS, None), None)
    return (
        len(text) if beyond is None else max(text.rfind(" ", 0, beyond.start()), text.rfind("\n", 0, beyond.start()), 0)
    )


def _windows(text: str) -> list[tuple[int, int]]:
    """Spans of *text* around digits, on whole words and within lines, apart from each other."""
    spans: list[tuple[int, int]] = []
    for match in _DIGITS.finditer(text):
        low = text.rfind("\n", 0, match.start()) + 1
        high = text.find("\n", match.end())
        start = max(low, match.start() - _REACH)
        start = low if start == low else text.rfind(" ", low, start) + 1 or low
        end = min(high if high >= 0 else len(text), match.end() + _REACH)
        blank = text.find(" ", end)
        end = min(position for position in (blank, high, len(text)) if position >= end)
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


# How far from a digit the words of its fact may stand, and digits this close share a window.
_REACH = 40
_DIGITS = re.compile(r"[0-9](?:[^\n]{0,30}[0-9])*")


def _placed(facts: list[Fact], windows: list[tuple[int, int]]) -> Iterator[Fact]:
    """*facts* of the joined windows with the offsets of the whole text."""
    bases, base = [], 0
    for start, end in windows:
        bases.append(base)
        base += end - start + 1
    for fact in facts:
        window = bisect_right(bases, fact.start) - 1
        shift = windows[window][0] - bases[window]
        yield replace(fact, start=fact.start + shift, end=fact.end + shift) if shift else fact


def _ascii_digits(text: str) -> str:
    """*text* with the decimal digits of every script as ASCII, so that they are read by the same rules."""
    return text if text.isascii() else _OTHER_DIGIT.sub(lambda match: str(unicodedata.digit(match.group())), text)


_LONG = re.compile(r"[0-9]{5,}")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


def _take(text: str, facts: Iterator[Fact], found: list[Fact]) -> str:
    """Add *facts* and return *text* with their spans blanked, so that nothing is read twice."""
    taken = list(islice(facts, MAX_FACTS))
    if not taken:
        return text
    found.extend(taken)
    pieces, position = [], 0
    for start, end in sorted({(fact.start, fact.end) for fact in taken}, key=lambda span: (span[0], -span[1])):
        if start < position:
            continue
        pieces.append(text[position:start])
        pieces.append("\ue001" * (end - start))
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


_RANGE_RIGHT = re.compile(
    r"-(?P<number>[0-9]{1,4}(?:[.,][0-9]{1,2})?|[0-9]{1,3}(?:[.,'][0-9]{3})+)(?![0-9a-z_/-]|[.,:][0-9])"
)
_RANGE_LEFT = re.compile(r"(?<![0-9a-z_/.,-])(?P<number>[0-9]{1,4}(?:[.,][0-9]{1,2})?|[0-9]{1,3}(?:[.,'][0-9]{3})+)-$")
_COMPOUND = re.compile(r"[-/][^\W\d_]{3,}(?![0-9_])")


def _is_plain(text: str, fact: Fact) -> bool:
    """Whether the number stands by itself and is no piece of an identifier ("CL-2024-00173", "A12", five digits)."""
    if not (_free_left(text, fact) and _free_right(text, fact)):
        return False
    return not (fact.kind == "number" and not fact.unit and not fact.counts and _LONG.fullmatch(fact.text))


def _free_left(text: str, fact: Fact) -> bool:
    before, beyond = (
        text[fact.start - 1 : fact.start] if fact.start else "",
        text[fact.start - 2 : fact.start - 1] if fact.start > 1 else "",
    )
    if (before.isalnum() and before < "\u0e00") or before in ("_", "@"):
        return False
    if (
        before in ("-", "/", ":", ".")
        and beyond.isalnum()
        and beyond < "\u0e00"
        and not (before == "." and beyond.isalpha())
    ):
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


_GROUP = re.compile(r"[.,'](?=[0-9]{3}(?![0-9]))")


def _rises(first: str, second: str) -> bool:
    """A range goes up and keeps its order of size ("10-12", "900-1100"); "77-4410" is a file number."""
    low, high = (re.match(r"[0-9]+", _GROUP.sub("", number)) for number in (first, second))
    return (
        low is not None
        and high is not None
        and int(low.group()) < int(high.group())
        and len(high.group()) - len(low.group()) <= 1
    )
