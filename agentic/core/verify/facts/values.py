"""One fact as it was found, and its canonical value."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Kind = Literal["number", "percent", "money", "date", "weekday", "time", "identifier", "email", "url", "domain", "phone"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A typed value. `start`, `end` are offsets in the normal form that it was found in; `text` is what stands there.

    `value` is a Decimal for numbers, percentages and amounts (or the literal form where that can be read in two ways),
    (year, month, day) with 0 for what is not said, (hour, minute, second) for times, else the canonical string.
    `unit` is a currency, a unit of measure, or a time zone; empty where none is named.
    """

    kind: Kind
    value: Decimal | str | int | tuple[int, int, int]
    text: str
    start: int
    end: int
    unit: str = ""
    # A number written as a word; a time that may mean morning or evening.
    worded: bool = False
    twelve: bool = False
    # A word follows directly ("5 rooms"), so the number counts that, not money.
    counts: bool = False
    # Said by the head of a message, not by its text: a day there is no month or weekday that the text names.
    head: bool = False
    # The digits of a number that names a version or section: 2.10 is not 2.1 there.
    literal: str = ""
