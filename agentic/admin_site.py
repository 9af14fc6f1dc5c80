"""Django's admin, bound to what its reader may see. What the reader may not open is not there."""

from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse

from agentic.reviewers import audited_tenants
from mailsearch.sessions import Binding, bound


class AuditedSite(AdminSite):
    """The admin, each page of it within one transaction that sees the audit of the reader's tenants and no other."""

    site_header = site_title = "mailsearch"
    index_title = "Administration"
    # Lists of questions and sentences need the width.
    enable_nav_sidebar = False
    # "View site": the pages of runs, reviewing and asking.
    site_url = "/"

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        inner = super().admin_view(view, cacheable)

        def audited_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.is_authenticated and not self.has_permission(request):
                raise Http404
            with bound(Binding(audit=audited_tenants(request.user))):
                response = _page(inner, request, *args, **kwargs)
                # Lists are read while the page is rendered, so it must happen in here.
                if isinstance(response, SimpleTemplateResponse):
                    response.render()
                return response

        audited_view.csrf_exempt = True  # type: ignore[attr-defined]  # the inner view is protected
        return audited_view


def _page(view: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    try:
        response: HttpResponse = view(request, *args, **kwargs)
    except PermissionDenied as error:
        raise Http404 from error
    return response
