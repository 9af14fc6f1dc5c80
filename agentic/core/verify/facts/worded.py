"""Numbers written as words in the languages of words.toml, of one word or of several."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from agentic.core.verify.facts import compounds
from agentic.core.verify.facts.numbers import PERCENT, unit_after
from agentic.core.verify.facts.units import CURRENCIES
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.words import lexicons

# Words that multiply what stands before them.
_POWERS = {
    "hundred": 100,
    "hundert": 100,
    "cent": 100,
    "cents": 100,
    "dozen": 12,
    "dutzend": 12,
    "thousand": 1000,
    "tausend": 1000,
    "mille": 1000,
    "mil": 1000,
    "tysiąc": 1000,
    "tysiące": 1000,
    "tysięcy": 1000,
    "duizend": 1000,
    "mila": 1000,
    "honderd": 100,
    "million": 10**6,
    "millionen": 10**6,
    "millions": 10**6,
    "millones": 10**6,
    "milioni": 10**6,
    "miljoen": 10**6,
    "billion": 10**9,
    "milliarde": 10**9,
    "milliarden": 10**9,
    "milliard": 10**9,
    "milliards": 10**9,
}
# What may stand between the words of one number.
_JOINS = frozenset({" ", "-", " and ", " et ", "-et-", " und ", " y ", " e "})
_MONEY = "|".join(sorted((re.escape(w) for w in CURRENCIES if len(w) > 2 and w not in ("try", "ron")), key=len)[::-1])
_CURRENCY_AFTER = re.compile(rf" (?:d'|de )?({_MONEY})(?![\w])|([\u20ac$\u00a3])")
_PERCENT_AFTER = re.compile(rf" ?(?:{PERCENT})(?![a-z\u00df-\u024f])")


@lru_cache(maxsize=64)
def _tables(languages: tuple[str, ...], claims: bool) -> tuple[dict[str, int], frozenset[str]]:
    """Number words with their values, and which of them are articles."""
    table = dict(compounds.unmistakable())
    for code in languages:
        table |= compounds.numbers_of(code)
        # "first" and "second" order what is told; only from the third on an ordinal is a claim.
        table |= {word: value for word, value in lexicons()[code].ordinals.items() if not claims or value > 2}
    return table, frozenset(word for code in languages for word in lexicons()[code].one)


# French words for about so many, and the feminine of one: not used in compounds.
_COLLECTIVE = frozenset({"une", "douzaine", "quinzaine"})


@lru_cache(maxsize=1)
def _french() -> dict[str, int]:
    """The French compounds from seventy on that no addition of their parts gives."""
    numbers = lexicons()["fr"].numbers
    ones = {value: word for word, value in numbers.items() if 0 < value < 17 and word not in _COLLECTIVE}
    ones |= {17: "dix-sept", 18: "dix-huit", 19: "dix-neuf"}
    table = {"quatre-vingts": 80, "quatre-vingt": 80, "septante": 70, "huitante": 80, "nonante": 90}
    table |= {f"soixante-{ones[value]}": 60 + value for value in range(10, 20)}
    table |= {f"quatre-vingt-{ones[value]}": 80 + value for value in range(1, 20)}
    return table | {"soixante et onze": 71, "soixante-et-onze": 71, "dix-sept": 17, "dix-huit": 18, "dix-neuf": 19}


@lru_cache(maxsize=256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    choice = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    return re.compile(rf"(?<![\w'])({choice})(?![\w])")


def _own(
    text: str, words: frozenset[str], languages: tuple[str, ...], claims: bool
) -> tuple[dict[str, int], frozenset[str]]:
    """The number words among *words* with their values, and which are articles."""
    table, ones = _tables(languages, claims)
    own = {word: table[word] for word in table.keys() & words}
    if compounds.JOINED.search(text):
        own |= compounds.joined(words, languages)
    if "fr" in languages and words & {"vingt", "vingts", "soixante", "dix", "septante", "huitante", "nonante"}:
        own |= _french()
    return own, ones


def worded(text: str, words: frozenset[str], languages: tuple[str, ...], *, claims: bool) -> Iterator[Fact]:
    """Numbers written as words in one of *languages*; *words* are all words of *text*.

    With *claims* only those that count something (a word follows), and not the word for one, which is an article.
    """
    own, ones = _own(text, words, languages, claims)
    if not own:
        return
    leaning = {word: value for word, value in compounds.leaning().items() if word in words and word not in own}
    own |= leaning
    for start, end, value in _groups(text, own, tuple(sorted({*own, *(_POWERS.keys() & words)}))):
        name = text[start:end]
        if name in leaning:
            continue
        followed = re.match(r"[ -][^\W\d_]|[\u20ac$\u00a3]", text[end : end + 2])
        if claims and (name in ones or not followed):
            continue
        currency = _CURRENCY_AFTER.match(text, end)
        if currency:
            money = CURRENCIES[currency.group(1) or currency.group(2)]
            yield Fact("money", value, text[start : currency.end()], start, currency.end(), money, worded=True)
            continue
        percent = _PERCENT_AFTER.match(text, end)
        if percent:
            yield Fact("percent", value, text[start : percent.end()], start, percent.end(), "%", worded=True)
            continue
        unit, _ = unit_after(text, end)
        yield Fact("number", value, name, start, end, unit, worded=True, counts=not unit)


def _groups(text: str, table: dict[str, int], words: tuple[str, ...]) -> Iterator[tuple[int, int, Decimal]]:
    """Stretches of number words that make one number, with its value."""
    group: list[str] = []
    start = end = 0
    for match in _pattern(words).finditer(text):
        name = match.group()
        if not _stands_free(text, match.start()) and not (group and match.start() == end + 1):
            continue
        if group and text[end : match.start()] in _JOINS and _value([*group, name], table) is not None:
            group.append(name)
        else:
            yield from _finished(start, end, group, table)
            group, start = [name], match.start()
        end = match.end()
    yield from _finished(start, end, group, table)


def _stands_free(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] != "-"


def _finished(start: int, end: int, group: list[str], table: dict[str, int]) -> Iterator[tuple[int, int, Decimal]]:
    value = _value(group, table)
    if value is not None:
        yield start, end, Decimal(value).normalize()


def _value(group: list[str], table: dict[str, int]) -> int | None:
    """The value of number words in a row, or None where they make no number together."""
    total = current = 0
    for place, word in enumerate(group):
        power = _POWERS.get(word)
        if power and (current or place == 0) and (place or word not in table):
            if place == 0:
                return None
            if power >= 1000:
                total, current = total + current * power, 0
            else:
                current *= power
            continue
        if power and power >= 1000 and place == 0 and len(group) > 1:
            # "mille deux cent": a thousand without a number before it.
            total = power
            continue
        value = table.get(word)
        if value is None or not _adds(current, value):
            return None
        current += value
    return total + current if group else None


def _adds(current: int, value: int) -> bool:
    """Whether *value* can follow *current* within one number: hundreds, then tens, then ones."""
    if current == 0:
        return True
    # "tweeduizend vijfhonderd", "sto dwadzieścia".
    if current % 1000 == 0 and 100 <= value < 1000:
        return True
    return (current % 100 == 0 and 0 < value < 100) or (current % 100 >= 20 and current % 10 == 0 and 0 < value < 10)
