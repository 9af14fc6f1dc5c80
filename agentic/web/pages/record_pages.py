"""What people did: who read which mail, run or export, and the recorded acts on keys, grants, quarantine and erasure.

Accesses are for administrators of the tenant; acts for whoever may see its audit.
"""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from agentic.models import AccessLog, AdminAct
from agentic.reviewers import Right, administered_tenants
from agentic.web.pages import exports
from agentic.web.pages.filters import number_of, paged, text_of
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound

_PAGE = 100


@require_safe
@opened(Right.ADMINISTER)
async def accesses(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The newest accesses in the tenants that the reader administers; `?of=` one mail, run or reader."""
    listed, older = await in_worker(_accesses, reader, request.GET.dict())
    context = {"listed": listed, "older": older, "of": text_of(request.GET.dict(), "of")}
    return shown(request, reader, "accesses.html", {**context, "files": exports.files(reader, "accesses")})


@require_safe
@opened(Right.AUDIT)
async def acts(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The newest recorded acts."""
    listed, older = await in_worker(_acts, reader, request.GET.dict())
    return shown(request, reader, "acts.html", {"listed": listed, "older": older})


def _accesses(reader: Reader, sent: dict[str, str]) -> tuple[list[AccessLog], str]:
    tenants = administered_tenants(reader.user)
    with bound(Binding(audit=tenants)):
        rows = AccessLog.objects.filter(tenant__in=tenants).select_related("tenant")
        if of := text_of(sent, "of"):
            rows = rows.filter(subjects__contains=[of]) if "_" in of else rows.filter(reader=of)
        return _page(rows, sent)


def _acts(reader: Reader, sent: dict[str, str]) -> tuple[list[AdminAct], str]:
    with bound(Binding(audit=reader.audits)):
        return _page(AdminAct.objects.filter(tenant__in=reader.audits).select_related("tenant", "payload"), sent)


def _page(rows: Any, sent: dict[str, str]) -> tuple[list[Any], str]:
    before = number_of(sent, "before")
    rows = rows if before is None else rows.filter(pk__lt=before)
    found = list(rows.order_by("-pk")[: _PAGE + 1])
    return found[:_PAGE], paged(sent, found[_PAGE - 1].pk) if len(found) > _PAGE else ""
