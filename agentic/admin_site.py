"""Django's admin, bound to what its reader may see."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse

from agentic.reviewers import audited_tenants
from mailsearch.sessions import Binding, bound


class AuditedSite(AdminSite):
    """The admin, each page of it within one transaction that sees the audit of the reader's tenants and no other."""

    site_header = site_title = "mailsearch"
    index_title = "Administration and audit"
    # Lists of questions and sentences need the width.
    enable_nav_sidebar = False
    site_url = None

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        inner = super().admin_view(view, cacheable)

        def audited_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            with bound(Binding(audit=audited_tenants(request.user))):
                response: HttpResponse = inner(request, *args, **kwargs)
                # Lists are read while the page is rendered, so it must happen in here.
                if isinstance(response, SimpleTemplateResponse):
                    response.render()
                return response

        audited_view.csrf_exempt = True  # type: ignore[attr-defined]  # the inner view is protected
        return audited_view
