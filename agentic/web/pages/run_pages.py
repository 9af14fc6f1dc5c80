"""The list of runs, and the page of one: for auditors and administrators of its tenant, and for whoever asked."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from agentic import accesses, chain, run_page, trends
from agentic.chain import ChainState
from agentic.models import Run, RunFinished, RunState
from agentic.reviewers import Right
from agentic.run_page import RunRows
from agentic.web.pages import exports, run_view, scopes, wording
from agentic.web.pages.filters import Choices, day_of, number_of, paged, text_of
from agentic.web.pages.opening import address_of, opened, shown
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound

_PAGE = 50
_LONGEST_ID = 60
TABS = {
    "answer": "Answer",
    "drafts": "Drafts",
    "evidence": "Evidence",
    "widen": "Widen attempts",
    "events": "Events as JSON",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in the list."""

    run: Run
    outcome: str
    end: RunFinished | None
    address: str


@require_safe
@opened(Right.AUDIT, Right.OWN_RUNS)
async def run(request: HttpRequest, reader: Reader, run: str) -> HttpResponseBase:
    """One run; `?tab=` chooses what stands beside its time line."""
    loaded = await in_worker(_load, reader, run[:_LONGEST_ID])
    if loaded is None:
        raise Http404
    rows, scope, state = loaded
    tab = request.GET.get("tab", "")
    context = {
        "view": run_view.of(rows, scope),
        "tabs": TABS,
        "tab": tab if tab in TABS else "answer",
        "export": address_of("run-export", run),
        "chain": state,
    }
    return shown(request, reader, "run.html", context)


@require_safe
@opened(Right.AUDIT, Right.OWN_RUNS)
async def runs(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The newest runs, filtered by outcome, tenant, model and day."""
    listed, choices, older = await in_worker(load, reader, request.GET.dict())
    files = exports.files(reader, "runs", text_of(request.GET.dict(), "tenant"))
    context = {"listed": listed, "choices": choices, "older": older, "files": files}
    return shown(request, reader, "runs.html", context)


def _load(reader: Reader, public_id: str) -> tuple[RunRows, str, ChainState] | None:
    rows = run_page.load(reader.user, public_id)
    if rows is None:
        return None
    kept = rows.record.run
    with bound(Binding(audit=frozenset({kept.tenant_id}))):
        state = chain.state(kept)
    accesses.note(kept.tenant_id, run_page.caller_of(reader.user), reader.name, "run", [kept.public_id])
    return rows, scopes.of_run(kept.scope, kept.filters, kept.tenant_id), state


def load(reader: Reader, sent: dict[str, str]) -> tuple[list[Listed], list[Choices], str]:
    """A page of the list, what it may be filtered by, and where older runs are listed (empty if there are none)."""
    own = run_page.asking_tenants(reader.user)
    with bound(Binding(audit=reader.audits | own)):
        mine = Q(tenant__in=own, caller=run_page.caller_of(reader.user))
        rows = _filtered(Run.objects.filter(mine | Q(tenant__in=reader.audits)), reader, sent)
        page = list(rows.select_related("state", "tenant").prefetch_related("runfinisheds")[: _PAGE + 1])
    read: dict[int, list[str]] = defaultdict(list)
    for one in page[:_PAGE]:
        read[one.tenant_id].append(one.public_id)
    accesses.note_each(read, run_page.caller_of(reader.user), reader.name, "runs")
    listed = [_listed(one) for one in page[:_PAGE]]
    return listed, _choices(reader, sent), paged(sent, page[_PAGE - 1].pk) if len(page) > _PAGE else ""


def _filtered(rows: QuerySet[Run], reader: Reader, sent: dict[str, str]) -> QuerySet[Run]:
    ends = RunFinished.objects.filter(run=OuterRef("pk"))
    outcome, tenant = text_of(sent, "outcome"), text_of(sent, "tenant")
    if outcome == "unfinished":
        rows = rows.filter(Exists(RunState.objects.filter(run=OuterRef("pk"), status__in=("queued", "running"))))
    elif outcome:
        rows = rows.filter(Exists(ends.filter(outcome=outcome)))
    if text_of(sent, "quotes") == "none":
        # What the verifier's alarm of the overview counts.
        rows = rows.filter(pk__in=trends.unquoted(reader.audits))
    if tenant:
        rows = rows.filter(tenant__in=[one.pk for one in reader.audited if one.slug == tenant])
    if model := text_of(sent, "model"):
        rows = rows.filter(model=model)
    since, until = day_of(sent, "since"), day_of(sent, "until", end=True)
    rows = rows.filter(started_at__gte=since) if since else rows
    rows = rows.filter(started_at__lt=until) if until else rows
    # Numbers rise with time, so that a page begins where the one before ended.
    before = number_of(sent, "before")
    rows = rows if before is None else rows.filter(pk__lt=before)
    return rows.order_by("-pk")


def _choices(reader: Reader, sent: dict[str, str]) -> list[Choices]:
    outcomes = [*wording.OUTCOMES.items(), ("unfinished", "Not finished")]
    tenants = [(one.slug, one.name) for one in reader.audited] if len(reader.audited) > 1 else []
    made = [Choices("outcome", "Outcome", outcomes, text_of(sent, "outcome"))]
    made += [Choices("tenant", "Tenant", tenants, text_of(sent, "tenant"))] if tenants else []
    return made


def _listed(run: Run) -> Listed:
    end: Any = next(iter(run.runfinisheds.all()), None)
    outcome = wording.outcome(end.outcome if end else None, run.state.status)
    return Listed(run, outcome, end, address_of("run-page", run.public_id))
