"""Which words of an attribution line are a name: not those of its date and time, in the languages of `dates.toml`.

Month and weekday names are given names too, and abbreviations of them are parts of names. So such a word belongs to a
date only where it stands beside other parts of one, and once: in "On 2 May May Lind wrote" the second May is a person.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

_WORDS = tomllib.loads(resources.files(__package__).joinpath("dates.toml").read_text("utf-8"))
_MONTHS = frozenset(_WORDS["months"])
_WEEKDAYS = frozenset(_WORDS["weekdays"])
_PARTICLES = frozenset(_WORDS["particles"])
# Also parts of names (de Vries, du Pont): they belong to a date only before a part of one.
_NAME_PARTICLES = frozenset(["a", "d'", "da", "de", "del", "den", "der", "di", "do", "du", "el", "la", "las", "le"])
_NOBODY = frozenset(_WORDS["nobody"])
_FILLERS = sorted(_WORDS["fillers"], key=len, reverse=True)
_DIGIT = re.compile(r"[0-9０-９]")
_DAY = re.compile(r"[0-9]{1,2}(?:[.,:]|st|nd|rd|th|er|º|ª|-?[aáeé]n)*")
_IN_QUOTES = re.compile('["„“]([^"„“”]{1,100})["“”]$')
_FIGURES = re.compile("[0-9]{4}|[0-9][:./-][0-9]")
_MARKS = "()[]{},;:.'’*_"
_MOST_WORDS = 7


def name_before(text: str) -> str:
    """The name at the end of *text*, what stands before the verb of an attribution; "" where there is none."""
    quoted = _IN_QUOTES.search(text.rstrip(" ,:："))
    if quoted:
        return quoted[1]
    words = text.rstrip(" ,:：").split()
    dated = _dated(words)
    end = len(words)
    while end and dated[end - 1]:
        end -= 1
    start = end
    while start and not dated[start - 1] and not (start < end and words[start - 1].endswith((",", ")", ";"))):
        start -= 1
    name = _without_fillers(words[max(start, end - _MOST_WORDS) : end])
    # What a date follows is a name only if it looks like one: "In her letter of 4 May wrote" names nobody.
    return name if end == len(words) or looks_like_name(name) else ""


def name_after(text: str) -> str:
    """The name at the beginning of *text*, what stands behind the verb of an attribution; "" where there is none."""
    words = text.split()
    dated = _dated(words)
    start = 0
    while start < len(words) and dated[start]:
        start += 1
    end = start
    while end < len(words) and not dated[end]:
        end += 1
    return _without_fillers(words[start : min(end, start + _MOST_WORDS)])


def looks_like_name(text: str) -> bool:
    """Whether *text* is a few words that begin as names do."""
    words = text.split()
    if not 1 <= len(words) <= 6 or text[-1:] in ".,;:!?":
        return False
    return all(
        word[:1].isupper() or not word[:1].isascii() or word in ("von", "van", "de", "der", "*") for word in words
    )


def begins_with_date(text: str) -> bool:
    """Whether *text* begins with more of a date than a bare number."""
    words = text.split()
    for word, is_dated in zip(words, _dated(words), strict=True):
        if not is_dated:
            return False
        if _kind(word, False) in ("month", "weekday", "both") or _FIGURES.search(word):
            return True
    return False


def ends_with_date(text: str) -> bool:
    """Whether *text* is a name that a date follows: "Ada Lind (2 May)"."""
    dated = _dated(text.split())
    return bool(dated) and dated[-1] and not dated[0] and looks_like_name(name_before(text))


@dataclass(slots=True)
class _Seen:
    """What a date that is being read has had so far. Each of them comes once."""

    kinds: set[str] = field(default_factory=set)


def _dated(words: Sequence[str]) -> list[bool]:
    """For each of *words* whether it belongs to a date or time."""
    kinds = [_kind(word, number == 0) for number, word in enumerate(words)]
    found: list[bool] = []
    seen = _Seen()
    for number, kind in enumerate(kinds):
        found.append(_belongs(words, kinds, number, bool(found) and found[-1], seen))
        if found[-1] and kind in ("month", "weekday"):
            seen.kinds.add(kind)
    return found


def _kind(word: str, is_first: bool) -> str:
    core = word.strip(_MARKS)
    folded = core.casefold()
    if _DIGIT.search(word) and "@" not in word:
        return "number"
    if not core:
        return "mark"
    # An initial is part of a name ("A. Lind"), though many of these words have one letter.
    if len(core) == 1 and core.isupper() and (not is_first or word.endswith(".")):
        return "word"
    if folded in _NAME_PARTICLES:
        return "particle"
    if folded in _MONTHS:
        return "both" if folded in _WEEKDAYS else "month"
    if folded in _WEEKDAYS:
        return "weekday"
    return "particle" if folded in _PARTICLES else "word"


def _belongs(words: Sequence[str], kinds: Sequence[str], number: int, after_date: bool, seen: _Seen) -> bool:
    kind = kinds[number]
    following = _following(kinds, number)
    if kind == "number":
        return True
    if kind == "mark":
        return after_date
    if kind == "particle":
        if words[number].casefold() in _NAME_PARTICLES:
            return following in ("number", "month", "weekday", "both")
        return after_date or following in ("number", "month", "weekday", "both")
    has_day = number > 0 and _is_day(words, kinds, number - 1)
    has_day = has_day or following == "number" or (after_date and words[number].endswith(")"))
    is_month = kind in ("month", "both") and "month" not in seen.kinds and has_day
    is_weekday = kind in ("weekday", "both") and "weekday" not in seen.kinds
    # "…, Ned Lind": a comma ends the date, and what could be a Sunday in another language is a name.
    goes_on = after_date and not words[number - 1].endswith(",")
    return is_month or (is_weekday and (goes_on or following in ("number", "month", "both")))


def _following(kinds: Sequence[str], number: int) -> str:
    """The kind of the next word that is neither a particle nor a mark."""
    return next((kind for kind in kinds[number + 1 :] if kind not in ("particle", "mark")), "")


def _is_day(words: Sequence[str], kinds: Sequence[str], number: int) -> bool:
    """Whether a day's number stands at *number*, or before the particles there ("2 de mayo")."""
    while number > 0 and kinds[number] in ("particle", "mark"):
        number -= 1
    return kinds[number] == "number" and _DAY.fullmatch(words[number]) is not None


def _without_fillers(words: Sequence[str]) -> str:
    name = " ".join(words).strip(" ,:：")
    folded = name.casefold()
    for filler in _FILLERS:
        if filler not in folded:
            continue
        folded = name.casefold()
        if folded == filler:
            return ""
        if folded.startswith(filler + " "):
            name = name[len(filler) :].strip()
        elif folded.endswith(" " + filler):
            name = name[: -len(filler)].strip()
        elif f" {filler} " in folded and len(filler) > 3:
            name = name[folded.index(f" {filler} ") + len(filler) + 2 :].strip()
    return "" if name.casefold() in _NOBODY else name
