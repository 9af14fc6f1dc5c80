"""Numbers in all styles of grouping and decimals, with percent signs, currencies, scales and units.

1.234,50 and 1,234.50 are one number. 1.234 alone can be read in two ways and equals only itself, unless a currency
stands beside it: money has no thousandths.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from agentic.core.verify.facts.units import CURRENCIES, SCALES, UNITS
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.words import lexicons

_DOLLARS = frozenset({"$", "usd", "cad", "aud", "nzd", "hkd", "sgd", "mxn"})
_KRONES = frozenset({"kr", "sek", "nok", "dkk", "isk"})
_ALONE = frozenset(SCALES) - {"k", "t", "m", "mm", "b", "mil"}
PERCENT = r"%|\u066a|per ?cent|percent|prozent|pct|pour ?cent|por ?ciento|per ?cento|procent|procento|por ?cento|v\.h\."
_NUMBER = r"[0-9]{1,3}(?:[ '][0-9]{3})+(?:[.,][0-9]{1,2})?(?![0-9'])|[0-9]+(?:[.,][0-9]+)*|(?<![0-9a-z.])\.[0-9]{1,3}"
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
    rf"(?P<power>[\u00b2\u00b3\u2070-\u2079\u2080-\u2089]+|[\u00bd\u00bc\u00be]|/[0-9]+(?![0-9/]))?"
    rf"(?P<ordinal>(?:st|nd|rd|th|er|ers|\u00e8me|e)(?![a-z]))?"
    rf"(?:,?-(?=[ ]?(?:{_LONG})))?"
    rf"(?: ?(?P<percent>{PERCENT})(?![a-z])"
    # One currency is enough: where one stands before the number, none is read behind it.
    rf"|(?(prefix)(?!)|(?: ?(?P<scale>{_SCALE_WORDS})\.?{_NO_LETTER})?"
    rf" ?(?P<currency>(?:(?P<kilo>[kt]|mio\.? ?)?(?P<code>{_LONG})){_NO_LETTER}(?![0-9])))"
    rf"|[ -]?(?P<alone>{_SCALE_WORDS})\.?{_NO_LETTER}(?![0-9])"
    rf")?"
)
_UNIT_AFTER = re.compile(r"[ -]?([a-z\u00b0\u00df-\u024f]+[\u00b2\u00b3]?)(?![a-z])")


def parse(literal: str) -> Decimal | None:
    """The value of a grouped or decimal number, or None where it can be read in two ways or in none."""
    if literal.startswith("."):
        return Decimal("0" + literal)
    plain = literal.replace(" ", "").replace("'", "")
    grouped = plain != literal
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
    """Numbers in digits, with what stands beside them."""
    for match in _SCALED.finditer(text):
        yield _number(text, match)


def _number(text: str, match: re.Match[str]) -> Fact:
    literal = match.group("number")
    currency = _currency(match)
    value: Decimal | str | None = parse(literal)
    if match.group("power") or (value is None and not (currency and re.fullmatch(r"[0-9]{1,3}[.,][0-9]{3}", literal))):
        value = literal + (match.group("power") or "")
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
    return Fact(kind, value, text[start:end].strip(" ."), start, end, unit, counts=counts)  # type: ignore[arg-type]


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
    after = _UNIT_AFTER.match(text, match.end())
    if after and after.group(1) in UNITS:
        return UNITS[after.group(1)], after.end()
    return "", match.end()


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


_GERMAN = re.compile(
    r"(ein|zwei|drei|vier|f\u00fcnf|sechs|sieben|acht|neun)und"
    r"(zwanzig|dreissig|vierzig|f\u00fcnfzig|sechzig|siebzig|achtzig|neunzig)"
)
_POWERS = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "hundert": 100,
    "tausend": 1000,
    "cent": 100,
    "cents": 100,
    "mille": 1000,
    "millionen": 10**6,
    "millions": 10**6,
}


@lru_cache(maxsize=64)
def _tables(languages: tuple[str, ...], claims: bool) -> tuple[dict[str, int], frozenset[str]]:
    """Number words with their values, and which of them are articles."""
    table: dict[str, int] = {}
    for code in languages:
        table |= lexicons()[code].numbers
        # "first" and "second" order what is told; only from the third on an ordinal is a claim.
        table |= {word: value for word, value in lexicons()[code].ordinals.items() if not claims or value > 2}
    return table, frozenset(word for code in languages for word in lexicons()[code].one)


@lru_cache(maxsize=256)
def _word_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    choice = "|".join(sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<![\w'-])({choice})(?:-({choice}))?(?: ({'|'.join(_POWERS)}))?(?![\w])")


def worded(text: str, words: frozenset[str], languages: tuple[str, ...], *, claims: bool) -> Iterator[Fact]:
    """Numbers written as words in one of *languages*; *words* are all words of *text*.

    With *claims* only those that count something (a word follows), and not the word for one, which is an article.
    """
    table, ones = _tables(languages, claims)
    german = {word for word in words if "und" in word and "de" in languages and _GERMAN.fullmatch(word)}
    present = tuple(sorted((table.keys() & words) | german))
    for match in _word_pattern(present).finditer(text) if present else ():
        value = _word_value(match, table)
        followed = re.match(r" [^\W\d_]", text[match.end() : match.end() + 2])
        if value is None or (claims and (match.group() in ones or not followed)):
            continue
        after = _UNIT_AFTER.match(text, match.end())
        unit = UNITS.get(after.group(1), "") if after else ""
        number = Decimal(value).normalize()
        yield Fact("number", number, match.group(), *match.span(), unit, worded=True, counts=not unit)


def _word_value(match: re.Match[str], table: dict[str, int]) -> int | None:
    first, second, power = match.groups()
    german = _GERMAN.fullmatch(first)
    value = table[german.group(1)] + table[german.group(2)] if german else table[first]
    if second is not None:
        tail = table.get(second, 0)
        if value < 20 or not 0 < tail < 10:
            return None
        value += tail
    return value * _POWERS[power] if power else value or None
