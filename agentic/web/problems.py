"""Errors as the API tells them: RFC 9457 problems of a fixed catalogue, which say what to do and nothing of others."""

import logging
import re
from collections.abc import Mapping
from typing import Any

import psycopg
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions, status

from agentic import accesses, caps
from agentic.admission import IdempotencyConflict, NotPermitted, TooManyRuns
from agentic.callers import TenantUnclear, Unrecognised
from agentic.core.verdict import NotVerified
from agentic.finishing import AuditUnavailable
from agentic.mailjson import Json, iso

BASE = "https://mailsearch.example/problems/"
# Where JSON ends to be such, in the words of Python's parser.
_PLACE = re.compile(r"line [0-9]+ column [0-9]+")
_log = logging.getLogger(__name__)

# Type to status and title.
CATALOGUE: Mapping[str, tuple[int, str]] = {
    "invalid-request": (400, "The request can't be understood."),
    "stream-needs-agentic": (400, "Only agentic searches can be streamed."),
    "tenant-unclear": (400, "You belong to several tenants."),
    "key-in-address": (400, "A key must not stand in an address."),
    "not-authenticated": (401, "No valid key or sign-in came with the request."),
    "not-permitted": (403, "A permission is missing."),
    "agentic-search-off": (403, "Agentic search is switched off for this tenant."),
    "not-found": (404, "There is no such thing, or it is not yours to read."),
    "method-not-allowed": (405, "This address does not take that method."),
    "too-slow": (408, "The request's body did not come in time."),
    "too-large": (413, "The request is too large."),
    "unsupported-media-type": (415, "The body must be JSON."),
    "idempotency-conflict": (422, "This Idempotency-Key was used with another body."),
    "daily-cap-reached": (429, "The tenant's agentic searches for today are used up."),
    "too-many-runs": (429, "Too many runs are under way."),
    "rate-limited": (429, "Too many requests."),
    "internal-error": (500, "Something went wrong here."),
    "audit-unavailable": (503, "The run could not be written down, so there is no answer."),
    "verification-timeout": (503, "The answer could not be verified in time."),
    "search-unavailable": (503, "The mail can't be searched just now."),
    "store-unavailable": (503, "What is stored can't be reached just now."),
}

# What whoever meets one can do about it.
REMEDIES: Mapping[str, str] = {
    "invalid-request": "Correct the fields that `errors` names; the same request will always be refused.",
    "stream-needs-agentic": "Leave `stream` out, or set `mode` to `agentic`.",
    "tenant-unclear": "Name the tenant in the header X-Tenant; where no header can be sent, in `?tenant=`.",
    "key-in-address": "Send the key in the header Authorization, and rotate the one that was in the address.",
    "not-authenticated": "Send a valid key. Missing, wrong, expired and revoked ones are all answered like this.",
    "not-permitted": "Have somebody grant the permission that `permission` names; `GET /v1/me` lists those held.",
    "agentic-search-off": "Use a plain mode, or have an administrator raise the tenant's daily cap.",
    "not-found": "Nothing. What is missing, erased, quarantined or out of scope is answered alike.",
    "method-not-allowed": "Use a method that the header Allow names.",
    "too-slow": "Send the whole body at once.",
    "too-large": "Send less: 1 MB, or 50 MB for a message that is put in.",
    "unsupported-media-type": "Send application/json, or message/rfc822 to put a message in.",
    "idempotency-conflict": "Use a new Idempotency-Key for a new request.",
    "daily-cap-reached": "Wait `retry_after` seconds, or use a plain mode.",
    "too-many-runs": "Wait for a run to end, then try again.",
    "rate-limited": "Wait `retry_after` seconds; the header RateLimit says how much is left before it comes to this.",
    "internal-error": "Try again later; the operator's log has it.",
    "audit-unavailable": "Try again: what can't be written down is not answered.",
    "verification-timeout": "Send fewer sentences, or cite fewer or shorter messages; then try again.",
    "search-unavailable": "Try again in a second.",
    "store-unavailable": "Try again in a second; a run that had begun goes on or is closed, and is found under its id.",
}


class Problem(Exception):
    """An error of the catalogue. `more` are members beside the standard ones."""

    def __init__(self, kind: str, detail: str = "", **more: object) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.more = more


def as_json(problem: Problem, path: str) -> Json:
    """The problem as it is sent, for the address *path*."""
    code, title = CATALOGUE[problem.kind]
    detail = {"detail": problem.detail} if problem.detail else {}
    return {"type": BASE + problem.kind, "title": title, "status": code, "instance": path, **detail, **problem.more}


