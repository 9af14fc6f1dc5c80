"""Numbers in all styles of grouping and decimals, with percent signs, currencies, scales and units.

1.234,50 and 1,234.50 are one number. 1.234 alone can be read in two ways and equals only itself, unless a currency
stands beside it: money has no thousandths.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd

from agentic.core.verify.facts.units import CURRENCIES, SCALES, UNITS
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.words import every_stop_word, lexicons

_DOLLARS = frozenset({"$", "usd", "cad", "aud", "nzd", "hkd", "sgd", "mxn"})
_KRONES = frozenset({"kr", "sek", "nok", "dkk", "isk"})
_ALONE = frozenset(SCALES) - {"k", "t", "m", "mm", "b", "mil"}
PERCENT = r"%|\u066a|per ?cent|percent|prozent|pct|pour ?cent|por ?ciento|per ?cento|procent|procento|por ?cento|v\.h\."
_NUMBER = (
    r"[0-9]{1,3}(?:[ '][0-9]{3}){1,8}(?:[.,][0-9]{1,2})?(?![0-9'])|[0-9]+(?:[.,][0-9]+)*|(?<![0-9a-z.])\.[0-9]{1,3}"
)
# Not inside a word or number; behind a stop only where a letter stands before that ("no.5", but not ".5").
_BEFORE_NUMBER = (
    r"(?<![0-9a-z\u00df-\u024f\u0370-\u04ff_])(?<![0-9][.,/'])(?<![^a-z\u00df-\u024f\u2e80-\u9fff]\.)(?<!^\.)"
)
_LONG = "|".join(sorted((re.escape(word) for word in CURRENCIES), key=len, reverse=True))
_SCALE_WORDS = "|".join(sorted((re.escape(word) for word in SCALES), key=len, reverse=True))
_NO_LETTER = r"(?![a-z\u00b2\u00b3\u00df-\u024f])"
_SCALED = re.compile(
    rf"(?P<pre>(?<![a-z0-9])(?:(?P<prescale>[kt]|mio\.? )?(?P<prefix>{_LONG})\.? ?))?"
    rf"(?P<sign>(?<![0-9a-z)])[-+]|minus )?{_BEFORE_NUMBER}(?P<number>{_NUMBER})"
    rf"(?P<mixed> [1-9][0-9]?/(?:2|3|4|5|6|8|10|12|16|32)(?![0-9/.,]))?"
    rf"(?P<power>[\u00b2\u00b3\u2070-\u2079\u2080-\u2089]+|[\u00bd\u00bc\u00be\u2150-\u215e]|/[0-9]+(?![0-9/]))?"
    rf"(?P<ordinal>(?:st|nd|rd|th|er|ers|\u00e8me|e)(?![a-z]))?"
    rf"(?:,?-(?=[ ]?(?:{_LONG})))?"
    rf"(?: ?(?P<percent>{PERCENT})(?![a-z])"
    # One currency is enough: where one stands before the number, none is read behind it.
    rf"|(?(prefix)(?!)|(?: ?(?P<scale>{_SCALE_WORDS})\.?{_NO_LETTER})?"
    rf" ?(?:d'|de )?(?P<currency>(?:(?P<kilo>[kt]|mio\.? ?)?(?P<code>{_LONG})){_NO_LETTER}(?![0-9])))"
    rf"|[ -]?(?P<alone>{_SCALE_WORDS})\.?{_NO_LETTER}(?![0-9])"
    rf")?"
)
_WORD = r"[a-z\u00b0\u00df-\u024f]+(?:/[a-z]+)?[\u00b2\u00b3]?[0-9]?(?![a-z0-9])"
_WORDS_AFTER = re.compile(rf"[ -]?({_WORD}(?:[ -]{_WORD}){{0,2}})")
_INSIDE = re.compile(r"(?<![0-9a-z.,])([0-9]{1,6})([\u20ac\u00a3])([0-9]{2})(?![0-9a-z]|[.,][0-9])")
_ONE_SIGN = re.compile(r"[\u00bc-\u00be\u2150-\u215e\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793]")
# Before a unit they are no adjective ("5 per day"), besides the function words of all languages.
_NO_ADJECTIVE = frozenset({"per", "pro", "par", "each", "every", "jede", "jeden", "chaque", "cada"})


# Digits that a number may have: longer ones would be rounded, and are compared as they are written.
_LONGEST = 27


def parse(literal: str) -> Decimal | None:
    """The value of a grouped or decimal number, or None where it can be read in two ways or in none."""
    if literal.startswith("."):
        return Decimal("0" + literal)
    plain = literal.replace(" ", "").replace("'", "")
    grouped = plain != literal
    if len(plain) > _LONGEST:
        return None
    separators = re.sub(r"[0-9]", "", plain)
    if not separators:
        return Decimal(plain)
    groups = re.split(r"[.,]", plain)
    if len(set(separators)) == 1:
        return _one_separator(groups, separators, grouped)
    decimal_last = separators[-1] not in separators[:-1] and len(set(separators[:-1])) == 1
    if decimal_last and _are_groups(groups[:-1]):
        return Decimal("".join(groups[:-1]) + "." + groups[-1])
    return None


def _one_separator(groups: list[str], separators: str, grouped: bool) -> Decimal | None:
    if len(separators) > 1:
        return Decimal("".join(groups)) if _are_groups(groups) else None
    if len(groups[1]) == 3 and 1 <= len(groups[0]) <= 3 and groups[0] != "0" and not grouped:
        return None
    return Decimal(".".join(groups))


def _are_groups(groups: list[str]) -> bool:
    """Thousands, or Indian lakhs: the last group has three digits."""
    western = all(len(group) == 3 for group in groups[1:])
    indian = len(groups) > 2 and all(len(group) == 2 for group in groups[1:-1]) and len(groups[-1]) == 3
    return 1 <= len(groups[0]) <= 3 and (western or indian)


def numbers(text: str) -> Iterator[Fact]:
    """Numbers in digits, with what stands beside them; "1.000 to 1.500 EUR" are two amounts."""
    waiting: Fact | None = None
    for fact in (_number(text, match) for match in _SCALED.finditer(text)):
        if waiting is not None:
            yield _shared(waiting, fact, text)
        waiting = fact
    if waiting is not None:
        yield waiting


_TO = re.compile(r" ?(?:-|to|bis|\u00e0|a|and|und|et|y|e|en|tot|do|or|oder|ou) ?")


def _shared(fact: Fact, following: Fact, text: str) -> Fact:
    """*fact* as an amount, if it is a bare grouped number and the end of its range has a currency."""
    grouped = isinstance(fact.value, str) and re.fullmatch(r"[0-9]{1,3}[.,][0-9]{3}", fact.value) is not None
    if not grouped or following.kind != "money" or not _TO.fullmatch(text, fact.end, following.start):
        return fact
    value = Decimal(re.sub(r"[.,]", "", str(fact.value))).normalize()
    return replace(fact, kind="money", value=value, unit=following.unit, counts=False)


def _number(text: str, match: re.Match[str]) -> Fact:
    literal = match.group("number")
    currency = _currency(match)
    value: Decimal | str | None = parse(literal)
    power = (match.group("mixed") or "").strip() or match.group("power") or ""
    part = _part(match)
    if part is not None:
        value = part
    elif power or (value is None and not (currency and re.fullmatch(r"[0-9]{1,3}[.,][0-9]{3}", literal))):
        value = literal + power
    elif value is None:
        value = Decimal(re.sub(r"[.,]", "", literal))
    end = match.end()
    if isinstance(value, Decimal):
        value = _scaled(value, match, currency)
        value = -value if (match.group("sign") or "").startswith(("-", "minus")) else value
    kind, unit = ("percent", "%") if match.group("percent") else ("money", currency) if currency else ("number", "")
    counts = False
    if kind == "number":
        unit, end = _measure(text, match)
        counts = not unit and _counts(text, end)
    if isinstance(value, Decimal):
        value = value.normalize()
    start = (
        match.start()
        if currency and match.group("pre")
        else match.start("sign")
        if match.group("sign")
        else match.start("number")
    )
    told = literal if kind == "number" and not unit and _is_version(text, start, literal) else ""
    return Fact(kind, value, text[start:end].strip(" ."), start, end, unit, counts=counts, literal=told)  # type: ignore[arg-type]


_VERSION = re.compile(
    r"(?<![^\W\d_])(?:versi\w{1,3}|wersj\w|ver\.?|v\.?|releases?|rel\.?|build|firmware|update|\u00a7\u00a7?|sections?|sec\.?|"
    r"clauses?|chapters?|kapitel|ziffer|abschnitt|artikel|articles?|art\.?|points?|punkte?|fig\.?|figure|abb\.?|tables?|"
    r"tabelle|items?|no\.?|nr\.?|nos\.?|num[\u00e9e]ro|n\u00ba|n\u00b0|chapitre|cl\u00e1usula|cap[i\u00ed]tulo|capitolo|hoofdstuk|"
    r"rozdzia\u0142) ?$"
)


def _is_version(text: str, start: int, literal: str) -> bool:
    """Whether a number with a point names something ("version 2.10"): then its digits count, not its value."""
    return "." in literal and _VERSION.search(text[max(0, start - 14) : start]) is not None


# Denominators of common fractions; others ("part 3/7", "24/7") are compared as they are written.
_DENOMINATORS = frozenset([2, 3, 4, 5, 6, 8, 10, 12, 16, 32])


def part_of(over: int, under: int, whole: int = 0) -> Decimal | str:
    """The value of a fraction, as a decimal where that ends."""
    if under % 3:
        return Decimal(whole) + (Decimal(over) / Decimal(under)).normalize()
    return f"{whole} {over}/{under}" if whole else f"{over}/{under}"


def _part(match: re.Match[str]) -> Decimal | str | None:
    """The value of "2 1/2", "2\u00bd" or "1/2", if it is a common fraction in its lowest terms."""
    literal, power = match.group("number"), match.group("power") or ""
    if not literal.isdecimal() or len(literal) > 9:
        return None
    if match.group("mixed"):
        over, _, under = match.group("mixed").partition("/")
        return _common(over, under, int(literal))
    if power.startswith("/"):
        return _common(literal, power[1:])
    ratio = _ratio(power)
    return part_of(*ratio, whole=int(literal)) if ratio else None


def _common(over: str, under: str, whole: int = 0) -> Decimal | str | None:
    top, bottom = int(over), int(under)
    fits = 0 < top < bottom and bottom in _DENOMINATORS and gcd(top, bottom) == 1
    return part_of(top, bottom, whole) if fits else None


def _ratio(sign: str) -> tuple[int, int] | None:
    """Numerator and denominator of a sign like one half."""
    if len(sign) != 1 or not unicodedata.decomposition(sign).startswith("<fraction>"):
        return None
    return Fraction(unicodedata.numeric(sign)).limit_denominator(10).as_integer_ratio()


def inside(text: str) -> Iterator[Fact]:
    """Amounts with the sign of the currency for a point: 12\u20ac50."""
    for match in _INSIDE.finditer(text):
        value = Decimal(f"{match.group(1)}.{match.group(3)}").normalize()
        yield Fact("money", value, match.group(), *match.span(), CURRENCIES[match.group(2)])


def fractions(text: str) -> Iterator[Fact]:
    """Fractions and circled numbers written as one sign."""
    for match in _ONE_SIGN.finditer(text):
        ratio = _ratio(match.group())
        unit, end = unit_after(text, match.end())
        kept: Decimal | str = part_of(*ratio) if ratio else match.group()
        yield Fact("number", kept, text[match.start() : end], match.start(), end, unit, counts=_counts(text, end))


def _currency(match: re.Match[str]) -> str:
    word = match.group("code") or match.group("prefix") or ""
    return CURRENCIES.get(word, "")


def _scaled(value: Decimal, match: re.Match[str], currency: str) -> Decimal:
    before = (match.group("prescale") or match.group("kilo") or "").strip(". ")
    after = match.group("scale") or match.group("alone") or ""
    if after and not currency and after not in _ALONE:
        # "5 m" alone is five metres; only "5k" is a thousand-fold.
        after = "k" if after == "k" and match.group(0).endswith("k") and " k" not in match.group(0) else ""
    for scale in (before, after):
        if scale:
            value = value.scaleb(SCALES[scale])
    return value


def _measure(text: str, match: re.Match[str]) -> tuple[str, int]:
    alone = match.group("alone")
    if alone and alone in UNITS and alone not in _ALONE:
        return UNITS[alone], match.end()
    return unit_after(text, match.end())


def unit_after(text: str, end: int) -> tuple[str, int]:
    """The unit of measure that follows a number which ends at *end*, and where it ends itself; "" where there is none.

    One or two adjectives may stand between ("24 full months", "3 working days").
    """
    after = _WORDS_AFTER.match(text, end)
    if after is None:
        return "", end
    words = re.split("[ -]", after.group(1))
    for count in range(len(words), 0, -1):
        name = " ".join(words[:count])
        if name in UNITS:
            return UNITS[name], after.start(1) + len(name)
    over = words[0].partition("/")[0]
    if over in UNITS:
        return UNITS[over], after.start(1) + len(over)
    for place in range(1, len(words)):
        if not _is_adjective(words[place - 1]):
            break
        if len(words[place]) > 2 and words[place] in UNITS:
            return UNITS[words[place]], after.start(1) + len(" ".join(words[: place + 1]))
    return "", end


def _is_adjective(word: str) -> bool:
    return len(word) > 2 and word not in _NO_ADJECTIVE and word not in every_stop_word()


def _counts(text: str, end: int) -> bool:
    after = re.match(r" ([^\W\d_]{3,})", text[end : end + 30])
    return after is not None and after.group(1) not in _function_words()


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    return lexicons()["en"].stop | lexicons()["de"].stop | lexicons()["fr"].stop


def same_unit(first: str, second: str) -> bool:
    """Whether two units are one: a dollar sign may be any dollar, kr any crown."""
    if first == second:
        return True
    return any(first in family and second in family and {"$", "kr"} & {first, second} for family in (_DOLLARS, _KRONES))
