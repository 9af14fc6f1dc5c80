"""`/v1/audit/…`: the tenant's audit as files, for who holds `audit:read`."""

from collections.abc import AsyncIterator
from datetime import datetime
from zoneinfo import ZoneInfo

from django.http import HttpResponseBase, StreamingHttpResponse
from rest_framework.request import Request

from agentic import exporting
from agentic.callers import scope_at_once
from agentic.exporting import FORMS, MEDIA_TYPES, WHAT, Exporter, Form, What
from agentic.web.parameters import Parameter
from agentic.web.problems import Problem
from agentic.web.views import ApiView
from agentic.workers import in_worker
from mailsearch.models import Permission, Tenant

_PARAMETERS = {
    "format": Parameter(f"How the rows are written: {' or '.join(FORMS)}.", default="jsonl", longest=5),
    "since": Parameter("Rows from this day or moment on: 2026-03-14, 2026-03-14T09:00+01:00.", default="", longest=40),
}


class ExportView(ApiView):
    """A table of the audit."""

    permission = Permission.AUDIT_READ
    parameters = {"get": _PARAMETERS}

    async def get(self, request: Request, what: str) -> HttpResponseBase:
        """All rows of `runs`, `sentences`, `widen_attempts` or `accesses`, streamed. The export is recorded.

        Words that the caller may not read now are left out. The last line is where the tenant's chain stood.
        """
        kind = next((one for one in WHAT if one == what), None)
        if kind is None:
            raise Problem("not-found")
        form = next((one for one in FORMS if one == self.query["format"]), None)
        if form is None:
            raise Problem("invalid-request", errors=[{"field": "format", "message": f"One of {', '.join(FORMS)}."}])
        since = await in_worker(_moment, self.principal.tenant, self.query["since"])
        # An export shows mail only to who may also read it.
        scope = await scope_at_once(self.principal, Permission.SEARCH_READ)
        principal = self.principal
        exporter = Exporter(principal.tenant, principal.caller, principal.label, "rest", scope)
        return file_of(exporter, kind, form, since)


def file_of(exporter: Exporter, what: What, form: Form, since: datetime | None = None) -> HttpResponseBase:
    """The response that streams an export."""
    lines: AsyncIterator[str] = exporting.export(exporter, what, form, since)
    response = StreamingHttpResponse(lines, content_type=MEDIA_TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{what}.{form}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["X-Accel-Buffering"] = "no"
    return response


def _moment(tenant: int, text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        message = "Write a day or a moment: 2026-03-14, 2026-03-14T09:00+01:00."
        raise Problem("invalid-request", errors=[{"field": "since", "message": message}]) from error
    zone = Tenant.objects.values_list("timezone", flat=True).get(pk=tenant)
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))
