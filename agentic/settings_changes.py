"""Changes of tenants' settings: each with its reason, refused where somebody else was faster, and on record for good.

A change is an act (AdminAct) of the kind CHANGED in the tenant's signed chain: who, when by the database's clock, what
stood there before and after, and why. A change of the defaults is one in the chain of every tenant.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from agentic.limits import BY_NAME, LIMITS, Value
from agentic.models import AdminAct, AgentPolicy
from agentic.policies import rows_of
from mailsearch.models import Tenant

CHANGED = "settings changed"
DEFAULTS_CHANGED = "default settings changed"
_NEWEST = 50
# Any number that nothing else in this database locks.
_LOCK = 1633903476


class Outdated(Exception):
    """The settings were changed since they were shown. `owner` is None for the defaults."""

    def __init__(self, owner: Tenant | None) -> None:
        super().__init__("These settings were changed since they were shown; look at them again.")
        self.owner = owner


@dataclass(frozen=True, slots=True)
class Wanted:
    """New values for the settings of *owner*, None for the defaults, as they were shown at *version*."""

    owner: Tenant | None
    version: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change as it stands on record: name of the setting, what was set before and after in words."""

    at: datetime
    actor: str
    reason: str
    reason_erased: bool
    of_defaults: bool
    fields: tuple[tuple[str, str, str], ...]


def version(policy: AgentPolicy | None) -> str:
    """What changes with every change of the row; the same for all tenants without one."""
    if policy is None:
        return "none"
    kept = [str(policy.updated_at.timestamp()), *(str(getattr(policy, one.name)) for one in LIMITS)]
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:32]


def change(wanted: Sequence[Wanted], actor: str, reason: str) -> int:
    """Set what is *wanted*, all of it or nothing; it counts for runs that start from then on. Returns how many changed.

    Raises Outdated, and ValueError without a reason.
    """
    if not reason.strip():
        raise ValueError("A change needs a reason.")
    changed = 0
    with transaction.atomic():
        _alone()
        rows = rows_of(one.owner.pk for one in wanted if one.owner)
        # In one order, as each act holds its tenant's chain until all are written.
        for one in sorted(wanted, key=lambda one: one.owner.pk if one.owner else 0):
            policy = rows.get(one.owner.pk if one.owner else None)
            if version(policy) != one.version:
                raise Outdated(one.owner)
            changed += _set(policy or AgentPolicy(tenant=one.owner), one.values, actor, reason.strip())
    return changed


def differences(policy: AgentPolicy | None, values: Mapping[str, Value]) -> dict[str, tuple[Value, Value]]:
    """The settings of *values* that are not so already: before and after; None inherits."""
    before = {name: getattr(policy, name) if policy else None for name in values}
    return {name: (before[name], value) for name, value in values.items() if before[name] != value}


def history(tenant: Tenant | None) -> list[SettingsChange]:
    """The newest changes for a tenant, those of the defaults among them; of the defaults alone for None.

    Within a session that may see the audit: of the tenant, or for None of any.
    """
    acts = AdminAct.objects.select_related("payload").order_by("-pk")
    if tenant is not None:
        return [_told(act) for act in acts.filter(tenant=tenant, act__in=(CHANGED, DEFAULTS_CHANGED))[:_NEWEST]]
    # Every tenant has them; one is enough.
    newest = acts.filter(act=DEFAULTS_CHANGED).first()
    return (
        [_told(act) for act in acts.filter(tenant=newest.tenant_id, act=DEFAULTS_CHANGED)[:_NEWEST]] if newest else []
    )


def _alone() -> None:
    """Wait until nobody else changes settings: a row that is not there yet can't be locked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _set(policy: AgentPolicy, values: Mapping[str, Value], actor: str, reason: str) -> int:
    changes = differences(policy, values)
    if not changes:
        return 0
    for name, (_, value) in changes.items():
        setattr(policy, name, value)
    policy.save()
    detail = {
        "before": {name: _plain(before) for name, (before, _) in changes.items()},
        "after": {name: _plain(after) for name, (_, after) in changes.items()},
    }
    for tenant in [policy.tenant] if policy.tenant else Tenant.objects.order_by("pk"):
        act = CHANGED if policy.tenant else DEFAULTS_CHANGED
        AdminAct.objects.create(tenant=tenant, actor=actor, act=act, detail=detail, reason=reason)
    return 1


def _plain(value: Value) -> Any:
    """As JSON: amounts as text, so that none is rounded."""
    return value if value is None or isinstance(value, bool | int) else str(value)


def _told(act: AdminAct) -> SettingsChange:
    before, after = act.detail.get("before", {}), act.detail.get("after", {})
    fields = tuple(
        (BY_NAME[name].title, _said(before.get(name)), _said(after.get(name))) for name in after if name in BY_NAME
    )
    return SettingsChange(act.at, act.actor, act.reason, act.erased, act.act == DEFAULTS_CHANGED, fields)


def _said(value: Any) -> str:
    if value is None:
        return "inherited"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
