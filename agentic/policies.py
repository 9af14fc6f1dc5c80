"""The limits that hold for a tenant: its own, where it has none the defaults' row, and then what is built in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from agentic import stored
from agentic.caps import Caps
from agentic.core.answer import Policy
from agentic.models import AgentPolicy

STEPS, SECONDS, DAILY_CAP, KEY_SHARE = 6, 8, 500, 100
_CAPS = Caps(DAILY_CAP)


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """What `search.agentic_…` is for a tenant, and how its answers are kept."""

    max_steps: int = STEPS
    max_seconds: int = SECONDS
    # What one day of the tenant's time zone allows; no runs at all switches agentic search off.
    caps: Caps = _CAPS
    verification: Policy = "standard"
    # Whether a chat model is asked about each answer, and may lower it.
    model_judge: bool = False
    # masked withheld full
    removed_text: str = "masked"
    # Days after which the words of runs may be deleted; None keeps them.
    text_days: int | None = None


def effective(tenant: int) -> EffectivePolicy:
    """What holds for *tenant* now."""
    rows = rows_of([tenant])
    return composed(rows.get(tenant), rows.get(None))


async def asked(conn: AsyncConnection[TupleRow], tenant: int) -> AsyncCursor[TupleRow]:
    """Ask what holds for *tenant* now; `told` reads the answer. Within a pipeline it does not wait."""
    # Of several rows of defaults the first counts, so it comes last.
    statement = stored.select(AgentPolicy, "WHERE t.tenant_id = %s OR t.tenant_id IS NULL ORDER BY t.id DESC")
    return await conn.execute(statement, [tenant], prepare=True)


async def told(cursor: AsyncCursor[TupleRow], tenant: int) -> EffectivePolicy:
    """What holds for *tenant*, which `asked` asked for."""
    rows = {row.tenant_id: row for row in stored.made(AgentPolicy, await cursor.fetchall())}
    return composed(rows.get(tenant), rows.get(None))


def rows_of(tenants: Iterable[int]) -> dict[int | None, AgentPolicy]:
    """The rows of *tenants* that have one, and under None that of the defaults."""
    wanted = Q(tenant__in=list(tenants)) | Q(tenant=None)
    # Of several rows of defaults the first counts, so it comes last.
    return {row.tenant_id: row for row in AgentPolicy.objects.filter(wanted).order_by("-pk")}


def composed(own: AgentPolicy | None, defaults: AgentPolicy | None) -> EffectivePolicy:
    """What holds under a tenant's *own* row above that of the *defaults*."""
    chain = [row for row in (own, defaults) if row is not None]
    builtin = EffectivePolicy()
    verification: Policy = "strict" if _first(chain, "verification", builtin.verification) == "strict" else "standard"
    # Who lets nothing stand without a quote is shown nothing unverified either, unless somebody says so.
    removed = "withheld" if verification == "strict" else builtin.removed_text
    return EffectivePolicy(
        max_steps=_given(chain, "agentic_max_steps", STEPS),
        max_seconds=_given(chain, "agentic_max_seconds", SECONDS),
        caps=Caps(
            runs=_given(chain, "agentic_daily_cap", DAILY_CAP),
            tokens=_given(chain, "agentic_daily_tokens", None),
            cost_usd=_given(chain, "agentic_daily_cost_usd", None),
            key_share=_given(chain, "agentic_key_share", KEY_SHARE),
        ),
        verification=verification,
        model_judge=_given(chain, "model_judge", builtin.model_judge),
        removed_text=_first(chain, "removed_text", removed),
        text_days=_given(chain, "audit_text_days", None),
    )


def _given(chain: list[AgentPolicy], name: str, otherwise: Any) -> Any:
    """The first value that is set; 0 is one."""
    return next((value for row in chain if (value := getattr(row, name)) is not None), otherwise)


def _first(chain: list[AgentPolicy], name: str, otherwise: str) -> str:
    values = (getattr(row, name) for row in chain)
    return next((str(value) for value in values if value), otherwise)
