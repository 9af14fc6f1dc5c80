"""Dates as people write them in a query: a day, month or year, or a stretch of time that ends today."""

import re
from datetime import date, datetime, timedelta, tzinfo

_YEAR = re.compile(r"([0-9]{4})")
_MONTH = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})")
_DAY = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})")
_DAY_FIRST = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})")
_AGO = re.compile(r"([0-9]{1,4}) ?(d|w|m|y|days?|weeks?|months?|years?)(?: ago)?")
_STRETCH = re.compile(r"(this|last) (week|month|year)")
_SEPARATORS = re.compile(r"[\s_-]+")


def interval(text: str, now: datetime, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """The stretch [start, end) that *text* names, on the clock of *zone*; None where it names none.

    A year, month or day is itself (`2026`, `2026-03`, `2026-03-04`, `4.3.2026`), as are `today`, `yesterday`,
    `this week` and `last month`; `7d`, `2w`, `3m` and `1y` are the day so long before today. A full ISO 8601 moment is
    an empty stretch at that moment.
    """
    text = text.strip().casefold()
    try:
        days = _days(text, now.astimezone(zone).date())
        if days is not None:
            return _midnight(days[0], zone), _midnight(days[1], zone)
        return _moment(text, zone)
    except (ValueError, OverflowError):
        return None


def _days(text: str, today: date) -> tuple[date, date] | None:
    named = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(text)
    if named is not None:
        return _one_day(today + timedelta(days=named))
    if match := _DAY.fullmatch(text):
        return _one_day(date(*(int(part) for part in match.groups())))
    if match := _DAY_FIRST.fullmatch(text):
        day, month, year = (int(part) for part in match.groups())
        return _one_day(date(year, month, day))
    if match := _MONTH.fullmatch(text):
        first = date(int(match[1]), int(match[2]), 1)
        return first, _months_later(first, 1)
    if match := _YEAR.fullmatch(text):
        return date(int(match[1]), 1, 1), date(int(match[1]) + 1, 1, 1)
    return _relative(_SEPARATORS.sub(" ", text), today)


def _relative(text: str, today: date) -> tuple[date, date] | None:
    if match := _AGO.fullmatch(text):
        return _one_day(_before(today, int(match[1]), match[2][0]))
    if match := _STRETCH.fullmatch(text):
        start = {"week": today - timedelta(days=today.weekday()), "month": today.replace(day=1)}.get(
            match[2], today.replace(month=1, day=1)
        )
        unit = match[2][0]
        return (start, _before(start, -1, unit)) if match[1] == "this" else (_before(start, 1, unit), start)
    return None


def _one_day(day: date) -> tuple[date, date]:
    return day, day + timedelta(days=1)


def _before(day: date, count: int, unit: str) -> date:
    if unit in "dw":
        return day - timedelta(days=count * (7 if unit == "w" else 1))
    return _months_later(day, -count * (12 if unit == "y" else 1))


def _months_later(day: date, count: int) -> date:
    months = day.year * 12 + day.month - 1 + count
    year, month = divmod(months, 12)
    last = (date(year + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month + 1, min(day.day, last))


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def _moment(text: str, zone: tzinfo) -> tuple[datetime, datetime] | None:
    if "t" not in text and ":" not in text:
        return None
    moment = datetime.fromisoformat(text.upper())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment, moment
