"""Dates of mail headers: RFC 5322, its obsolete forms, and the wrong ones that real mail carries."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz
from functools import lru_cache
from typing import NamedTuple

# Mail did not exist before; a later year is a broken clock.
_FIRST_YEAR, _LAST_YEAR = 1970, 2100
# The widest offsets that are in use are -12:00 and +14:00.
_WIDEST_OFFSET = 14 * 3600
# What programs write that have no date; the library would take 0001 for 2001.
_FIRST_CENTURY = re.compile(r"(?<![+\-0-9])000[1-9]\b")
_COMMENT = re.compile(r"\([^()]{0,200}\)")
_CLOCK = re.compile(r"\b(1[0-2]|0?[1-9])(:[0-9]{2}(?::[0-9]{2})?) ?([AaPp])\.?[Mm]\b\.?")
_ZONE_WITH_COLON = re.compile(r"(?<=[0-9] )(?:GMT|UTC)?([+-])([0-9]{2}):([0-9]{2})$")
# Fractions of a second, as no date of mail has them.
_FRACTION = re.compile(r"(?<=:[0-9]{2})\.[0-9]{1,9}\b")
# Zones that mail names and the library does not know, in hours. Names of several zones (IST) are left out.
_ZONES = {
    name: timedelta(hours=float(hours))
    for name, hours in re.findall(
        r"([A-Z]+) (\S+)",
        "WET 0 WEST 1 BST 1 CET 1 MET 1 MEZ 1 CEST 2 MEST 2 MESZ 2 EET 2 EEST 3 MSK 3 MSD 4 PKT 5 WIB 7 ICT 7 HKT 8"
        " SGT 8 AWST 8 JST 9 KST 9 ACST 9.5 AEST 10 ACDT 10.5 AEDT 11 NZST 12 NZDT 13 NDT -2.5 NST -3.5 BRT -3 ART -3"
        " CLT -4 AKDT -8 AKST -9 HST -10",
    )
}
_KNOWN_ZONES = ("UT", "UTC", "GMT", "Z", "AST", "ADT", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT")
_NAMED_ZONE = re.compile(r"(?<=[0-9:]) ([A-Z]{1,5})(?= [0-9]{4}$|$)")
# Months as programs in other languages write them, by how they begin: in Cyrillic and with accents, too.
_OTHER_MONTHS = {
    **dict.fromkeys(("ene", "gen", "янв"), "Jan"),
    **dict.fromkeys(("fév", "fev", "фев"), "Feb"),
    **dict.fromkeys(("mär", "mrz", "mrt", "maa", "мар"), "Mar"),
    **dict.fromkeys(("avr", "abr", "апр"), "Apr"),
    **dict.fromkeys(("mai", "mei", "mag", "maj", "май", "мая"), "May"),
    **dict.fromkeys(("juin", "giu", "июн"), "Jun"),
    **dict.fromkeys(("juil", "lug", "июл"), "Jul"),
    **dict.fromkeys(("aoû", "aou", "ago", "авг"), "Aug"),
    **dict.fromkeys(("set", "сен"), "Sep"),
    **dict.fromkeys(("okt", "ott", "out", "окт"), "Oct"),
    **dict.fromkeys(("ноя",), "Nov"),
    **dict.fromkeys(("dez", "dic", "déc", "дек"), "Dec"),
}
_WRITTEN_DAY = re.compile(r"^(?:[^\W\d_]+\.?,? )?([0-9]{1,2})\.?[ -]([^\W\d_]{3,10})\.?[ -](?=[0-9]{2,4}\b)")
# As nearly all mail writes it; whatever differs is left to the library.
_USUAL = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?([0-9]{1,2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r" ([12][0-9]{3}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([+-])([0-9]{2})([0-9]{2})"
)
_MONTHS = {
    name: number for number, name in enumerate(re.findall(r"\w+", "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"), 1)
}


class ReadDate(NamedTuple):
    """A moment, or None where there is none; `problem` says in one sentence what was wrong, empty if nothing."""

    moment: datetime | None
    problem: str = ""


def read(value: str) -> ReadDate:
    """Read a Date header's *value*. The result is aware and keeps the sender's offset. Never raises."""
    value = value.strip()[:200]
    if not value:
        return ReadDate(None, "The date is empty.")
    usual = _USUAL.fullmatch(value)
    return (_read_usual(usual) if usual else None) or _read_any(value)


def _read_usual(found: re.Match[str]) -> ReadDate | None:
    """A date in the usual form; None where anything about it is odd."""
    day, month, year, hour, minute, second, sign, hours, minutes = found.groups()
    zone = _offset(sign, int(hours), int(minutes))
    if zone is None or int(year) < _FIRST_YEAR + 1 or int(year) >= _LAST_YEAR or second > "59":
        return None
    try:
        return ReadDate(datetime(int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second), tzinfo=zone))
    except ValueError:
        return None


@lru_cache(200)
def _offset(sign: str, hours: int, minutes: int) -> timezone | None:
    offset = timedelta(hours=hours, minutes=minutes) * (-1 if sign == "-" else 1)
    # "-0000" says that the zone is not known.
    odd = abs(offset.total_seconds()) > _WIDEST_OFFSET or minutes > 59 or (sign == "-" and not offset)
    return None if odd else timezone(offset)


def _read_any(value: str) -> ReadDate:
    plain = _WRITTEN_DAY.sub(_in_english, _plain(value))
    try:
        fields = parsedate_tz(plain)
    except (ValueError, IndexError, OverflowError, TypeError, AttributeError):
        fields = None
    if fields is None:
        return _read_iso(value)
    if _FIRST_CENTURY.search(value):
        return ReadDate(None, "The year can't be right.")
    years = f"{fields[0]}|{fields[0] % 100:02d}|{fields[0] - 1900}"
    if not re.search(rf"(?<![0-9:.+])(?<! -)(?:{years})(?![0-9:])", plain):
        # The library takes a piece of the time for it where there is none.
        return ReadDate(None, "The date has no year.")
    year, problem = _repair_year(fields[0])
    zone, zone_problem = _named_zone(plain) or _zone(fields[9], plain)
    second = min(fields[5], 59)
    try:
        moment = datetime(year, *fields[1:5], second, tzinfo=zone)
        moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        return ReadDate(None, "The date does not exist.")
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return ReadDate(None, f"The year {moment.year} can't be right.")
    return ReadDate(moment, problem or zone_problem)


def _plain(value: str) -> str:
    """*value* without comments, its clock with 24 hours and its zone without a colon."""
    while value != (bare := _COMMENT.sub(" ", value)):
        value = bare
    value = _FRACTION.sub("", value).partition(";")[0].replace('"', "").strip()
    value = _CLOCK.sub(_full_clock, " ".join(value.replace(",", ", ").split()).replace(" ,", ","))
    return _ZONE_WITH_COLON.sub(r"\1\2\3", value)


def _in_english(match: re.Match[str]) -> str:
    begins = match[2].lower()
    begin = begins[:3].title()
    month = next((_OTHER_MONTHS[begins[:size]] for size in (3, 4) if begins[:size] in _OTHER_MONTHS), match[2])
    return f"{match[1]} {begin if begin in _MONTHS else month} "


def _full_clock(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
    return f"{hour:02d}{match[2]}"


def _read_iso(value: str) -> ReadDate:
    try:
        moment = datetime.fromisoformat(value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        aware.astimezone(UTC)
    except (ValueError, OverflowError):
        return ReadDate(None, "The date can't be read.")
    offset = aware.utcoffset() or timedelta()
    if not _FIRST_YEAR <= aware.year <= _LAST_YEAR or abs(offset.total_seconds()) > _WIDEST_OFFSET:
        return ReadDate(None, "The date can't be right.")
    return ReadDate(aware, "The date is not in the form of mail.")


def _repair_year(year: int) -> tuple[int, str]:
    # Programs that counted years from 1900 wrote 2001 as 101.
    if 100 <= year <= 150:
        return year + 1900, f"The year {year} was read as {year + 1900}."
    # Others wrote 19 before that number.
    if 19_100 <= year <= 19_150:
        return year - 17_100, f"The year {year} was read as {year - 17_100}."
    return year, ""


def _named_zone(value: str) -> tuple[timezone, str] | None:
    """The zone that *value* names by letters that the library does not know; None where it names none."""
    match = _NAMED_ZONE.search(value)
    if match is None or match[1] in _KNOWN_ZONES:
        return None
    if match[1] not in _ZONES:
        return UTC, f"The zone {match[1]} is unknown; the time was read as UTC."
    return timezone(_ZONES[match[1]]), ""


def _zone(offset: int | None, value: str) -> tuple[timezone, str]:
    if offset is None:
        return UTC, ("The zone is unknown; the time was read as UTC." if re.search(r"[A-Za-z+-]\S*$", value) else "")
    if abs(offset) > _WIDEST_OFFSET:
        return UTC, "The zone does not exist; the time was read as UTC."
    return timezone(timedelta(seconds=offset)), ""