def response(problem: Problem, request: HttpRequest) -> JsonResponse:
    body = as_json(problem, request.path)
    code = int(body["status"])
    answer = JsonResponse(body, status=code, content_type="application/problem+json")
    if "retry_after" in problem.more:
        answer["Retry-After"] = str(problem.more["retry_after"])
    if code == status.HTTP_401_UNAUTHORIZED:
        answer["WWW-Authenticate"] = "Bearer"
    answer["Cache-Control"] = "private, no-store"
    return answer


def of(error: Exception) -> Problem:
    """The problem that an error is for the caller. What the catalogue does not know is an internal error."""
    problem = _no_json(error) or _telling(error) or _plain(error)
    if problem is None:
        _log.exception("request failed", exc_info=error)
        return Problem("internal-error", "It was recorded; try again later.")
    return problem


# Errors that say nothing but their kind: each with the words that tell what to do.
_PLAIN: Mapping[type[Exception], tuple[str, str]] = {
    Unrecognised: ("not-authenticated", "Send a valid key as `Authorization: Bearer pm_…`."),
    exceptions.NotAuthenticated: ("not-authenticated", "Send a valid key as `Authorization: Bearer pm_…`."),
    exceptions.AuthenticationFailed: ("not-authenticated", "Send a valid key as `Authorization: Bearer pm_…`."),
    exceptions.PermissionDenied: ("not-permitted", "A session needs its CSRF token in the header X-CSRFToken."),
    exceptions.MethodNotAllowed: ("method-not-allowed", ""),
    exceptions.UnsupportedMediaType: ("unsupported-media-type", "Send Content-Type: application/json."),
    exceptions.NotFound: ("not-found", ""),
    Http404: ("not-found", ""),
    accesses.NotRecorded: ("audit-unavailable", "That you read this could not be written down; try again."),
    RequestDataTooBig: ("too-large", "A request body may have 1 MB."),
    TenantUnclear: ("tenant-unclear", "Name the tenant in the header X-Tenant."),
    caps.AgenticSearchOff: ("agentic-search-off", "Its daily cap is 0; an administrator can raise it."),
    NotVerified: ("verification-timeout", "Send fewer sentences, or cite fewer or shorter messages; then try again."),
    IdempotencyConflict: ("idempotency-conflict", "Use a new key for a new request."),
}


def _plain(error: Exception) -> Problem | None:
    found = next((told for kind, told in _PLAIN.items() if isinstance(error, kind)), None)
    return Problem(*found) if found else None


def _no_json(error: Exception) -> Problem | None:
    if not isinstance(error, exceptions.ParseError):
        return None
    place = _PLACE.search(str(error.detail))
    where = f" It can't be read from {place[0]} on." if place else ""
    return Problem("invalid-request", f"The body is no JSON object.{where}")


def _telling(error: Exception) -> Problem | None:
    """Problems that carry something of the error."""
    match error:
        case Problem():
            return error
        case NotPermitted(permission=permission):
            return Problem("not-permitted", f"This needs the permission {permission}.", permission=permission)
        case caps.DailyCapReached(amount=amount, today=today, held=held, retry_after=retry_after):
            then = "wait for one to end" if held else f"the count starts again at {iso(today.ends)}"
            return Problem("daily-cap-reached", f"{amount}; {then}.", retry_after=retry_after)
        case TooManyRuns(limit=limit, whose=whose):
            detail = f"{limit} runs of this {whose} are under way; wait for one to end."
            return Problem("too-many-runs", detail, retry_after=1)
        case OperationalError() | InterfaceError() | psycopg.OperationalError() | psycopg.InterfaceError():
            return Problem("store-unavailable", "Try again.", retry_after=1)
        case AuditUnavailable():
            return Problem("audit-unavailable", "Try again.", retry_after=1)
        case exceptions.ValidationError(detail=detail):
            return Problem("invalid-request", errors=list(_errors(detail, "")))
    return None


def _errors(detail: Any, place: str) -> Any:
    """Each wrong field once, by its dotted name."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            path = place if name == "non_field_errors" else f"{place}.{name}".lstrip(".")
            yield from _errors(inner, path)
    elif isinstance(detail, list):
        for inner in detail:
            yield from _errors(inner, place)
    else:
        yield {"field": place or "(body)", "message": str(detail)}
