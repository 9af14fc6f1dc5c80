"""The settings of tenants: all on one screen, one with its history, and the step between asking and changing."""

from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentic import run_page
from agentic.figures import ALERT_PERCENT, DAYS
from agentic.limits import LIMITS
from agentic.reviewers import Right
from agentic.settings_changes import Outdated, change
from agentic.web.pages import settings_forms, settings_view, what_if
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.web.pages.settings_forms import Form, NotAllowed
from agentic.workers import in_worker
from mailsearch.models import Tenant

_HEAD = {"limits": LIMITS, "days": DAYS, "alert": ALERT_PERCENT}


@require_safe
@opened(Right.SETTINGS)
async def settings(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Every tenant that the reader may change, with use against limits."""
    defaults, rows = await in_worker(settings_view.rows, reader)
    done = request.GET.get("changed", "")
    context = {"defaults": defaults, "rows": rows, "changed": done if done.isdigit() and len(done) < 6 else ""}
    return shown(request, reader, "settings.html", {**_HEAD, **context})


@require_safe
@opened(Right.SETTINGS)
async def of_tenant(request: HttpRequest, reader: Reader, slug: str = "") -> HttpResponseBase:
    """One tenant's settings, or without *slug* the defaults, with their history."""
    found = await in_worker(settings_view.page, reader, slug)
    if found is None:
        raise Http404
    context = {"row": found.row, "changes": found.changes, "changed": request.GET.get("changed") == "1"}
    return shown(request, reader, "tenant_settings.html", {**_HEAD, **context})


@require_POST
@opened(Right.SETTINGS)
async def change_settings(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show what would change, before and after; with a reason and a second click, change it."""
    try:
        form = await in_worker(settings_forms.read, reader, request.POST)
        if form.confirmed and form.reason and not form.errors:
            actor = run_page.caller_of(reader.user)
            await in_worker(change, [one.wanted for one in form.proposals], actor, form.reason)
            return HttpResponseRedirect(_afterwards(form))
    except NotAllowed as error:
        raise Http404 from error
    except Outdated as error:
        way = {"owner": error.owner, "address": _address(error.owner)}
        return shown(request, reader, "settings_outdated.html", way, status=409)
    told = await in_worker(what_if.of_proposals, form.proposals) if not form.errors else []
    missing = form.confirmed and not form.reason
    context = {"form": form, "told": told, "missing": missing, "longest": settings_forms.LONGEST_REASON}
    status = 400 if form.errors or missing else 200
    return shown(request, reader, "settings_confirm.html", context, status=status)


@require_safe
@opened(Right.SETTINGS)
async def rehearse(request: HttpRequest, reader: Reader, slug: str) -> HttpResponseBase:
    """How the tenant's newest runs would have ended under other limits; `?end=` lists those of one end."""
    found = await in_worker(what_if.load, reader, slug, request.GET.dict())
    if found is None:
        raise Http404
    return shown(request, reader, "what_if.html", {"found": found})


def _afterwards(form: Form) -> str:
    if len(form.proposals) == 1:
        return _address(form.proposals[0].wanted.owner) + "?changed=1"
    return reverse("tenant-settings") + f"?changed={len(form.proposals)}"


def _address(owner: Tenant | None) -> str:
    return reverse("settings-of", args=[owner.slug]) if owner else reverse("settings-defaults")
