"""`POST /v1/search`: plain searches answer at once; an agentic one starts a run and answers with it, or streams it."""

import hashlib
import json
import time
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from agentic import accesses, answering, filters, runs
from agentic.admission import NotPermitted
from agentic.callers import Principal, scope_and_zone
from agentic.mailjson import Json, search_json
from agentic.records import Record
from agentic.web.problems import Problem
from agentic.web.runs_api import event_stream, run_json
from agentic.web.serializers import SearchSerializer
from agentic.web.views import ApiView, answer, found, understood
from agentic.workers import in_worker
from mailsearch.hits import Filters, SearchRequest
from mailsearch.models import Permission, Tenant
from mailsearch.search import engine
from mailsearch.search.paging import InvalidCursor

_KEY_CHARACTERS = 200


class SearchView(ApiView):
    """Search mail, or ask a question of it."""

    serializer_class = SearchSerializer

    async def post(self, request: Request) -> HttpResponseBase:
        """Search mail, or with mode `agentic` ask a question of it.

        An answer is a cited summary: read the evidence for decisions that matter.
        """
        began = time.monotonic()
        given = await understood(SearchSerializer, request)
        if given["mode"] == "agentic":
            return await self._ask(request, given, began)
        if given["stream"]:
            raise Problem("stream-needs-agentic", "Leave stream out, or set mode to agentic.")
        return answer(await plain_search(self.principal, given))

    async def _ask(self, request: Request, given: dict[str, Any], began: float) -> HttpResponseBase:
        if not given["query"]:
            raise Problem("invalid-request", errors=[{"field": "query", "message": "A question needs words."}])
        if not self.principal.may(Permission.SEARCH_AGENTIC):
            raise NotPermitted(Permission.SEARCH_AGENTIC)
        ask = await ask_of(self.principal, given, request.headers.get("Idempotency-Key", ""))
        started = await runs.begin(
            self.principal, ask, await answering.models_for(self.principal.tenant, ask.text), began
        )
        task = runs.launch(started) if isinstance(started, runs.Started) else None
        if wants_stream(request, given):
            return event_stream(self.principal, started.public_id)
        if prefers_async(request):
            return _accepted(started.public_id)
        if task is not None and isinstance(started, runs.Started):
            record = await runs.wait(started, task)
            return await runs.in_time(started, _told(self.principal, started.public_id, record))
        return await _told(self.principal, started.public_id)


async def _told(principal: Principal, run: str, record: Record | None = None) -> HttpResponseBase:
    """The response of a run, written out."""
    return found(await run_json(principal, run, record))


def _accepted(run: str) -> HttpResponseBase:
    """Where the response will be, for who does not want to wait."""
    response = answer({"run_id": run, "status": "queued"}, status=202)
    response["Location"] = f"/v1/runs/{run}"
    response["Preference-Applied"] = "respond-async"
    return response


def prefers_async(request: Request) -> bool:
    """Whether `Prefer` (RFC 7240) names `respond-async` among its preferences."""
    named = (one.partition(";")[0].partition("=")[0] for one in request.headers.get("Prefer", "").split(","))
    return "respond-async" in {one.strip().casefold() for one in named}


def wants_stream(request: Request, given: dict[str, Any]) -> bool:
    return bool(given["stream"]) or "text/event-stream" in request.headers.get("Accept", "")


async def plain_search(principal: Principal, given: dict[str, Any], via: str = "rest") -> Json:
    """One keyword, semantic or hybrid search. Raises NotPermitted and Problem."""
    if not principal.may(Permission.SEARCH_READ):
        raise NotPermitted(Permission.SEARCH_READ)
    scope, zone_of_tenant = await scope_and_zone(principal, Permission.SEARCH_READ)
    zone = str(given.get("timezone") or zone_of_tenant)
    now = given.get("now") or timezone.now()
    request = SearchRequest(
        given["query"],
        given["mode"],
        _filters(given, now, zone),
        limit=given["limit"],
        cursor=given["cursor"],
        timezone=zone,
        now=given.get("now"),
    )
    try:
        result = await engine.search(scope, request)
    except InvalidCursor as error:
        message = "This cursor does not belong to this search."
        raise Problem("invalid-request", errors=[{"field": "cursor", "message": message}]) from error
    except psycopg.OperationalError as error:
        raise Problem("search-unavailable", "Try again.", retry_after=1) from error
    if not result.hits:
        return search_json(result)
    async with accesses.recording(principal, "search", [hit.head.message_id for hit in result.hits], via):
        return search_json(result)


async def ask_of(principal: Principal, given: dict[str, Any], key: str) -> runs.Ask:
    """The question in a body that SearchSerializer understood; *key* is its Idempotency-Key. Raises Problem."""
    if len(key) > _KEY_CHARACTERS:
        message = f"It may have {_KEY_CHARACTERS} characters."
        raise Problem("invalid-request", errors=[{"field": "Idempotency-Key", "message": message}])
    zone = str(given.get("timezone") or await in_worker(_zone_of, principal.tenant))
    now = given.get("now") or timezone.now()
    body = json.dumps(given, sort_keys=True, default=str)
    return runs.Ask(
        given["query"],
        _filters(given, now, zone),
        given["filters"],
        given["budget"].get("max_steps"),
        given["budget"].get("max_seconds"),
        zone,
        now,
        idempotency_key=key and f"search {key}",
        body_sha256=hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _filters(given: dict[str, Any], now: datetime, zone: str) -> Filters:
    try:
        return filters.parse(given["filters"], now, ZoneInfo(zone))
    except filters.UnreadableDate as error:
        raise Problem("invalid-request", errors=[{"field": f"filters.{error.name}", "message": str(error)}]) from error


def _zone_of(tenant: int) -> str:
    return Tenant.objects.values_list("timezone", flat=True).get(pk=tenant)
