"""Whether one fact, as the mail has it, supports another, as an answer claims it."""

import re
from datetime import date
from decimal import Decimal

from agentic.core.verify.facts.numbers import same_unit
from agentic.core.verify.facts.values import Fact


def supports(source: Fact, claim: Fact, year: int, units: frozenset[str] = frozenset()) -> bool:
    """Whether *source* says what *claim* says, or more exactly.

    *year* stands for a year that the mail leaves out (that of its receipt). *units* are the currencies and units that
    the source's part names anywhere: a bare number in a table may be of one of them.
    """
    if claim.kind == "date":
        return source.kind == "date" and _same_date(source, claim, year)
    if claim.kind == "weekday":
        return _same_weekday(source, claim, year)
    if claim.kind == "time":
        return source.kind == "time" and _same_time(source, claim)
    if claim.kind in ("number", "percent", "money"):
        if source.kind == "identifier":
            # "Order 4021377 belongs to Ann" reads as a count of something; the mail has the digits by themselves.
            return is_numeral(claim) and source.value == claim.text
        return _same_number(source, claim, units)
    return _same_token(source, claim)


def _same_date(source: Fact, claim: Fact, year: int) -> bool:
    if not isinstance(source.value, tuple) or not isinstance(claim.value, tuple):
        return source.value == claim.value
    if source.head and not claim.value[2]:
        return False
    stated = (source.value[0] or year, source.value[1], source.value[2])
    wanted = claim.value
    if wanted[0] and wanted[0] != stated[0]:
        return False
    if wanted[1] != stated[1]:
        return False
    return not wanted[2] or wanted[2] == stated[2]


def _same_weekday(source: Fact, claim: Fact, year: int) -> bool:
    if source.kind == "weekday":
        return source.value == claim.value
    if source.kind != "date" or source.head or not isinstance(source.value, tuple) or not source.value[2]:
        return False
    try:
        return date(source.value[0] or year, source.value[1], source.value[2]).isoweekday() == claim.value
    except ValueError:
        return False


def _same_time(source: Fact, claim: Fact) -> bool:
    if source.unit and claim.unit and source.unit != claim.unit:
        return False
    if source.value == claim.value:
        return True
    if claim.twelve and isinstance(source.value, tuple) and isinstance(claim.value, tuple):
        # "at 5:00" where the mail says "5:00 pm".
        return (source.value[0] % 12, *source.value[1:]) == (claim.value[0] % 12, *claim.value[1:])
    return False


def _same_number(source: Fact, claim: Fact, units: frozenset[str]) -> bool:
    if source.kind == "date":
        return (
            not source.head
            and _is_year(claim)
            and isinstance(source.value, tuple)
            and Decimal(source.value[0]) == claim.value
        )
    if source.kind == "percent" and claim.worded and claim.kind == "number" and isinstance(claim.value, Decimal):
        # "half of the price" where the mail says 50 %.
        return 0 < claim.value < 1 and source.value == claim.value * 100
    if source.kind not in ("number", "percent", "money") or source.value != claim.value:
        return False
    if source.literal and claim.literal and source.literal != claim.literal:
        return False
    if source.unit and claim.unit:
        return same_unit(source.unit, claim.unit)
    if claim.unit:
        # "3 rooms" are no 3 m², though the part names that unit elsewhere.
        return not source.counts and any(same_unit(unit, claim.unit) for unit in units)
    if source.kind == "number":
        return not (claim.counts and source.unit)
    return not claim.counts


def _is_year(claim: Fact) -> bool:
    return (
        claim.kind == "number" and not claim.unit and isinstance(claim.value, Decimal) and 1600 <= claim.value <= 2199
    )


def _same_token(source: Fact, claim: Fact) -> bool:
    if claim.kind == "domain":
        value = str(source.value)
        if source.kind == "email":
            return value.rsplit("@", 1)[-1] == claim.value
        if source.kind == "url":
            return value.split("/", 1)[0].split(":", 1)[0] == claim.value
    if source.kind in ("identifier", "phone") and claim.kind in ("identifier", "phone"):
        return source.value == claim.value
    if claim.kind == "identifier" and source.kind in ("number", "money") and is_long(claim):
        # A long number without a separator is one form of what may be an amount; zeros before it are part of a name.
        named = str(claim.value).startswith("0") or source.text.startswith("0")
        return source.text == claim.value if named else source.value == Decimal(str(claim.value))
    return source.kind == claim.kind and source.value == claim.value


def is_long(fact: Fact) -> bool:
    """Whether an identifier is nothing but digits and could be a number."""
    return fact.kind == "identifier" and re.fullmatch(r"[0-9]+", str(fact.value)) is not None


def is_numeral(fact: Fact) -> bool:
    """Whether a number is nothing but five digits and more, as an identifier could be."""
    return fact.kind == "number" and not fact.unit and re.fullmatch(r"[0-9]{5,}", fact.text) is not None


def family(fact: Fact) -> tuple[str, str]:
    """Facts of one family could contradict each other: two amounts, two dates, two numbers of days."""
    if fact.kind in ("money", "percent", "date", "time", "weekday"):
        return fact.kind, ""
    return fact.kind, fact.unit
