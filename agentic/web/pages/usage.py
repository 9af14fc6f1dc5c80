"""How much is used, without any content: for operators, and for administrators."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Avg, Count, Sum
from django.http import HttpRequest, HttpResponseBase
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from agentic import policies
from agentic.models import DailyUse, RunFinished
from agentic.reviewers import Right, rights
from agentic.web.pages import wording
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound

_DAYS = 14


@dataclass(frozen=True, slots=True)
class TenantUse:
    """A tenant's last days in numbers."""

    tenant: Tenant
    cap: int
    days: tuple[DailyUse, ...]
    outcomes: tuple[tuple[str, int], ...]
    seconds: float
    tokens: int


@require_safe
@opened(Right.USAGE)
async def usage(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Runs, tokens and money by day, against the cap."""
    found = await in_worker(load, reader)
    return shown(request, reader, "usage.html", {"uses": found, "days": _DAYS})


def load(reader: Reader) -> list[TenantUse]:
    """The tenants whose use this person may see."""
    seen = [one.tenant for one in reader.memberships if Right.USAGE in rights(one)]
    with bound(Binding(audit=frozenset(one.pk for one in seen))):
        return [_of(tenant) for tenant in sorted(seen, key=lambda one: one.slug)]


def _of(tenant: Tenant) -> TenantUse:
    since = now() - timedelta(days=_DAYS)
    ended = RunFinished.objects.filter(tenant=tenant, at__gte=since)
    counts = ended.order_by().values_list("outcome").annotate(n=Count("pk")).order_by("outcome")
    whole = ended.aggregate(seconds=Avg("seconds"), sent=Sum("prompt_tokens"), came=Sum("completion_tokens"))
    return TenantUse(
        tenant=tenant,
        cap=policies.effective(tenant.pk).caps.runs,
        days=tuple(DailyUse.objects.filter(tenant=tenant, day__gte=since.date()).order_by("-day")),
        outcomes=tuple((wording.outcome(code), n) for code, n in counts),
        seconds=whole["seconds"] or 0.0,
        tokens=(whole["sent"] or 0) + (whole["came"] or 0),
    )
