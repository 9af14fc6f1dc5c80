"""Number words that are built of parts in one word: "ventitré", "achtentwintig", "veintiocho", "zweihundertfünfzig".

Spanish, Italian, Dutch, Portuguese and Polish words below a hundred are listed or generated; hundreds and thousands in
one word (German, Italian, Dutch) are taken apart.
"""

import re
from functools import lru_cache

from agentic.core.verify.words import lexicons

_ITALIAN_TENS = "venti trenta quaranta cinquanta sessanta settanta ottanta novanta"
_ITALIAN_ONES = "uno due tre quattro cinque sei sette otto nove"
_DUTCH_TENS = "twintig dertig veertig vijftig zestig zeventig tachtig negentig"
_DUTCH_ONES = "een twee drie vier vijf zes zeven acht negen"
# Words from sixty on and teens that words.toml leaves out, and forms for other genders and cases.
_LISTED = {
    "es": "dieciséis=16 diecisiete=17 dieciocho=18 diecinueve=19 veintiuno=21 veintiún=21 veintiuna=21 veintidós=22 "
    "veintitrés=23 veinticuatro=24 veinticinco=25 veintiséis=26 veintisiete=27 veintiocho=28 veintinueve=29 sesenta=60 "
    "setenta=70 ochenta=80 noventa=90 ciento=100 doscientas=200 trescientas=300 cuatrocientas=400 quinientas=500 "
    "seiscientas=600 setecientas=700 ochocientas=800 novecientas=900",
    "it": "tredici=13 quattordici=14 sedici=16 diciassette=17 diciotto=18 diciannove=19 sessanta=60 settanta=70 "
    "ottanta=80 novanta=90",
    "nl": "dertien=13 veertien=14 zestien=16 zeventien=17 achttien=18 negentien=19 zestig=60 zeventig=70 tachtig=80 "
    "negentig=90",
    "pt": "treze=13 catorze=14 quatorze=14 dezasseis=16 dezesseis=16 dezassete=17 dezessete=17 dezoito=18 dezanove=19 "
    "dezenove=19 sessenta=60 setenta=70 oitenta=80 noventa=90 cento=100 duzentas=200 trezentas=300 quatrocentas=400 "
    "quinhentas=500 seiscentas=600 setecentas=700 oitocentas=800 novecentas=900",
    "pl": "trzynaście=13 czternaście=14 szesnaście=16 siedemnaście=17 osiemnaście=18 dziewiętnaście=19 czterdzieści=40 "
    "pięćdziesiąt=50 sześćdziesiąt=60 siedemdziesiąt=70 osiemdziesiąt=80 dziewięćdziesiąt=90 dwaj=2 dwóch=2 trzej=3 "
    "trzech=3 czterech=4 pięciu=5 sześciu=6 siedmiu=7 ośmiu=8 dziewięciu=9 dziesięciu=10 dwunastu=12 dwudziestu=20",
}
# Words of these languages that mean something else in another one: read only where the language is known.
_ELSEWHERE = frozenset(
    """due once sei otto dos mil mille onze dez sto venti quattro tre nul un uno una um uma een sete doce cento elf tres
    cero nove duas cem set""".split()  # noqa: SIM905 - words in quotation marks are harder to read
)
_PARTS = {
    "de": re.compile(r"(?:(?P<thousands>.*?)tausend)?(?:(?P<hundreds>.*?)hundert)?(?:und)?(?P<rest>.*)"),
    "nl": re.compile(r"(?:(?P<thousands>.*?)duizend)?(?:(?P<hundreds>.*?)honderd)?(?:en)?(?P<rest>.*)"),
    "it": re.compile(r"(?:(?P<thousands>.*?)mila)?(?:(?P<hundreds>.*?)cento)?(?P<rest>.*)"),
}
_GERMAN_TENS = re.compile(r"(?P<ones>.+?)und(?P<tens>.+?zig|dreissig)")
# One of these is in every word that is taken apart.
JOINED = re.compile("und|hundert|tausend|honderd|duizend|cento|mila")


@lru_cache(maxsize=16)
def numbers_of(language: str) -> dict[str, int]:
    """The number words of *language*, those of one word below a hundred among them."""
    table = dict(lexicons()[language].numbers)
    for pair in _LISTED.get(language, "").split():
        word, value = pair.split("=")
        table[word] = int(value)
    if language == "it":
        table |= _italian()
    if language == "nl":
        table |= _dutch()
    return table


def _italian() -> dict[str, int]:
    found = {}
    for ten, tens in enumerate(_ITALIAN_TENS.split(), 2):
        for one, ones in enumerate(_ITALIAN_ONES.split(), 1):
            # "vent-uno", "vent-otto": the vowel before another one goes.
            stem = tens[:-1] if ones[0] in "uo" else tens
            found[stem + ones] = ten * 10 + one
        found[tens[:-1] + "un"] = ten * 10 + 1
        found[tens + "tré"] = ten * 10 + 3
    return found


def _dutch() -> dict[str, int]:
    found = {}
    for ten, tens in enumerate(_DUTCH_TENS.split(), 2):
        for one, ones in enumerate(_DUTCH_ONES.split(), 1):
            for joint in ("ën", "en") if ones.endswith("e") else ("en",):
                found[ones + joint + tens] = ten * 10 + one
    return found


@lru_cache(maxsize=1)
def unmistakable() -> dict[str, int]:
    """Number words of the less tested languages that are no word of another language."""
    table = {word: value for code in _LISTED for word, value in numbers_of(code).items()}
    common = {word for lexicon in lexicons().values() for word in lexicon.stop}
    return {word: value for word, value in table.items() if word not in common and word not in _ELSEWHERE}


@lru_cache(maxsize=1)
def leaning() -> dict[str, int]:
    """Words for a hundred and a thousand that count only beside another number word: alone they may be no number."""
    table = {word: value for code in _LISTED for word, value in numbers_of(code).items()}
    return {word: table[word] for word in sorted(_ELSEWHERE & table.keys()) if table[word] >= 100}


def joined(words: frozenset[str], languages: tuple[str, ...]) -> dict[str, int]:
    """Those of *words* that are compounds with hundreds, thousands or German tens, with their values."""
    asked = dict.fromkeys([code for code in languages if code in _PARTS] + ["nl", "it"])
    found = {}
    for word in words:
        if 6 <= len(word) < 60 and JOINED.search(word):
            values = (value_of(word, code) for code in asked)
            value = next((value for value in values if value), None)
            if value:
                found[word] = value
    return found


def value_of(word: str, language: str) -> int | None:
    """The value of a compound of *language* ("zweihundertf\u00fcnfzig"), or None."""
    table = numbers_of(language)
    if word in table:
        return table[word]
    tens = _GERMAN_TENS.fullmatch(word) if language == "de" else None
    low, high = (table.get(tens["ones"], 0), table.get(tens["tens"], 0)) if tens else (0, 0)
    if 0 < low < 10 and high >= 20:
        return low + high
    # "centotto", "centottanta": one o stands for two.
    parts = _PARTS[language].fullmatch(word.replace("centott", "centoott") if language == "it" else word)
    if parts is None or (parts["thousands"] is None and parts["hundreds"] is None):
        return None
    total = 0
    for name, power in (("thousands", 1000), ("hundreds", 100), ("rest", 1)):
        if parts[name] is None or (name == "rest" and not parts[name]):
            continue
        value = value_of(parts[name], language) if parts[name] else 1
        if not value or value > 999:
            return None
        total += value * power
    return total
