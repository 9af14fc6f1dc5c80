"""Runs that were started: one, all, their events, and cancelling them."""

from datetime import datetime

from django.db.models import Q
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from rest_framework.request import Request

from agentic import records, responses, runs, stream
from agentic.callers import Principal
from agentic.mailjson import Json, in_utc
from agentic.models import Run
from agentic.web.parameters import CURSOR, LIMIT, Parameter
from agentic.web.problems import Problem
from agentic.web.views import ApiView, answer, found
from agentic.workers import in_worker
from mailsearch.search.paging import InvalidCursor, decode_place, encode_place
from mailsearch.sessions import Binding, bound

# A browser's EventSource can send no header, so a person of several tenants names one here.
_TENANT = Parameter("The tenant to act in, for people who belong to several.", default="", longest=63)
_EVENT_STREAM = "text/event-stream"


class RunView(ApiView):
    """One run."""

    async def get(self, request: Request, run: str) -> HttpResponseBase:
        """The response of a run, from what was written down, as far as the caller may read its mail now."""
        told = await run_json(self.principal, run)
        if told is not None:
            await self.seen("run", [run])
        return found(told)


class RunsView(ApiView):
    """The caller's own runs."""

    parameters = {"get": {"limit": LIMIT, "cursor": CURSOR}}

    async def get(self, request: Request) -> HttpResponseBase:
        """The caller's runs, the newest first."""
        try:
            before = decode_place(self.query["cursor"])
        except InvalidCursor as error:
            message = "This is no cursor of this list."
            raise Problem("invalid-request", errors=[{"field": "cursor", "message": message}]) from error
        told = await in_worker(_list, self.principal, self.query["limit"], before)
        await self.seen("runs", [one["run_id"] for one in told["runs"]])
        return answer(told)


class CancelView(ApiView):
    """The end of a run that is under way."""

    async def post(self, request: Request, run: str) -> HttpResponseBase:
        """End the caller's own run soon. One that has ended stays as it is."""
        if not await runs.cancel(self.principal, run):
            raise Problem("not-found")
        return answer({"run_id": run, "cancel_requested": True}, status=202)


class EventsView(ApiView):
    """What happens in a run, as it happens."""

    parameters = {"get": {"tenant": _TENANT}}
    ignores_other_parameters = True

    async def get(self, request: Request, run: str) -> HttpResponseBase:
        """The events of the caller's own run as a stream (SSE), after `Last-Event-ID` where one is given.

        204 where there is nothing left to tell.
        """
        after, is_told = await self._begin(request, run)
        if is_told:
            # A browser's EventSource asks again after every end but this.
            return HttpResponse(status=204)
        await self.seen("events", [run])
        return event_stream(self.principal, run, after)

    async def head(self, request: Request, run: str) -> HttpResponseBase:
        """Whether there would be a stream; none is opened."""
        await self._begin(request, run)
        return HttpResponse(content_type=_EVENT_STREAM, headers={"X-Run-Id": run})

    async def _begin(self, request: Request, run: str) -> tuple[int, bool]:
        """The number after which to begin, and whether that was the last. Raises Problem."""
        try:
            after = stream.last_event(request.headers.get("Last-Event-ID", ""), run)
        except stream.UnreadableLastEventId as error:
            message = "Write the id of an event of this run: <run>:<number>, or the number alone."
            raise Problem("invalid-request", errors=[{"field": "Last-Event-ID", "message": message}]) from error
        standing = await stream.standing(self.principal, run)
        if standing is None:
            raise Problem("not-found")
        return after, standing.is_over and after >= standing.last


def event_stream(principal: Principal, run: str, after: int = 0) -> HttpResponseBase:
    """The response that follows a run: the same for the request that started it and for those that come later."""
    response = StreamingHttpResponse(stream.follow(principal, run, after), content_type=_EVENT_STREAM)
    response["X-Accel-Buffering"] = "no"
    response["X-Run-Id"] = run
    return response


async def run_json(principal: Principal, public_id: str, record: records.Record | None = None) -> Json | None:
    """The response of a run as its rows tell it now; None where the caller may not read it.

    *record* is what its end has just given of it: then nothing is looked up.
    """
    record = record or await records.load(principal, public_id)
    return responses.build(record) if record else None


def _list(principal: Principal, limit: int, before: tuple[datetime, str] | None) -> Json:
    with bound(Binding(audit=frozenset({principal.tenant}))):
        rows = Run.objects.filter(tenant=principal.tenant, caller=principal.caller).select_related("state")
        if before is not None:
            moment, last = before
            rows = rows.filter(Q(started_at__lt=moment) | Q(started_at=moment, public_id__lt=last))
        page = list(rows.prefetch_related("runfinisheds").order_by("-started_at", "-public_id")[: limit + 1])
    more = page[limit - 1] if len(page) > limit else None
    cursor = encode_place(more.started_at, more.public_id) if more else None
    return {"runs": [_summary(run) for run in page[:limit]], "next_cursor": cursor}


def _summary(run: Run) -> Json:
    finished = next(iter(run.runfinisheds.all()), None)
    return {
        "run_id": run.public_id,
        "question": run.question,
        "status": run.state.status,
        "outcome": finished.outcome if finished else None,
        "reason": (finished.reason or None) if finished else None,
        "started_at": in_utc(run.started_at),
        "seconds": round(finished.seconds, 3) if finished else None,
        "model": finished.model if finished else run.model,
    }
