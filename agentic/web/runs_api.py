"""Runs that were started: one, all, their events, and cancelling them."""

import base64
import binascii
import json
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.http import HttpResponseBase, StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from agentic import records, responses, runs, stream
from agentic.callers import Principal
from agentic.mailjson import Json, in_utc
from agentic.models import Run
from agentic.web.problems import Problem
from agentic.web.views import ApiView, found
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound

_PAGE, _LARGEST_PAGE = 20, 100


class RunView(ApiView):
    """One run."""

    async def get(self, request: Request, run: str) -> HttpResponseBase:
        """The response of a run, from what was written down, as far as the caller may read its mail now."""
        return found(await in_worker(run_json, self.principal, run))


class RunsView(ApiView):
    """The caller's own runs."""

    async def get(self, request: Request) -> HttpResponseBase:
        """The caller's runs, the newest first. `limit` up to 100, `cursor` from `next_cursor`."""
        limit, before = _paging(request)
        return Response(await in_worker(_list, self.principal, limit, before))


class CancelView(ApiView):
    """The end of a run that is under way."""

    async def post(self, request: Request, run: str) -> HttpResponseBase:
        """End the caller's own run soon. One that has ended stays as it is."""
        if not await runs.cancel(self.principal, run):
            raise Problem("not-found")
        return Response({"run_id": run, "cancel_requested": True}, status=202)


class EventsView(ApiView):
    """What happens in a run, as it happens."""

    async def get(self, request: Request, run: str) -> HttpResponseBase:
        """The events of the caller's own run as a stream (SSE), after `Last-Event-ID` where one is given."""
        try:
            after = stream.last_event(request.headers.get("Last-Event-ID", ""), run)
        except stream.UnreadableLastEventId as error:
            message = "Write the id of an event of this run: <run>:<number>, or the number alone."
            raise Problem("invalid-request", errors=[{"field": "Last-Event-ID", "message": message}]) from error
        if await in_worker(records.load, self.principal, run, own_only=True) is None:
            raise Problem("not-found")
        return event_stream(self.principal, run, after)


def event_stream(principal: Principal, run: str, after: int = 0) -> HttpResponseBase:
    """The response that follows a run: the same for the request that started it and for those that come later."""
    response = StreamingHttpResponse(stream.follow(principal, run, after), content_type="text/event-stream")
    response["X-Accel-Buffering"] = "no"
    response["X-Run-Id"] = run
    return response


def run_json(principal: Principal, public_id: str) -> Json | None:
    """The response of a run as its rows tell it now; None where the caller may not read it."""
    record = records.load(principal, public_id)
    return responses.build(record) if record else None


def _list(principal: Principal, limit: int, before: tuple[datetime, int] | None) -> Json:
    with bound(Binding(audit=frozenset({principal.tenant}))):
        rows = Run.objects.filter(tenant=principal.tenant, caller=principal.caller).select_related("state")
        if before is not None:
            moment, number = before
            rows = rows.filter(Q(started_at__lt=moment) | Q(started_at=moment, pk__lt=number))
        page = list(rows.prefetch_related("runfinisheds").order_by("-started_at", "-pk")[: limit + 1])
    more = page[limit - 1] if len(page) > limit else None
    return {"runs": [_summary(run) for run in page[:limit]], "next_cursor": _cursor(more) if more else None}


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


def _cursor(run: Run) -> str:
    text = json.dumps([run.started_at.isoformat(), run.pk])
    return base64.urlsafe_b64encode(text.encode()).decode()


def _paging(request: Request) -> tuple[int, tuple[datetime, int] | None]:
    unknown = set(request.query_params) - {"limit", "cursor"}
    errors: list[dict[str, Any]] = [{"field": name, "message": "There is no such field."} for name in sorted(unknown)]
    limit = request.query_params.get("limit", str(_PAGE))
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:5]) <= _LARGEST_PAGE):
        errors.append({"field": "limit", "message": f"A whole number from 1 to {_LARGEST_PAGE}."})
    before = None
    try:
        if cursor := request.query_params.get("cursor", ""):
            moment, number = json.loads(base64.urlsafe_b64decode(cursor))
            before = datetime.fromisoformat(moment), int(number)
    except (binascii.Error, ValueError, TypeError):
        errors.append({"field": "cursor", "message": "This is no cursor of this list."})
    if errors:
        raise Problem("invalid-request", errors=errors)
    return int(limit), before
