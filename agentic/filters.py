"""The filters of a search as JSON: one set of names for requests, tools and responses."""

import dataclasses
import re
from collections.abc import Collection, Mapping
from datetime import datetime, tzinfo
from typing import Any

from mailsearch.hits import Filters
from mailsearch.search.dates import interval

# JSON's name to the field of Filters. A list is matched by any of its values.
LISTS = {
    "mailbox": "mailboxes",
    "folder": "folders",
    "from": "senders",
    "to": "recipients",
    "cc": "copied",
    "subject": "subjects",
    "filename": "filenames",
    "thread": "threads",
    "message": "messages",
}
_VALUE = {"type": "string", "minLength": 1, "maxLength": 320}
_VALUES = {"anyOf": [_VALUE, {"type": "array", "items": _VALUE, "minItems": 1, "maxItems": 20}]}
_DATE = {"type": "string", "minLength": 1, "maxLength": 40}
# JSON Schema of each filter.
PROPERTIES: Mapping[str, Mapping[str, object]] = {
    **{name: {**_VALUES, "description": f"Any of these ({name})."} for name in LISTS},
    "after": {**_DATE, "description": "On this day or later, by the sender's date: 2026-03-14, 2026-03, yesterday."},
    "before": {**_DATE, "description": "Before this day: 2026-03-14, 2026-03, yesterday."},
    "has_attachment": {"type": "boolean"},
    "unread": {"type": "boolean"},
    "larger": {"type": "integer", "minimum": 0, "maximum": 1_000_000_000, "description": "More bytes than this."},
}
# What a query may be given to say where to look. The query language knows `in:` alone; the others are set apart here.
_PLACE_OPERATOR = re.compile(
    r"""(?<!\S)[-+]?(mailbox(?:es|_ids?)?|folders?|folder_ids?|tenants?|tenant_ids?|accounts?|scopes?|quarantined?)
    :("[^"]*"|\S+)""",
    re.IGNORECASE | re.VERBOSE,
)
_OPERATOR = re.compile(r'[-+]?([A-Za-z]{1,20}):("[^"]*"|[^\s"]\S*)')
# What a refused filter is named, and the field that it stands in.
_REFUSED = {"mailbox": "mailboxes", "in": "folders", "thread": "threads", "id": "messages"}
# No message has this id.
_NONE = "msg_none"
NOTHING = Filters(messages=(_NONE,))


class UnreadableDate(ValueError):
    """The filter *name* holds no date."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} holds no date; write 2026-03-14, 2026-03, 2026 or yesterday")
        self.name = name


def parse(values: Mapping[str, object], now: datetime, zone: tzinfo) -> Filters:
    """Filters from JSON that fits PROPERTIES. Dates are meant on the clock of *zone*. Raises UnreadableDate."""
    lists = {field: _strings(values[name]) for name, field in LISTS.items() if name in values}
    after, before = _start(values, "after", now, zone), _start(values, "before", now, zone)
    larger = values.get("larger")
    return Filters(
        after=after,
        before=before,
        has_attachment=_flag(values, "has_attachment"),
        unread=_flag(values, "unread"),
        larger=larger if isinstance(larger, int) else None,
        **lists,
    )


def both(one: Filters, other: Filters) -> Filters:
    """What fits *one* and *other*: never more than either of them. NOTHING where no message could fit both."""
    if _contradict(one.has_attachment, other.has_attachment) or _contradict(one.unread, other.unread):
        return NOTHING
    lists: dict[str, tuple[str, ...]] = {}
    for field in LISTS.values():
        mine, theirs = getattr(one, field), getattr(other, field)
        lists[field] = _narrower(mine, theirs) if mine and theirs else mine or theirs
        if mine and theirs and not lists[field]:
            return NOTHING
    return Filters(
        after=max((moment for moment in (one.after, other.after) if moment), default=None),
        before=min((moment for moment in (one.before, other.before) if moment), default=None),
        has_attachment=one.has_attachment if other.has_attachment is None else other.has_attachment,
        unread=one.unread if other.unread is None else other.unread,
        larger=max((size for size in (one.larger, other.larger) if size is not None), default=None),
        **lists,
    )


def as_json(filters: Filters) -> dict[str, object]:
    """Only the filters that narrow, as `parse` takes them."""
    names = {field: name for name, field in LISTS.items()}
    shown: dict[str, object] = {}
    for field in dataclasses.fields(filters):
        value = getattr(filters, field.name)
        if value is None or value == ():
            continue
        if isinstance(value, datetime):
            value = value.isoformat()
        shown[names.get(field.name, field.name)] = list(value) if isinstance(value, tuple) else value
    return shown


def split(query: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """*query* without operators that say where to look and are none of the query language, and those as pairs."""
    found = tuple((match[1].casefold(), match[2].strip('" ')) for match in _PLACE_OPERATOR.finditer(query))
    return (" ".join(_PLACE_OPERATOR.sub(" ", query).split()), found) if found else (query, ())


def without(query: str, refused: Collection[str]) -> str:
    """*query* without the operators that were refused (`operator:value`, as a result tells them)."""

    def keep(match: re.Match[str]) -> str:
        value = match[2].strip('" ')
        named = f"{match[1].casefold()}:{value}"
        return "" if match[0] in refused or named in refused else match[0]

    return " ".join(_OPERATOR.sub(keep, query).split()) if refused else query


def effective(filters: Filters, refused: Collection[str]) -> Filters:
    """*filters* without the values that were refused, which had no effect but that nothing was found."""
    kept: dict[str, Any] = {
        name: tuple(value for value in getattr(filters, name) if f"{operator}:{value}" not in refused)
        for operator, name in _REFUSED.items()
    }
    return dataclasses.replace(filters, **kept)


def _strings(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _flag(values: Mapping[str, object], name: str) -> bool | None:
    value = values.get(name)
    return value if isinstance(value, bool) else None


def _start(values: Mapping[str, object], name: str, now: datetime, zone: tzinfo) -> datetime | None:
    if name not in values:
        return None
    text = str(values[name]).strip()
    if len(text) > 10 and text[4:5] == "-":
        return _moment(text, name, zone)
    named = interval(text, now, zone)
    if named is None:
        raise UnreadableDate(name)
    return named[0]


def _moment(text: str, name: str, zone: tzinfo) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UnreadableDate(name) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _contradict(one: bool | None, other: bool | None) -> bool:
    return one is not None and other is not None and one is not other


def _narrower(mine: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
    """Values of either side that lie within a value of the other: `claims@nordlicht.example` within `nordlicht`."""
    kept = [
        max(value, wider, key=len)
        for value in mine
        for wider in theirs
        if value.casefold() in wider.casefold() or wider.casefold() in value.casefold()
    ]
    return tuple(dict.fromkeys(kept))
