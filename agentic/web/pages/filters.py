"""What a list is filtered by, as its address says: each value is one of those offered, or it is not there."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

_LONGEST = 200
_QUERY_PART = re.compile(r"[A-Za-z0-9%=&.:+_~-]{0,2000}")


@dataclass(frozen=True, slots=True)
class Choices:
    """One filter with the values that may be chosen; the empty one is always there."""

    name: str
    words: str
    values: Sequence[tuple[str, str]]
    chosen: str


def text_of(sent: Mapping[str, str], name: str) -> str:
    """The value *name*, without NUL and never very long."""
    return sent.get(name, "").replace("\0", "")[:_LONGEST].strip()


def day_of(sent: Mapping[str, str], name: str, *, end: bool = False) -> datetime | None:
    """The day *name* (2026-03-14) as its first moment in UTC, or with *end* as the moment after its last."""
    try:
        found = datetime.strptime(text_of(sent, name), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return found + timedelta(days=1) if end and found.year < 9999 else found


def number_of(sent: Mapping[str, str], name: str) -> int | None:
    """The number *name*, None where there is none that fits a row's."""
    text = text_of(sent, name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else None


def paged(sent: Mapping[str, str], before: int) -> str:
    """The address of the next page of the list, with the same filters."""
    return "?" + urlencode({**{name: value for name, value in sent.items() if value}, "before": str(before)})


def without(sent: Mapping[str, str], *names: str) -> str:
    """The same filters without *names*, as the end of an address."""
    return urlencode({name: value for name, value in sent.items() if value and name not in names})


def back(sent: Mapping[str, str]) -> str:
    """The filters under which a form was sent (`back`), to return to; nothing where they are no end of an address."""
    text = sent.get("back", "")
    return text if _QUERY_PART.fullmatch(text) else ""
