"""/ask: a question or a search, what came of it, and one's own history.

Without script a question is a form that is sent and answered by the page of its run. With script the same form gets
the run's id at once, and the page follows the run's events.
"""

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import (
    Http404,
    HttpRequest,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
    StreamingHttpResponse,
)
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentic import accesses, answering, records, responses, runs, stream
from agentic.callers import Principal
from agentic.mailjson import Json
from agentic.models import Run
from agentic.reviewers import Right
from agentic.web import problems, search_api
from agentic.web.pages import ask_form, results, wording
from agentic.web.pages.ask_form import Chosen
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound

_HISTORY = 20
_LONGEST_ID = 60


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run of the reader's own history."""

    question: str
    address: str
    outcome: str
    started_at: Any


@require_http_methods(["GET", "HEAD", "POST"])
@opened(Right.ASK, Right.SEARCH)
async def ask(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The form with what came of it: nothing yet, a run (`?run=`), or the hits of a search."""
    if request.method == "POST":
        return await _sent(request, reader)
    run = request.GET.get("run", "")[:_LONGEST_ID]
    if not run:
        return await _page(request, reader, Chosen(), {})
    record = await records.load(reader.acting, run, own_only=True)
    if record is None:
        raise Http404
    await accesses.record(reader.acting, "run", [run], "page")
    result = results.of(responses.build(record))
    return await _page(request, reader, ask_form.of_run(record.run), {"result": result, "events": _events(run)})


@require_safe
@opened(Right.ASK)
async def events(request: HttpRequest, reader: Reader, run: str) -> HttpResponseBase:
    """What happens in the reader's own run, as it happens (SSE)."""
    try:
        after = stream.last_event(request.headers.get("Last-Event-ID", ""), run)
    except stream.UnreadableLastEventId as error:
        raise Http404 from error
    if await records.load(reader.acting, run, own_only=True) is None:
        raise Http404
    await accesses.record(reader.acting, "events", [run], "page")
    response = StreamingHttpResponse(stream.follow(reader.acting, run, after), content_type="text/event-stream")
    response["X-Accel-Buffering"] = "no"
    return response


@require_POST
@opened(Right.ASK)
async def cancel(request: HttpRequest, reader: Reader, run: str) -> HttpResponseBase:
    """End the reader's own run soon."""
    if not await runs.cancel(reader.acting, run):
        raise Http404
    return HttpResponseRedirect(_address(run))


async def _sent(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    wanted, asks = Chosen(request.POST.get("query", "")), request.POST.get("do") != "search"
    if not reader.may(Right.ASK if asks else Right.SEARCH):
        raise Http404
    try:
        wanted = ask_form.chosen(request.POST)
        if not wanted.question:
            raise problems.Problem("invalid-request", errors=[{"field": "query", "message": "Write a question first."}])
        if asks:
            return await _start(request, reader.acting, wanted)
        found = await _search(reader.acting, wanted)
    except Exception as error:  # noqa: BLE001 - the request's boundary: every error becomes words on the page
        return await _refused(request, reader, wanted, problems.of(error))
    return await _page(request, reader, wanted, {"search": found})


async def _start(request: HttpRequest, principal: Principal, wanted: Chosen) -> HttpResponseBase:
    began = time.monotonic()
    given = await in_worker(ask_form.body, wanted, "agentic")
    question = await search_api.ask_of(principal, given, "")
    models = await answering.models_for(principal.tenant, question.text)
    started = await runs.begin(principal, question, models, began)
    task = runs.launch(started) if isinstance(started, runs.Started) else None
    if _wants_json(request):
        run = started.public_id
        told = {"page": _address(run), "events": _events(run), "cancel": reverse("run-page-cancel", args=[run])}
        return JsonResponse(told, status=202)
    if task is not None and isinstance(started, runs.Started):
        await runs.wait(started, task)
    return HttpResponseRedirect(_address(started.public_id))


async def _search(principal: Principal, wanted: Chosen) -> Json:
    given = await in_worker(ask_form.body, wanted, "hybrid")
    response = await search_api.plain_search(principal, given, "page")
    return {**response, "found": [results.found(hit) for hit in response["hits"]]}


async def _refused(request: HttpRequest, reader: Reader, wanted: Chosen, problem: problems.Problem) -> HttpResponseBase:
    code, title = problems.CATALOGUE[problem.kind]
    listed = problem.more.get("errors")
    errors = [str(one["message"]) for one in listed] if isinstance(listed, list) else []
    words = " ".join(part for part in (title, problem.detail, *errors) if part)
    if _wants_json(request):
        return JsonResponse({"problem": words}, status=code)
    return await _page(request, reader, wanted, {"problem": words}, status=code)


async def _page(
    request: HttpRequest, reader: Reader, wanted: Chosen, context: dict[str, Any], status: int = 200
) -> HttpResponseBase:
    form = await in_worker(ask_form.shown, reader.acting, wanted)
    earlier = await in_worker(history, reader.acting)
    words = {"quoted": results.QUOTED, "cited": results.CITED}
    may = {"may_ask": reader.may(Right.ASK), "may_search": reader.may(Right.SEARCH)}
    return shown(
        request, reader, "ask.html", {"form": form, "history": earlier, **words, **may, **context}, status=status
    )


def history(principal: Principal) -> list[Earlier]:
    """The newest of the caller's own runs."""
    with bound(Binding(audit=frozenset({principal.tenant}))):
        own = Run.objects.filter(tenant=principal.tenant, caller=principal.caller).select_related("state")
        newest = own.prefetch_related("runfinisheds").order_by("-started_at", "-pk")[:_HISTORY]
        return [_earlier(run) for run in newest]


def _earlier(run: Run) -> Earlier:
    end = next(iter(run.runfinisheds.all()), None)
    outcome = wording.outcome(end.outcome if end else None, run.state.status)
    return Earlier(run.question, _address(run.public_id), outcome, run.started_at)


def _wants_json(request: HttpRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")


def _address(run: str) -> str:
    return f"{reverse('ask')}?{urlencode({'run': run})}"


def _events(run: str) -> str:
    return reverse("run-page-events", args=[run])
