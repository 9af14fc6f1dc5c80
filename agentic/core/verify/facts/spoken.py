"""Days and hours in words ("the fourth of May", "halb zehn"), and days and numbers in scripts without Latin letters."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from agentic.core.verify.facts.units import CURRENCIES
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.words import lexicons

# The first to the nineteenth, the twentieth and the thirtieth, by which the others are said.
_ENGLISH = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth thirtieth"
)
_GERMAN = (
    "erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte dreizehnte vierzehnte "
    "fünfzehnte sechzehnte siebzehnte achtzehnte neunzehnte zwanzigste dreissigste"
)
_DUTCH = (
    "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde dertiende veertiende "
    "vijftiende zestiende zeventiende achttiende negentiende twintigste dertigste"
)
_POLISH = (
    "pierwszego drugiego trzeciego czwartego piątego szóstego siódmego ósmego dziewiątego dziesiątego "
    "jedenastego dwunastego trzynastego czternastego piętnastego szesnastego siedemnastego osiemnastego "
    "dziewiętnastego dwudziestego trzydziestego"
)
_FIRST = {"premier": 1, "1er": 1, "primero": 1, "primo": 1, "primeiro": 1}
_GERMAN_ONES = "ein zwei drei vier fünf sechs sieben acht neun"
_DUTCH_ONES = "eenën tweeën drieën vieren vijfen zesen zevenen achten negenen"
_BY_CARDINAL = ("fr", "es", "it", "nl", "pt")
# English months that are verbs too: a date only behind "of".
_VERBS = frozenset({"may", "march"})


@lru_cache(maxsize=1)
def days() -> dict[str, int]:
    """The words for the days of a month, in normal form."""
    found = dict(_FIRST)
    for words in (_ENGLISH, _DUTCH, _POLISH):
        found |= _numbered(words.split())
    for word, value in _numbered(_GERMAN.split()).items():
        found |= dict.fromkeys((word, word + "n", word + "r"), value)
    for start, tens in ((20, 19), (30, 20)):
        for one in range(1, 10 if start == 20 else 2):
            found |= _compound(start, tens, one)
    for code in _BY_CARDINAL:
        lexicon = lexicons()[code]
        found |= {word: value for word, value in lexicon.numbers.items() if 0 < value < 32 and word not in lexicon.one}
    return found


def days_among(words: frozenset[str]) -> tuple[str, ...]:
    """The words for days of which all parts are in *words*: the few that a text has make the pattern fast."""
    if _parts().keys().isdisjoint(words):
        return ()
    near = {name for part in _parts().keys() & words for name in _parts()[part]}
    return tuple(sorted(name for name in near if words.issuperset(_PART.findall(name))))


_PART = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=1)
def _parts() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in days():
        for part in _PART.findall(name):
            found.setdefault(part, []).append(name)
    return found


def _numbered(words: list[str]) -> dict[str, int]:
    return {word: value for value, word in enumerate(words[:19], 1)} | {words[19]: 20, words[20]: 30}


def _compound(start: int, tens: int, one: int) -> dict[str, int]:
    english = {20: "twenty", 30: "thirty"}[start]
    german = _GERMAN_ONES.split()[one - 1] + "und" + _GERMAN.split()[tens]
    words = [
        f"{english}-{_ENGLISH.split()[one - 1]}", f"{english} {_ENGLISH.split()[one - 1]}", german, german + "n",
        _DUTCH_ONES.split()[one - 1] + _DUTCH.split()[tens], f"{_POLISH.split()[tens]} {_POLISH.split()[one - 1]}",
    ]  # fmt: skip
    return dict.fromkeys(words, start + one)


def _choice(words: "list[str] | tuple[str, ...]") -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@lru_cache(maxsize=64)
def _day_pattern(names: tuple[str, ...], months: tuple[str, ...]) -> re.Pattern[str]:
    day, month = _choice(names), _choice(months)
    return re.compile(
        rf"(?<![\w'-])(?P<day>{day})(?: day)?(?P<of> of| de| di|) (?P<month>{month})(?![\w'-])"
        r"(?:,? (?:de |del )?(?P<year>(?:19|20|21)[0-9]{2})(?![0-9]))?"
        rf"|(?<![\w'-])(?P<month2>{month}) (?:the )?(?P<day2>{day})(?![\w'-])"
    )


def spoken_days(text: str, names: tuple[str, ...], months: tuple[str, ...]) -> Iterator[Fact]:
    """Dates whose day is one of the words *names* beside one of the *months*."""
    table = {month: value for lexicon in lexicons().values() for month, value in lexicon.months.items()}
    for match in _day_pattern(names, months).finditer(text):
        month = match["month"] or match["month2"]
        if (month in _VERBS and not match["of"] and not match["month2"]) or match["day2"] not in _AFTER_MONTH:
            continue
        value = (int(match["year"] or 0), table[month], days()[match["day"] or match["day2"]])
        yield Fact("date", value, match.group(), *match.span())


# Only in English does the day come behind its month.
_AFTER_MONTH = frozenset(
    [
        None,
        *_ENGLISH.split(),
        *(f"twenty{joint}{one}" for joint in "- " for one in _ENGLISH.split()[:9]),
        "thirty-first",
    ]
)


_HOURS = {
    word: value
    for names in (
        "one two three four five six seven eight nine ten eleven twelve",
        "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "une deux trois quatre cinq six sept huit neuf dix onze douze",
        "una dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "una due tre quattro cinque sei sette otto nove dieci undici dodici",
        "een twee drie vier vijf zes zeven acht negen tien elf twaalf",
        "uma duas três quatro cinco seis sete oito nove dez onze doze",
        "pierwszej drugiej trzeciej czwartej piątej szóstej siódmej ósmej dziewiątej dziesiątej jedenastej dwunastej",
    )
    for value, word in enumerate(names.split(), 1)
}
_HOUR = rf"(?P<hour>{_choice(list(_HOURS))}|[0-9]{{1,2}})(?![\w:.,]?[0-9]|\w)"
# Minutes after the hour that is named; before it where they are below nothing.
_CLOCKS = tuple(
    (re.compile(rf"(?<![\w-]){before}{_HOUR}{after}"), minutes)
    for before, after, minutes in (
        ("half past ", "", 30), ("(?:a )?quarter past ", "", 15), ("(?:a )?quarter to ", "", -15),
        ("halb ", "", -30), ("viertel nach ", "", 15), ("viertel vor ", "", -15), ("dreiviertel ", "", -15),
        ("half ", "(?= |[.,!?]|$)", -30), ("kwart over ", "", 15), ("kwart voor ", "", -15),
        ("wpół do ", "", -30), ("kwadrans po ", "", 15), ("za kwadrans ", "", -15),
        ("", " heures? et demie?", 30), ("", " heures? et quart", 15), ("", " heures? moins le quart", -15),
        ("(?:las?|le|alle) ", " (?:y media|e mezza|e mezzo)", 30),
        ("(?:las?|le|alle) ", " (?:y cuarto|e un quarto)", 15),
        ("(?:las?|le|alle) ", " (?:menos cuarto|meno un quarto)", -15), ("[àa]s? ", " e meia", 30),
        ("", " (?:o'clock|uhr|uur)", 0), ("(?:à|vers|dès|avant|après) ", " heures?(?!\\w| [^\\W_])", 0),
    )
)  # fmt: skip
CLOCK_WORDS = frozenset(
    """half quarter halb viertel dreiviertel kwart wpół kwadrans demie demi quart media cuarto mezza mezzo quarto
    meia clock uhr uur heure heures""".split()  # noqa: SIM905 - words in quotation marks are harder to read
)
_DUTCH_HOURS = frozenset("een twee drie vier vijf zes zeven acht negen tien elf twaalf".split())  # noqa: SIM905


def spoken_times(text: str) -> Iterator[Fact]:
    """Times of day that are told by halves and quarters of hours."""
    for pattern, minutes in _CLOCKS:
        for match in pattern.finditer(text):
            hour = _HOURS.get(match["hour"]) or int(match["hour"])
            dutch = match.group().startswith("half ") and not match.group().startswith("half past")
            if hour > 24 or (dutch and match["hour"] not in _DUTCH_HOURS) or not (minutes or match["hour"] in _HOURS):
                continue
            whole = (hour * 60 + minutes) % 1440
            if hour <= 12 and not whole // 60:
                whole += 720
            yield Fact("time", (whole // 60, whole % 60, 0), match.group(), *match.span(), twelve=hour <= 12)


_WEEKDAYS = (
    "(?:周|週|星期|禮拜|礼拜){} {}曜 {}요일",
    ("一", "二", "三", "四", "五", "六", "[日天]"),
    ("月", "火", "水", "木", "金", "土", "日"),
    ("월", "화", "수", "목", "금", "토", "일"),
)
# Russian, Greek, Arabic, Hebrew, Hindi, Thai; Monday first.
_NAMED = (
    ("понедельник\\w*", "вторник\\w*",
     "сред[ауые]", "четверг\\w*",
     "пятниц\\w+", "суббот\\w+", "воскресень\\w+"),
    ("δευτέρας?", "τρίτης?", "τετάρτης?",
     "πέμπτης?", "παρασκευής?", "σάββατο", "κυριακής?"),
    ("الا?إ?ثنين", "الثلاثاء", "الأ?ا?ربعاء",
     "الخميس", "الجمعة", "السبت", "الأ?ا?حد"),
    ("[בהול]?יום שני", "[בהול]?יום שלישי", "[בהול]?יום רביעי",
     "[בהול]?יום חמישי", "[בהול]?יום שישי", "(?:יום )?שבת", "[בהול]?יום ראשון"),
    ("सोमवार", "मंगलवार", "बुधवार",
     "गुरुवार", "शुक्रवार", "शनिवार", "रविवार"),
    ("วันจันทร์", "วันอังคาร", "วันพุธ",
     "วันพฤหัส(?:บดี)?", "วันศุกร์", "วันเสาร์", "วันอาทิตย์"),
)  # fmt: skip


@lru_cache(maxsize=1)
def _weekday_patterns() -> tuple[re.Pattern[str], ...]:
    shape, *names = _WEEKDAYS
    eastern = [shape.format(*day).replace(" ", "|") for day in zip(*names, strict=True)]
    return tuple(
        re.compile(rf"{east}|(?<![^\W_])(?:{'|'.join(others)})|{others[-1]}")
        for east, *others in zip(eastern, *_NAMED, strict=True)
    )


def foreign_weekdays(text: str) -> Iterator[Fact]:
    """Days of the week in scripts without Latin letters, 1 for Monday."""
    for day, pattern in enumerate(_weekday_patterns(), 1):
        for match in pattern.finditer(text):
            yield Fact("weekday", day, match.group(), *match.span())


_DIGITS = {c: value for value, c in enumerate("〇一二三四五六七八九")} | {
    "零": 0, "两": 2, "兩": 2,
}  # fmt: skip
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_HAN = "".join([*_DIGITS, *_TENS, *_MYRIADS])
_SMALL = "[一二三四五六七八九十]"
_HAN_DATE = re.compile(rf"(?P<month>十?{_SMALL})月(?:(?P<day>{_SMALL}{{1,3}})[日号號])?")
_HAN_NUMBER = re.compile(
    rf"(?<![0-9])(?P<number>[{_HAN}]+) ?(?P<unit>欧元|美元|[元块円楼层層階天年个個人名件台次回岁歳点時米吨%])"
)


def han(text: str) -> Iterator[Fact]:
    """Dates and counted numbers in Chinese numerals; one is left out, which is an article."""
    for match in _HAN_DATE.finditer(text):
        month, day = _han_value(match["month"]), _han_value(match["day"] or "")
        yield Fact("date", (0, month, day), match.group(), *match.span())
    for match in _HAN_NUMBER.finditer(text):
        value, currency = _han_value(match["number"]), CURRENCIES.get(match["unit"], "")
        if value > 1 and currency:
            yield Fact("money", Decimal(value).normalize(), match.group(), *match.span(), currency)
        elif value > 1:
            yield Fact("number", Decimal(value).normalize(), match.group(), *match.span())


def _han_value(numeral: str) -> int:
    """The value of a Chinese numeral; digits in a row are read one by one."""
    if all(character in _DIGITS for character in numeral):
        return int("".join(str(_DIGITS[character]) for character in numeral) or 0)
    total = current = digit = 0
    for character in numeral:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _TENS:
            current, digit = current + (digit or 1) * _TENS[character], 0
        else:
            total, current, digit = total + (current + digit or 1) * _MYRIADS[character], 0, 0
    return total + current + digit
