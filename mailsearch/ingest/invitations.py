"""Invitations and calendars (iCalendar, RFC 5545) as text that a person would read, and the event as facts."""

import binascii
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from mailsearch.ingest import charset, html
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.parsed import ParsedText

# Lines are folded at 75 bytes (RFC 5545 §3.1). Where a program folded earlier, at a hyphen inside a word, it broke
# lines as for reading, and the hyphen is its own.
_HYPHENATED = re.compile(r"(?m)^(.*[^\W\d_]-)\n[ \t](?=[^\W\d_])")
_PRINTABLE = re.compile(r"(?im)^([\w-]{1,60};(?:[^:\n]*;)?(ENCODING=)?QUOTED-PRINTABLE[^:\n]*):((?:[^\n]*=\n)*[^\n]*)")
_FOLD_AT = 72
# A fold in the midst of a character of UTF-8.
_FOLDED_INSIDE = re.compile(rb"(?<=[\x80-\xf4])\r?\n[ \t](?=[\x80-\xbf])")
_BEGINS = re.compile(r"(?im)^BEGIN:VCALENDAR[ \t]*$")
_NESTING = re.compile(r"(?im)^(?:BEGIN|(END)):([\w-]{1,60})[ \t]*$")
_MARKUP = re.compile(r"(?i)</(?:p|div|b|i|u|a|ul|ol|li|span|html|html-blob|table|font)>|<br ?/?>")
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
def read(content: bytes, declared: str = "") -> Invitation:
    """Read a calendar whose charset is *declared*, or UTF-8.

    Never raises: what is no calendar comes back as its own text with `sound` false.
    """
    text = charset.decode(_FOLDED_INSIDE.sub(b"", content), declared or "utf-8").text
    source = readable = _HYPHENATED.sub(_join, charset.clean(text))
    if "QUOTED-PRINTABLE" in source.upper():
        readable = _PRINTABLE.sub(_unquoted, source)
    calendars = _calendars(readable) or _calendars(_mended(readable))
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


def _calendars(source: str) -> list[Any]:
    # Takes longer to load than a hundred messages to read, and most mail invites nobody.
    from icalendar import Calendar

    try:
        return list(Calendar.from_ical(source, multiple=True))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return []


def _mended(source: str) -> str:
    """*source* from where its calendar begins, with an end for whatever has none."""
    begins = _BEGINS.search(source)
    if begins is None:
        return ""
    source = source[begins.start() :]
    opened: list[str] = []
    for is_end, name in _NESTING.findall(source):
        if not is_end:
            opened.append(name.upper())
        elif opened and opened[-1] == name.upper():
            opened.pop()
    # The last line is cut off, too.
    whole = source.rpartition("\n")[0] if opened and not source.endswith("\n") else source.rstrip("\n")
    return "\n".join([whole, *(f"END:{name}" for name in reversed(opened)), ""])


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
    described = "DESCRIPTION" if _text(component, "DESCRIPTION") else "X-ALT-DESC"
    for value in (*_values(component, described), *_values(component, "COMMENT")):
        _describe(builder, charset.clean(str(value)))


def _describe(builder: TextBuilder, text: str) -> None:
    """Add what is said of an event, which some programs write as HTML."""
    if _MARKUP.search(text):
        page = html.visible_text(text)
        text = page.text
        builder.hide(page.hidden_text)
    for paragraph in text.split("\n\n"):
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
    named = str(getattr(moment.tzinfo, "_tzid", "") or moment.tzinfo or "").replace("\\,", ",").replace("\\", "")
    return f"{moment.strftime('%A %Y-%m-%d %H:%M')} {named}".rstrip()


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
