"""Invitations and calendars (iCalendar, RFC 5545) as text that a person would read, and the event as facts."""

import binascii
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from mailsearch.ingest import charset
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.parsed import ParsedText

# Lines are folded at 75 bytes (RFC 5545 §3.1). Where a program folded earlier, at a hyphen inside a word, it broke
# lines as for reading, and the hyphen is its own.
_HYPHENATED = re.compile(r"(?m)^(.*[^\W\d_]-)\n[ \t](?=[^\W\d_])")
_PRINTABLE = re.compile(r"(?im)^([\w-]{1,60};(?:[^:\n]*;)?(ENCODING=)?QUOTED-PRINTABLE[^:\n]*):((?:[^\n]*=\n)*[^\n]*)")
_FOLD_AT = 72
_MOST_EVENTS = 2_000
_SHOWN = ("VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY")
_METHODS = {"REQUEST": "Invitation", "CANCEL": "Cancelled", "REPLY": "Reply", "COUNTER": "Counter-proposal"}


@dataclass(frozen=True, slots=True)
class Invitation:
    """The text of a calendar, and under `event` the first event as a JSON object (times in UTC)."""

    text: ParsedText
    facts: dict[str, str] = field(default_factory=dict)
    sound: bool = True


# Once for its text and once for its facts.
@lru_cache(2)
def read(content: bytes) -> Invitation:
    """Read a calendar. Never raises: what is no calendar comes back as its own text with `sound` false."""
    # Takes longer to load than a hundred messages to read, and most mail invites nobody.
    from icalendar import Calendar

    source = readable = _HYPHENATED.sub(_join, charset.clean(charset.decode(content, "utf-8").text))
    if "QUOTED-PRINTABLE" in source.upper():
        readable = _PRINTABLE.sub(_unquoted, source)
    try:
        calendars = Calendar.from_ical(readable, multiple=True)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        calendars = []
    builder = TextBuilder()
    facts: dict[str, str] = {}
    shown = 0
    for calendar in calendars:
        method = _text(calendar, "METHOD").upper()
        for component in calendar.walk():
            if component.name not in _SHOWN or shown >= _MOST_EVENTS:
                continue
            shown += 1
            _write(builder, component, method)
            if not facts and component.name == "VEVENT":
                facts = {"event": json.dumps(_facts(component, method), ensure_ascii=False, sort_keys=True)}
    if not shown:
        return Invitation(_as_source(source), {}, False)
    return Invitation(builder.parsed(), facts)


def _join(match: re.Match[str]) -> str:
    early = len(match[1].encode()) < _FOLD_AT
    return match[1][:-1] if early else match[0]


def _unquoted(match: re.Match[str]) -> str:
    """A property of vCalendar 1.0, whose values are encoded as those of vCard 2.1 are."""
    named = re.search(r"(?i);charset=([\w-]{1,40})", match[1])
    value = charset.decode(binascii.a2b_qp(match[3].encode("ascii", "replace")), named[1] if named else "utf-8").text
    return f"{match[1]}:" + charset.clean(value).replace("\n", "\\n").replace(";", "\\;").replace(",", "\\,")


def _write(builder: TextBuilder, component: Any, method: str) -> None:
    summary = _text(component, "SUMMARY")
    label = _METHODS.get(method, "")
    builder.add(f"{label}: {summary}" if label and label != "Invitation" else summary, "heading")
    for name, key in (("Start", "DTSTART"), ("End", "DTEND"), ("Due", "DUE")):
        moment = _moment(component, key)
        if moment is not None:
            builder.add(f"{name}: {_spoken(moment)}", "row")
    rows = [("Repeats", _rule(component)), ("Location", _text(component, "LOCATION"))]
    rows += [("Status", _text(component, "STATUS").capitalize()), ("Link", _text(component, "URL"))]
    rows += [("Organizer", _person(value)) for value in _values(component, "ORGANIZER")]
    rows += [("Attendee", _person(value) + _answer(value)) for value in _values(component, "ATTENDEE")]
    for name, value in rows:
        if value:
            builder.add(f"{name}: {value}", "row")
    for key in ("DESCRIPTION", "COMMENT"):
        for value in _values(component, key):
            for paragraph in charset.clean(str(value)).split("\n\n"):
                builder.add(paragraph)


def _facts(component: Any, method: str) -> dict[str, str]:
    organizers = _values(component, "ORGANIZER")
    facts = {
        "uid": _text(component, "UID"),
        "method": method.lower(),
        "summary": _text(component, "SUMMARY"),
        "location": _text(component, "LOCATION"),
        "start": _utc(_moment(component, "DTSTART")),
        "end": _utc(_moment(component, "DTEND")),
        "organizer": _address(organizers[0]) if organizers else "",
    }
    return {key: value for key, value in facts.items() if value}


def _values(component: Any, key: str) -> list[Any]:
    value = component.get(key)
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _text(component: Any, key: str) -> str:
    values = _values(component, key)
    return charset.clean(str(values[0])).strip() if values else ""


def _moment(component: Any, key: str) -> date | datetime | None:
    """The value of a date property; an end may be given by a duration."""
    for value in _values(component, key):
        found = _dt(value)
        if isinstance(found, date):
            return found
    if key == "DTEND" and (start := _moment(component, "DTSTART")) is not None:
        for value in _values(component, "DURATION"):
            try:
                ended: date = start + _dt(value)
            except (TypeError, OverflowError):
                return None
            return ended
    return None


def _dt(value: Any) -> Any:
    try:
        return getattr(value, "dt", None)
    except ValueError:
        # A property that could not be read says so when it is asked, not before.
        return None


def _spoken(moment: date | datetime) -> str:
    if not isinstance(moment, datetime):
        return moment.strftime("%A %Y-%m-%d")
    zone = f" {moment.tzinfo}" if moment.tzinfo else ""
    return moment.strftime("%A %Y-%m-%d %H:%M") + zone


def _utc(moment: date | datetime | None) -> str:
    if moment is None:
        return ""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        return moment.isoformat()
    try:
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):
        return ""


def _rule(component: Any) -> str:
    values = _values(component, "RRULE")
    if not values or not hasattr(values[0], "to_ical"):
        return ""
    return charset.decode(values[0].to_ical(), "utf-8").text.lower().replace(";", ", ").replace("=", " ")


def _address(value: Any) -> str:
    address = charset.clean(str(value)).strip()
    return address[7:] if address.lower().startswith("mailto:") else address


def _person(value: Any) -> str:
    name = charset.clean(str(getattr(value, "params", {}).get("CN", ""))).strip()
    address = _address(value)
    return f"{name} <{address}>" if name and name != address else address


def _answer(value: Any) -> str:
    """What an attendee has answered."""
    stated = charset.clean(str(getattr(value, "params", {}).get("PARTSTAT", ""))).strip().lower()
    return f" ({stated})" if stated and stated != "needs-action" else ""


def _as_source(source: str) -> ParsedText:
    builder = TextBuilder()
    builder.add(source, "code")
    return builder.parsed()
