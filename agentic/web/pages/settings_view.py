"""What the pages of settings show: for each tenant what holds, where it comes from, and how far it is used."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from agentic import figures
from agentic.figures import ALERT_PERCENT, Used, percent
from agentic.limits import LIMITS, Limit, Value
from agentic.models import AgentPolicy
from agentic.policies import EffectivePolicy, composed, rows_of
from agentic.reviewers import administered_tenants
from agentic.settings_changes import SettingsChange, history, version
from agentic.web.pages.readers import Reader
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound

# How the defaults' row is named in forms; tenants are by their number.
DEFAULTS = "0"


@dataclass(frozen=True, slots=True)
class Use:
    """How far a limit is used, in words and per cent; with the share from which on people are told."""

    words: str
    percent: int

    @property
    def alerts(self) -> bool:
        return self.percent >= ALERT_PERCENT

    @property
    def bar(self) -> int:
        return min(100, self.percent)


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of one tenant."""

    limit: Limit
    own: bool
    # What holds, and what would hold without a value of its own.
    held: str
    inherited: str
    # As the form shows the tenant's own value.
    written: str
    use: Use | None


@dataclass(frozen=True, slots=True)
class Row:
    """The settings of a tenant, or of the defaults where `tenant` is None."""

    tenant: Tenant | None
    number: str
    version: str
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        return self.tenant.name if self.tenant else "Defaults of all tenants"

    @property
    def alerts(self) -> int:
        return sum(cell.use is not None and cell.use.alerts for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Page:
    """One tenant's settings with their history."""

    row: Row
    changes: tuple[SettingsChange, ...]


def editable(reader: Reader) -> tuple[list[Tenant], bool]:
    """The tenants whose settings the reader may change, by name; and whether those of the defaults, too."""
    of_all = bool(getattr(reader.user, "is_superuser", False))
    tenants = Tenant.objects.order_by("slug")
    return list(tenants if of_all else tenants.filter(pk__in=administered_tenants(reader.user))), of_all


def rows(reader: Reader) -> tuple[list[Row], list[Row]]:
    """The defaults (nothing for who may not change them), and all tenants that the reader may change."""
    tenants, of_all = editable(reader)
    listed = _rows(tenants)
    return [_row(None, rows_of(()), Used())] if of_all else [], listed


def page(reader: Reader, slug: str) -> Page | None:
    """The settings of the tenant *slug*, of the defaults where it is empty; None where the reader may not."""
    tenants, of_all = editable(reader)
    if not slug:
        return Page(_row(None, rows_of(()), Used()), _history(None, tenants)) if of_all else None
    tenant = next((one for one in tenants if one.slug == slug), None)
    if tenant is None:
        return None
    return Page(_rows([tenant])[0], _history(tenant, [tenant]))


def _history(tenant: Tenant | None, seen: Iterable[Tenant]) -> tuple[SettingsChange, ...]:
    with bound(Binding(audit=frozenset(one.pk for one in seen))):
        return tuple(history(tenant))


def _rows(tenants: list[Tenant]) -> list[Row]:
    ids = [one.pk for one in tenants]
    with bound(Binding(audit=frozenset(ids))):
        used = figures.used(ids)
    policies = rows_of(ids)
    return [_row(one, policies, used.get(one.pk, Used())) for one in tenants]


def _row(tenant: Tenant | None, policies: Mapping[int | None, AgentPolicy], used: Used) -> Row:
    own = policies.get(tenant.pk if tenant else None)
    held = composed(own if tenant else None, policies.get(None))
    cells = tuple(_cell(limit, own, policies.get(None) if tenant else None, held, used) for limit in LIMITS)
    return Row(tenant, str(tenant.pk) if tenant else DEFAULTS, version(own), cells)


def _cell(
    limit: Limit, own: AgentPolicy | None, defaults: AgentPolicy | None, held: EffectivePolicy, used: Used
) -> Cell:
    value: Value = getattr(own, limit.name) if own else None
    return Cell(
        limit,
        value is not None,
        limit.words(limit.held(held)),
        without(limit, own, defaults),
        limit.written(value),
        use_of(limit.name, held, used),
    )


def without(limit: Limit, own: AgentPolicy | None, defaults: AgentPolicy | None) -> str:
    """What would hold of *limit* if the row *own* did not set it."""
    return limit.words(limit.held(composed(bare(own, {limit.name: None}), defaults)))


def bare(own: AgentPolicy | None, values: Mapping[str, Value]) -> AgentPolicy:
    """A row as *own* with other *values*, that is never saved."""
    kept = {one.name: getattr(own, one.name) for one in LIMITS} if own else {}
    return AgentPolicy(**{**kept, **values})


def use_of(name: str, held: EffectivePolicy, used: Used) -> Use | None:
    """How far the setting *name* is used; None where that is nothing to count, or where there is no cap."""
    part, whole, words = _USES[name](held, used) if name in _USES else (None, None, "")
    share = percent(part, whole)
    return None if share is None else Use(f"{words} {share} %", share)


_Amount = float | Decimal | None
# What is used, of how much, and what that is called.
_USES: Mapping[str, Callable[[EffectivePolicy, Used], tuple[_Amount, _Amount, str]]] = {
    "agentic_max_steps": lambda held, used: (used.steps_p95, held.max_steps, "p95 uses"),
    "agentic_max_seconds": lambda held, used: (used.seconds_p95, held.max_seconds, "p95 uses"),
    "agentic_daily_cap": lambda held, used: (used.runs, held.caps.runs, f"today {used.runs:,},"),
    "agentic_daily_tokens": lambda held, used: (used.tokens, held.caps.tokens, f"today {used.tokens:,},"),
    "agentic_daily_cost_usd": lambda held, used: (used.cost_usd, held.caps.cost_usd, f"today {used.cost_usd:.2f},"),
    "agentic_key_share": lambda held, used: (
        used.runs_of_one,
        held.caps.share.runs if held.caps.runs else None,
        f"the busiest today {used.runs_of_one:,},",
    ),
}
