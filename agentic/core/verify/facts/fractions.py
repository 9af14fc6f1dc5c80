"""Fractions in words: halves, thirds and quarters, and numbers with a half ("two thirds", "anderthalb", "et demie")."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from agentic.core.verify.facts import compounds
from agentic.core.verify.facts.numbers import part_of, unit_after
from agentic.core.verify.facts.values import Fact

# Denominators by their words; a numerator stands before them.
_PARTS = {
    word: value
    for value, words in {
        2: "half halves",
        3: "third thirds drittel tiers tercio tercios terzo terzi derde terço terços trzecia trzecie",
        4: "quarter quarters viertel quart quarts cuarto cuartos quarto quarti quartos kwart czwarta czwarte",
        5: "fifth fifths fünftel cinquième cinquièmes quinto quintos quinti vijfde piąta piąte",
        8: "eighth eighths achtel huitième huitièmes achtste",
        10: "tenth tenths zehntel dixième dixièmes tiende",
    }.items()
    for word in words.split()
}
_NUMERATORS = {
    word: value
    for value, words in {
        1: "a one ein eine einem eines un una uno um een jedna jedną",
        2: "two zwei deux dos due dois twee dwie",
        3: "three drei trois tres tre três drie trzy",
        4: "four vier quatre cuatro quattro quatro cztery",
        5: "five fünf cinq cinco cinque vijf pięć",
        7: "seven sieben sept siete sette sete zeven",
    }.items()
    for word in words.split()
}
# These words are ordinals too, "a" is an article too; no other words are.
_ORDINALS = frozenset(("third", "fifth", "eighth", "tenth", "cinquième", "huitième", "dixième", "terzo", "quinto"))
_SURELY_ONE = frozenset(("one", "ein", "eine", "einem", "eines"))
# A half said of something that follows; the others of these words are adjectives, and only a source is read so freely.
_HALVES = (
    "half halb halbe halben halber halbes hälfte moitié demi demie mitad medio media metà mezzo mezza helft "
    "halve metade meio meia połowa połowę połowy pół"
)
_HALF_OF = (
    "half of|half the|half an?|half my|half our|half their|half his|half her|half its|hälfte de[rsm]|hälfte von|"
    "hälfte unsere[rs]|moitié des?|moitié du|mitad del?|metà del\\w*|metà di|helft van|metade d[aeo]s?|"
    "połowa|połowę"
)
_AND_HALF = "and a half|et demie?|y medi[oa]|e mezz[oa]|en een half|en een halve|e mei[oa]|i pół"
_ONE_AND_HALF = "anderthalb anderthalbe eineinhalb anderhalf anderhalve półtora półtorej"
_GERMAN = "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
_DUTCH = "tweeën drieën vieren vijfen zesen zevenen achten negenen tienen"
# A number with its half in one word.
_WITH_HALF = (
    dict.fromkeys(_ONE_AND_HALF.split(), Decimal("1.5"))
    | {f"{ones}einhalb": Decimal(value) + Decimal("0.5") for value, ones in enumerate(_GERMAN.split(), 2)}
    | {
        f"{ones}{half}": Decimal(value) + Decimal("0.5")
        for value, ones in enumerate(_DUTCH.split(), 2)
        for half in ("half", "halve")
    }
)
_DOZEN = "half a dozen|ein halbes dutzend|une demi-douzaine|media docena|mezza dozzina|een half dozijn|meia dúzia"
WORDS = frozenset([*_PARTS, *_HALVES.split(), *_WITH_HALF])


def _choice(words: "dict[str, int] | str") -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True)) if isinstance(words, dict) else words


_DOZENS = re.compile(rf"(?<![\w'])(?:{_DOZEN})(?!\w)")
_AND = re.compile(rf" (?:{_AND_HALF})(?!\w)")
_BEFORE = re.compile(r"(?:(?P<whole>[^\W_]+) )?(?P<last>[^\W_]+)$")
_ONE_WORD = re.compile(rf"(?<![\w'])(?:{'|'.join(_WITH_HALF)})(?!\w)")
_COUNTED = re.compile(rf"(?<![\w'-])(?P<over>{_choice(_NUMERATORS)})[ -](?P<under>{_choice(_PARTS)})(?!\w)")
_HALF = re.compile(rf"(?<![\w'-])(?:{'|'.join(_HALVES.split())})(?: an?)?(?![\w'-])")
_CLAIMED_HALF = re.compile(rf"(?<![\w'-])(?:{_HALF_OF})(?!\w)")
# What follows a part of something; "a third party", "a quarter later" are none.
_OF = re.compile(r" (?:of|de[rsmn]?|von|vom|du|des|del|della|dello|dei|degli|delle|di|do|da|dos|das|van)\b| d'")
_WHICH_HALF = re.compile(r"(?:first|second|other|latter|former|third|fourth|past|better) $")


@lru_cache(maxsize=1)
def _wholes() -> dict[str, int]:
    every = {word: value for code in ("fr", "de", "en") for word, value in compounds.numbers_of(code).items()}
    return compounds.unmistakable() | {"uma": 1, "una": 1, "uno": 1, "dos": 2, "due": 2, "tre": 3, "sei": 6} | every


def worded_parts(text: str, *, claims: bool) -> Iterator[Fact]:
    """Fractions that *text* has in words. With *claims* only what states a share."""
    for match in _DOZENS.finditer(text):
        yield Fact("number", Decimal(6), match.group(), *match.span(), worded=True, counts=True)
    yield from _with_half(text)
    for match in _COUNTED.finditer(text):
        over, under = _NUMERATORS[match["over"]], _PARTS[match["under"]]
        one = match["over"] in _SURELY_ONE
        sure = (under > 2 and (over > 1 or one)) or _OF.match(text, match.end()) is not None
        if over < under and (not claims or sure):
            yield _fact(text, match.start(), match.end(), part_of(over, under))
        if not (claims or sure) and match["under"] in _ORDINALS:
            # "A third meeting" is the third one.
            start, end = match.span("under")
            yield Fact("number", Decimal(under), match["under"], start, end, worded=True, counts=True)
    for match in (_CLAIMED_HALF if claims else _HALF).finditer(text):
        if not _WHICH_HALF.search(text[max(0, match.start() - 8) : match.start()]):
            yield _fact(text, match.start(), match.end(), part_of(1, 2))


def _with_half(text: str) -> Iterator[Fact]:
    for match in _ONE_WORD.finditer(text):
        yield _fact(text, *match.span(), _WITH_HALF[match.group()])
    for match in _AND.finditer(text):
        base = max(0, match.start() - 40)
        before = _BEFORE.search(text[base : match.start()])
        if before is None:
            continue
        # "two and a half hours", but "une heure et demie".
        last, first = _whole(before["last"]), _whole(before["whole"] or "")
        if last is not None:
            yield _fact(text, base + before.start("last"), match.end(), Decimal(last) + Decimal("0.5"))
        elif first is not None:
            unit, _ = unit_after(text, base + before.end("whole"))
            yield _fact(text, base + before.start(), match.end(), Decimal(first) + Decimal("0.5"), unit)


def _whole(word: str) -> int | None:
    value = int(word) if word.isdecimal() and len(word) < 4 else _wholes().get(word)
    return value if value is not None and value < 1000 else None


def _fact(text: str, start: int, end: int, value: Decimal | str, unit: str = "") -> Fact:
    found, stop = (unit, end) if unit else unit_after(text, end)
    stop = stop if found else end
    return Fact("number", value, text[start:stop], start, stop, found, worded=True)
