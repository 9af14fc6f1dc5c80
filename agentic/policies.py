"""The limits that hold for a tenant: its own, where it has none the defaults' row, and then what is built in."""

from dataclasses import dataclass

from agentic.core.answer import Policy
from agentic.models import AgentPolicy

STEPS, SECONDS, DAILY_CAP = 6, 8, 500


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """`search.agentic_max_steps`, `search.agentic_max_seconds`, `search.agentic_daily_cap` and how answers are kept."""

    max_steps: int = STEPS
    max_seconds: int = SECONDS
    # Runs that may start in one day of the tenant's time zone; 0 switches them off.
    daily_cap: int = DAILY_CAP
    verification: Policy = "standard"
    # masked withheld full
    removed_text: str = "masked"


def effective(tenant: int) -> EffectivePolicy:
    """What holds for *tenant* now."""
    rows = {row.tenant_id: row for row in AgentPolicy.objects.filter(tenant=tenant)}
    rows |= {row.tenant_id: row for row in AgentPolicy.objects.filter(tenant=None).order_by("-pk")}
    chain = [rows[key] for key in (tenant, None) if key in rows]
    builtin = EffectivePolicy()
    verification: Policy = "strict" if _first(chain, "verification", builtin.verification) == "strict" else "standard"
    # Who lets nothing stand without a quote is shown nothing unverified either, unless somebody says so.
    removed = "withheld" if verification == "strict" else builtin.removed_text
    return EffectivePolicy(
        max_steps=next((row.agentic_max_steps for row in chain if row.agentic_max_steps is not None), STEPS),
        max_seconds=next((row.agentic_max_seconds for row in chain if row.agentic_max_seconds is not None), SECONDS),
        daily_cap=next((row.agentic_daily_cap for row in chain if row.agentic_daily_cap is not None), DAILY_CAP),
        verification=verification,
        removed_text=_first(chain, "removed_text", removed),
    )


def _first(chain: list[AgentPolicy], name: str, otherwise: str) -> str:
    values = (getattr(row, name) for row in chain)
    return next((str(value) for value in values if value), otherwise)
