"""The audit as files, for auditors and administrators of its tenant; and one run as JSON for whoever may open it."""

from dataclasses import asdict, dataclass

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_safe

from agentic import accesses, chain, responses, run_page
from agentic.cells import plain
from agentic.exporting import FORMS, WHAT, Exporter, What
from agentic.mailjson import Json
from agentic.reviewers import Right, mail_scope
from agentic.web.audit_api import file_of
from agentic.web.pages.opening import address_of, opened
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound

_LONGEST_ID = 60


@require_safe
@opened(Right.AUDIT)
async def audit(request: HttpRequest, reader: Reader, what: str, form: str) -> HttpResponseBase:
    """One table of the audit of `?tenant=` (else the tenant that is acted in), as a file."""
    kinds, forms = [one for one in WHAT if one == what], [one for one in FORMS if one == form]
    slug = request.GET.get("tenant", reader.tenant.slug)
    tenant = next((one for one in reader.audited if one.slug == slug), None)
    if tenant is None or not kinds or not forms:
        raise Http404
    scope = await in_worker(mail_scope, reader.user, tenant.pk)
    name = run_page.caller_of(reader.user)
    return file_of(Exporter(tenant.pk, name, reader.name, "page", scope), kinds[0], forms[0])


@require_safe
@opened(Right.AUDIT, Right.OWN_RUNS)
async def run(request: HttpRequest, reader: Reader, run: str) -> HttpResponseBase:
    """A run as the API gives it, with the state of its chain."""
    told = await in_worker(_told, reader, run[:_LONGEST_ID])
    if told is None:
        raise Http404
    response = JsonResponse(told, json_dumps_params={"ensure_ascii": False, "indent": 1})
    response["Content-Disposition"] = 'attachment; filename="run.json"'
    return response


@dataclass(frozen=True, slots=True)
class Files:
    """Where a table of a tenant's audit is to be had as a file."""

    tenant: Tenant
    csv: str
    jsonl: str


def files(reader: Reader, what: What, slug: str = "") -> Files | None:
    """The files of the tenant *slug*, else of the one that is acted in; None where the reader audits none."""
    wanted = slug or (reader.membership.tenant.slug if reader.membership else "")
    tenant = next((one for one in reader.audited if one.slug == wanted), next(iter(reader.audited), None))
    if tenant is None:
        return None
    csv, jsonl = (f"{address_of('audit-export', what, form)}?tenant={tenant.slug}" for form in FORMS)
    return Files(tenant, csv, jsonl)


def _told(reader: Reader, public_id: str) -> Json | None:
    rows = run_page.load(reader.user, public_id)
    if rows is None:
        return None
    kept = rows.record.run
    with bound(Binding(audit=frozenset({kept.tenant_id}))):
        state = asdict(chain.state(kept))
    accesses.note(kept.tenant_id, run_page.caller_of(reader.user), reader.name, "export", [kept.public_id])
    return {**responses.build(rows.record), "question": kept.question, "chain": plain(state)}
