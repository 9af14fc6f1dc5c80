"""What a form of settings asks for: which tenants, as they were shown, and which new values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from agentic.limits import LIMITS, Limit, OutOfBounds, Value
from agentic.models import AgentPolicy
from agentic.policies import EffectivePolicy, composed, rows_of
from agentic.settings_changes import Outdated, Wanted, differences, version
from agentic.web.pages.readers import Reader
from agentic.web.pages.settings_view import DEFAULTS, bare, editable
from mailsearch.models import Tenant

LONGEST_REASON = 500


class NotAllowed(Exception):
    """A tenant was named that the reader may not change, or that is not there."""


@dataclass(frozen=True, slots=True)
class Shift:
    """One setting before and after: what is set, and what holds."""

    limit: Limit
    before: str
    after: str
    holds_before: str
    holds_after: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would change for one owner."""

    wanted: Wanted
    number: str
    name: str
    shifts: tuple[Shift, ...]
    before: EffectivePolicy
    after: EffectivePolicy


@dataclass(frozen=True, slots=True)
class Form:
    """A form as it was sent: the proposals, or what is wrong with it."""

    proposals: tuple[Proposal, ...]
    errors: tuple[str, ...]
    # Hidden fields by which the next step says the same again.
    fields: tuple[tuple[str, str], ...]
    reason: str
    confirmed: bool

    @property
    def changes(self) -> bool:
        return any(one.shifts for one in self.proposals)


def read(reader: Reader, sent: QueryDict) -> Form:
    """Raises NotAllowed, and Outdated where somebody changed what was shown."""
    owners = _owners(reader, sent.getlist("owner"))
    whole = sent.get("whole") == "1"
    values, errors = _values(sent, whole)
    if not owners:
        errors.append("Choose at least one tenant.")
    rows = rows_of(one.pk for one in owners if one)
    proposals = tuple(_proposal(one, sent, rows, values) for one in owners)
    if not errors and not any(one.shifts for one in proposals):
        errors.append("Nothing would change: every value is as it was.")
    kept = [
        (name, str(sent[name])) for name in sent if name.startswith(("set:", "inherit:", "version:")) or name == "whole"
    ]
    return Form(
        proposals,
        tuple(errors),
        (*(("owner", one.number) for one in proposals), *kept),
        sent.get("reason", "").replace("\0", "")[:LONGEST_REASON].strip(),
        sent.get("confirmed") == "1",
    )


def _owners(reader: Reader, numbers: Sequence[str]) -> list[Tenant | None]:
    tenants, of_all = editable(reader)
    known: dict[str, Tenant | None] = {str(one.pk): one for one in tenants}
    if of_all:
        known[DEFAULTS] = None
    if any(number not in known for number in numbers):
        raise NotAllowed
    return [known[number] for number in dict.fromkeys(numbers)]


def _values(sent: QueryDict, whole: bool) -> tuple[dict[str, Value], list[str]]:
    """The new values: of a *whole* form all of them, where an empty one inherits; else those that say something."""
    values: dict[str, Value] = {}
    errors = []
    for limit in LIMITS:
        text, inherits = sent.get(f"set:{limit.name}", ""), sent.get(f"inherit:{limit.name}") == "1"
        if text.strip() and inherits:
            errors.append(f"{limit.title}: write a value or let it inherit, not both.")
            continue
        try:
            value = limit.read(text)
        except OutOfBounds as error:
            errors.append(str(error))
            continue
        if value is not None or inherits or (whole and f"set:{limit.name}" in sent):
            values[limit.name] = value
    return values, errors


def _proposal(
    owner: Tenant | None,
    sent: QueryDict,
    rows: Mapping[int | None, AgentPolicy],
    values: Mapping[str, Value],
) -> Proposal:
    number = str(owner.pk) if owner else DEFAULTS
    own, defaults = rows.get(owner.pk if owner else None), rows.get(None) if owner else None
    shown = sent.get(f"version:{number}", "")
    if shown != version(own):
        raise Outdated(owner)
    before, after = composed(own, defaults), composed(bare(own, values), defaults)
    changes = differences(own, values)
    shifts = tuple(
        Shift(
            limit,
            *(_said(limit, value) for value in changes[limit.name]),
            *(limit.words(limit.held(policy)) for policy in (before, after)),
        )
        for limit in LIMITS
        if limit.name in changes
    )
    name = owner.name if owner else "Defaults of all tenants"
    return Proposal(Wanted(owner, shown, values), number, name, shifts, before, after)


def _said(limit: Limit, value: Value) -> str:
    return "inherited" if value is None else limit.words(value)
