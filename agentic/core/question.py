"""The question of one run, with the moment and the place from which it is asked."""

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from agentic.core.answer import Policy
from agentic.core.fence import clean, clean_line
from mailsearch.hits import Filters

_QUERY_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Question:
    """What a caller asks. `filters` are the caller's own; the toolbox applies them, the model is told of them."""

    text: str
    now: datetime
    timezone: str = "UTC"
    policy: Policy = "standard"
    filters: Filters = field(default_factory=Filters)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def first_query(self) -> str:
        """The asker's own words as a search takes them, cut between two of them where they are too many."""
        text = " ".join(self.text.split())
        return text if len(text) <= _QUERY_CHARACTERS else text[:_QUERY_CHARACTERS].rsplit(" ", 1)[0]

    def describe(self) -> str:
        """The question as the model is told it: after everything that is the same in all runs."""
        now = self.now.astimezone(self.zone)
        lines = [f"It is {now:%A}, {now:%Y-%m-%d %H:%M} ({self.timezone})."]
        narrowed = _describe_filters(self.filters)
        if narrowed:
            lines.append(f"All searches are narrowed by the asker: {narrowed}.")
        lines.append(f"Question: {clean(self.text)}")
        return "\n".join(lines)


def _describe_filters(filters: Filters) -> str:
    told = []
    for one in dataclasses.fields(filters):
        value = getattr(filters, one.name)
        if value is None or value == ():
            continue
        if isinstance(value, tuple):
            value = ", ".join(value)
        elif isinstance(value, datetime):
            value = value.isoformat(timespec="minutes")
        told.append(f"{one.name.replace('_', ' ')} {clean_line(str(value))}")
    return "; ".join(told)
