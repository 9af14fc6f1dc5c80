"""Calendar dates and times of day in the styles of mail; a form that can be read in two ways equals only itself.

Sources: ISO 8601, RFC 3339; written forms in the languages of words.toml.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime
from functools import lru_cache

from agentic.core.verify.facts.values import Fact
from agentic.core.verify.words import lexicons


@lru_cache(maxsize=1)
def _months() -> dict[str, int]:
    return {month: value for lexicon in lexicons().values() for month, value in lexicon.months.items()}


@lru_cache(maxsize=1)
def _weekdays() -> dict[str, int]:
    return {day: value for lexicon in lexicons().values() for day, value in lexicon.weekdays.items()}


# Month names that are also other words count alone only behind a preposition.
_ALSO_WORDS = frozenset(["may", "march", "mars", "mai", "maj", "set", "mar", "jan", "dec", "mei", "august"])
_LEADS = re.compile(
    r"(?:in|of|by|until|till|since|from|before|after|during|early|mid|late|next|last|this|for|through|to|end|between|"
    r"and|per|im|ab|bis|seit|vor|nach|anfang|mitte|ende|en|de|du|fin|d\u00e9but|avant|apr\u00e8s|depuis|pour|d\u00e8s|"
    r"w|od|do|in den)[ -]$"
)


def months_among(words: frozenset[str]) -> tuple[str, ...]:
    """The month names of which all parts are in *words*."""
    return _among(tuple(_months()), words)


def weekdays_among(words: frozenset[str]) -> tuple[str, ...]:
    """The names of weekdays of which all parts are in *words*."""
    return _among(tuple(_weekdays()), words)


def _among(names: tuple[str, ...], words: frozenset[str]) -> tuple[str, ...]:
    parts = _parts_of(names)
    if parts.keys().isdisjoint(words):
        return ()
    return tuple(
        sorted({name for part in parts.keys() & words for name in parts[part] if set(name.split("-")) <= words})
    )


@lru_cache(maxsize=4)
def _parts_of(names: tuple[str, ...]) -> dict[str, list[str]]:
    """The names by each of their parts ("segunda-feira" has two)."""
    found: dict[str, list[str]] = {}
    for name in names:
        for part in name.split("-"):
            found.setdefault(part, []).append(name)
    return found


@lru_cache(maxsize=256)
def _patterns(names: tuple[str, ...]) -> dict[str, re.Pattern[str]]:
    """The patterns of all styles for the months *names*: the few that a text has make them fast."""
    month = _choice(names)
    day = r"(?:0?[1-9]|[12][0-9]|3[01])"
    nth = r"(?:st|nd|rd|th|er|\.|\u00ba|\u00aa|\u00b0)?"
    year = r"(?P<year>(?:1[6-9]|20|21)[0-9]{2}|'[0-9]{2})(?![0-9])"
    joint = r"(?:\.? ?(?:-|/|to|until|bis|und|and|&|au|et|al|a|y|e|i|do|tot|t/m|en|\+) ?)"
    edge = r"(?<![0-9a-z.,/\-])"
    return {
        "day_month": re.compile(
            rf"{edge}(?:(?P<first>{day}){nth}(?: (?P<firstmonth>{month})\.?)?{joint}(?:the |den |le |dem )?)?"
            rf"(?P<day>{day}){nth} ?(?:day )?(?:of |de |di |d')?"
            rf"[ -]?(?P<month>{month})(?![a-z\u00df-\u024f])\.?(?:,?[ -](?:de |del |of )?{year})?"
        ),
        "month_day": re.compile(
            rf"(?<![a-z])(?P<month>{month})\.? (?:the )?(?P<first>{day})(?![0-9]|[.:,][0-9]|[.:] ?[0-9]{{2}}\b){nth}"
            rf"(?:{joint}(?:the )?(?P<day>{day})(?![0-9]|[.:][0-9]){nth})?(?:,? {year})?"
        ),
        "iso": re.compile(
            rf"{edge}(?P<year>(?:1[6-9]|20|21)[0-9]{{2}})[-/.](?P<month>0?[1-9]|1[0-2])[-/.](?P<day>{day})(?![0-9])"
        ),
        "numeric": re.compile(
            rf"{edge}(?P<a>[0-9]{{1,2}})(?P<sep> ?[./-] ?)(?P<b>[0-9]{{1,2}})(?P=sep)"
            r"(?P<year>(?:1[6-9]|20|21)[0-9]{2}|[0-9]{2})(?![0-9]|[.,/-][0-9])"
        ),
        "dotted": re.compile(
            r"(?:(?<=am )|(?<=vom )|(?<=bis )|(?<=den )|(?<=zum )|(?<=seit )|(?<=ab )|(?<=de[rm] )|(?<=-)|(?<=, ))"
            rf"(?P<day>{day})\. ?(?P<month>0?[1-9]|1[0-2])\.(?![0-9])"
        ),
        "month_year": re.compile(
            rf"(?<![a-z])(?P<month>{month})(?![a-z\u00df-\u024f])\.?,?[ -](?:de |del |of )?{year}"
        ),
        "digits_year": re.compile(rf"{edge}(?P<month>0[1-9]|1[0-2])/(?P<year>(?:19|20)[0-9]{{2}})(?![0-9/])"),
        "year_month": re.compile(rf"{edge}(?P<year>(?:19|20)[0-9]{{2}})-(?P<month>0[1-9]|1[0-2])(?![0-9-])"),
        "cjk": re.compile(
            r"(?:(?P<year>[0-9]{4}) ?[\u5e74\ub144] ?)?(?P<month>[0-9]{1,2}) ?[\u6708\uc6d4]"
            r"(?: ?(?P<day>[0-9]{1,2}) ?[\u65e5\uc77c\u53f7])?"
        ),
        "month": re.compile(rf"(?<![\w'-])(?P<month>{month})(?![\w'])"),
    }


@lru_cache(maxsize=1)
def _day_first() -> re.Pattern[str]:
    return re.compile(rf"(?:0?[1-9]|[12][0-9]|3[01])[.)] ?(?:{_choice(tuple(_months()))})(?![\w])")


def opens_with_day(text: str) -> bool:
    """Whether *text* begins with a day and its month ("3. Mai"), which only looks like an item of a list."""
    return _day_first().match(text) is not None


def _choice(names: tuple[str, ...]) -> str:
    # A pattern that never matches where there is no name.
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True)) or "(?!)"


@lru_cache(maxsize=256)
def _weekday_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w])(?P<weekday>{_choice(names)})(?![\w])")


# In the order of their specificity: what one style took, the next does not read again.
STYLES = ("iso", "numeric", "day_month", "month_day", "dotted", "cjk", "month_year", "digits_year", "year_month")


_WITH_NAMES = frozenset({"day_month", "month_day", "month_year"})


def styles_for(text: str, names: tuple[str, ...]) -> Iterator[str]:
    """Those of STYLES that *text* can hold dates of, if *names* are all months in it."""
    joined = "-" in text or "/" in text or "." in text
    for style in STYLES:
        if bool(names) if style in _WITH_NAMES else joined if style != "cjk" else not text.isascii():
            yield style


def dates(text: str, style: str, names: tuple[str, ...]) -> Iterator[Fact]:
    """Dates with a day, or months with a year, written in one of STYLES with one of the month *names*."""
    for match in _patterns(names)[style].finditer(text):
        yield from _dates_of(style, match)


def _dates_of(name: str, match: re.Match[str]) -> Iterator[Fact]:
    groups = match.groupdict()
    if name == "numeric":
        yield from _numeric(match)
        return
    month = groups["month"]
    number = int(month) if month.isdigit() else _months()[month]
    year = _year(groups.get("year"))
    days = [int(groups[key]) for key in ("first", "day") if groups.get(key)]
    for index, day in enumerate(days or [0]):
        own = _months()[groups["firstmonth"]] if index == 0 and groups.get("firstmonth") else number
        if _is_valid(year, own, day):
            yield Fact("date", (year, own, day), match.group().strip(" .,"), *match.span())


def _year(text: str | None) -> int:
    if not text:
        return 0
    digits = text.lstrip("'")
    return int(digits) if len(digits) == 4 else 2000 + int(digits) if int(digits) < 70 else 1900 + int(digits)


def _is_valid(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12:
        return False
    try:
        date(year or 2024, month, day or 1)
    except ValueError:
        return False
    return True


def _numeric(match: re.Match[str]) -> Iterator[Fact]:
    """Dots mean day first; slashes and hyphens only say which is the day where one of them exceeds twelve."""
    first, second, year = int(match.group("a")), int(match.group("b")), _year(match.group("year"))
    dotted = "." in match.group("sep")
    if (dotted or first > 12 or first == second) and _is_valid(year, second, first):
        yield Fact("date", (year, second, first), match.group(), *match.span())
    elif not dotted and second > 12 and _is_valid(year, first, second):
        yield Fact("date", (year, first, second), match.group(), *match.span())
    elif not dotted and 1 <= first <= 12 and 1 <= second <= 12:
        yield Fact("date", f"{first}/{second}/{year}", match.group(), *match.span())


def months(text: str, names: tuple[str, ...]) -> Iterator[Fact]:
    """Months of *names* that stand alone."""
    for match in _patterns(names)["month"].finditer(text):
        name = match.group("month")
        lead = _LEADS.search(text[max(0, match.start() - 9) : match.start()])
        if (len(name) < 4 and name not in _ALSO_WORDS | {"m\u00e4rz"}) or (name in _ALSO_WORDS and not lead):
            continue
        yield Fact("date", (0, _months()[name], 0), name, *match.span())


def weekdays(text: str, names: tuple[str, ...]) -> Iterator[Fact]:
    """Days of the week called by one of *names*, 1 for Monday."""
    for match in _weekday_pattern(names).finditer(text):
        yield Fact("weekday", _weekdays()[match.group("weekday")], match.group(), *match.span())


_ZONE = r"(?P<zone>utc|gmt|cet|cest|mez|mesz|est|edt|cst|cdt|mst|mdt|pst|pdt|bst|ist|jst|et|pt)"
_HALF = r"(?P<half>[ap]\.?m\b\.?)"
_CLOCK = re.compile(
    r"(?:(?<=\ue001)t|(?<![0-9a-z:.,/]))"
    r"(?:(?P<from>[01]?[0-9]|2[0-3])(?:[:.h](?P<fromminute>[0-5][0-9]))?(?: ?(?P<fromhalf>[ap]\.?m\.?))?(?: uhr)?"
    r" ?(?:-|to|bis|until|\u00e0|till|and|und) ?)?"
    r"(?P<hour>[01]?[0-9]|2[0-4])(?:"
    r"(?P<sep>:|h)(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:\.[0-9]+)?)?"
    rf"(?: ?(?:{_HALF}|(?P<uhr>uhr|o'clock|hrs|h\b)))?"
    rf"|\.(?P<minute2>[0-5][0-9]) ?(?:{_HALF.replace('half', 'half2')}|(?P<uhr2>uhr))"
    rf"|(?: ?{_HALF.replace('half', 'half3')}| ?(?P<uhr3>uhr|o'clock)"
    r"(?: (?P<minute3>[0-5][0-9])(?![0-9]|[.:,][0-9]| ?[^\W\d_]{4,}))?)"
    rf")z?(?![0-9a-z]|:[0-9])(?: {_ZONE}\b)?"
)
_FRENCH_HOUR = re.compile(
    r"(?:(?<=\u00e0 )|(?<=vers )|(?<=d\u00e8s )|(?<=avant )|(?<=apr\u00e8s ))"
    r"(?P<hour>[01]?[0-9]|2[0-3]) ?(?:h|heures?)(?![0-9a-z])"
)
# "at 7.15": a point between hours and minutes, where nothing says that it is an amount or a measure.
_DOTTED = re.compile(
    r"(?<![^\W\d_])(?:at|around|until|before|after|from|um|gegen|bis|ab|vor|nach|las|le|alle|dalle|om|tot|vanaf|\u00e0s|as|"
    r"o|od|do|na|godz\.?|godzinie) (?P<hour>[01]?[0-9]|2[0-3])\.(?P<minute>[0-5][0-9])"
    r"(?![0-9%/-]|[.,][0-9]"
    r"| ?(?:eur|usd|gbp|chf|pln|sek|nok|dkk|czk|huf|jpy|per|pro|[kcm]?m|k?g|h?l|h|t|z\u0142|kr|bn|mio)(?![^\W_])"
    r"| ?[%\u20ac$\u00a3])"
)
_NOON = "noon midday mittag mittags midi mediod\u00eda mezzogiorno middag meio-dia po\u0142udnie"
_MIDNIGHT = "midnight mitternacht minuit medianoche mezzanotte middernacht meia-noite p\u00f3\u0142noc"
_NAMED = {word: (12, 0, 0) for word in _NOON.split()} | {word: (0, 0, 0) for word in _MIDNIGHT.split()}
NAMED_TIMES = frozenset(_NAMED)
_NAMED_PATTERN = re.compile(rf"(?<![\w-])(?:{'|'.join(_NAMED)})(?![\w-])")


def times(text: str) -> Iterator[Fact]:
    """Times of day as (hour, minute, second) on the 24-hour clock; `twelve` where morning or evening is not said."""
    for match in _CLOCK.finditer(text):
        yield from _clock(match)
    for match in _DOTTED.finditer(text):
        hour, minute = int(match.group("hour")), int(match.group("minute"))
        yield Fact("time", (hour, minute, 0), match.group(), *match.span(), twelve=0 < hour <= 12)
    for match in _FRENCH_HOUR.finditer(text):
        yield Fact("time", (int(match.group("hour")), 0, 0), match.group(), *match.span())


def named_times(text: str) -> Iterator[Fact]:
    """Noon and midnight."""
    for match in _NAMED_PATTERN.finditer(text):
        yield Fact("time", _NAMED[match.group()], match.group(), *match.span())


def _clock(match: re.Match[str]) -> Iterator[Fact]:
    groups = match.groupdict()
    half = (groups["half"] or groups["half2"] or groups["half3"] or "").replace(".", "")
    minute = int(groups["minute"] or groups["minute2"] or groups["minute3"] or 0)
    hour = int(groups["hour"])
    spoken = (
        not half
        and hour <= 12
        and not groups["hour"].startswith("0")
        and not (groups["uhr"] or groups["uhr2"] or groups["uhr3"] == "uhr")
    )
    ends = [(hour, minute, int(groups["second"] or 0), half)]
    if groups["from"]:
        ends.append(
            (int(groups["from"]), int(groups["fromminute"] or 0), 0, (groups["fromhalf"] or half).replace(".", ""))
        )
    for hours, minutes, seconds, side in ends:
        yield Fact(
            "time",
            (_hour(hours, side), minutes, seconds),
            match.group().strip(),
            *match.span(),
            groups["zone"] or "",
            twelve=spoken,
        )


def _hour(hour: int, half: str) -> int:
    if not half:
        return hour % 24
    return hour % 12 + (12 if half == "pm" else 0)


def of_moment(moment: datetime) -> tuple[int, int, int]:
    """The calendar date of *moment* in its own zone."""
    return moment.year, moment.month, moment.day
