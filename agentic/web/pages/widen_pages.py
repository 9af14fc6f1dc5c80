"""Widen attempts: what models asked for beyond their scope, and which mail may have told them to."""

from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentic.reviewers import Right
from agentic.web.pages import exports, widening
from agentic.web.pages.filters import back, text_of, without
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker

_LONGEST_NOTE = 2000


@require_safe
@opened(Right.AUDIT)
async def widen_attempts(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The groups, those not yet seen first asked for."""
    found = await in_worker(widening.load, reader, request.GET.dict())
    sent = request.GET.dict()
    context = {"found": found, "choices": found.choices, "back": without(sent), "most": widening.MOST}
    context["files"] = exports.files(reader, "widen_attempts", text_of(sent, "tenant"))
    return shown(request, reader, "widen.html", context)


@require_POST
@opened(Right.AUDIT)
async def seen(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Mark a group as seen, with a note."""
    number = request.POST.get("attempt", "")
    if not (number.isascii() and number.isdigit() and len(number) < 18):
        raise Http404
    text = request.POST.get("note", "").replace("\0", "")[:_LONGEST_NOTE].strip()
    if not await in_worker(widening.add_seen, reader, int(number), text):
        raise Http404
    return HttpResponseRedirect(f"{reverse('widen-attempts')}?{back(request.POST)}")
