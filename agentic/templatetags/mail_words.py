"""Filters for what mail and runs say: text without unseen signs, dates and durations in words."""

import json
import re
from datetime import datetime
from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agentic.core.verify.form import visible

register = template.Library()
# A browser lays out a word of many thousand letters in many seconds, unless it is told where it may be broken.
_LONG = re.compile(r"\S{80}(?=\S)")


@register.filter
def plain(text: object) -> str:
    """A stranger's *text* without the signs that no reader sees or that turn it around; the template escapes it."""
    return visible(str(text)) if text is not None else ""


@register.filter
def line(text: object) -> str:
    """The same on one line, for subjects, names and addresses."""
    return " ".join(plain(text).split())


@register.filter
def foldable(text: object) -> SafeString:
    """*text* escaped, with places inside of very long words at which a line may end. For text, never for attributes."""
    whole, pieces, start = str(text), [], 0
    for found in _LONG.finditer(whole):
        pieces.append((whole[start : found.end()],))
        start = found.end()
    return format_html_join(SafeString("<wbr>"), "{}", [*pieces, (whole[start:],)])


@register.filter
def day(value: object) -> str:
    """A moment, or ISO 8601, as `14 Mar 2026` on its own clock."""
    moment = _moment(value)
    return f"{moment.day} {moment:%b} {moment.year}" if moment else ""


@register.filter
def moment(value: object) -> str:
    """A moment, or ISO 8601, as `14 Mar 2026, 09:12 +01:00` on its own clock."""
    found = _moment(value)
    if found is None:
        return ""
    offset = found.strftime("%z")
    zone = "UTC" if offset in ("", "+0000") else f"{offset[:3]}:{offset[3:5]}"
    return f"{day(found)}, {found:%H:%M} {zone}"


@register.filter
def seconds(value: object) -> str:
    """Seconds as `3.2 s`, below one as `45 ms`."""
    number = float(value) if isinstance(value, int | float) else 0.0
    return f"{number:.1f} s" if number >= 1 else f"{1000 * number:.0f} ms"


@register.filter
def as_json(value: Any) -> str:
    """A value as indented JSON, to be escaped like any text."""
    return plain(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def _moment(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value)) if value else None
    except ValueError:
        return None
