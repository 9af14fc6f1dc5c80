"""Who sends a request: a service key in the Authorization header, or a person with a session and a CSRF token."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from agentic.callers import Principal, Unrecognised, resolve_key, resolve_person


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer pm_…`. A key anywhere else, such as in the address, is no key."""

    def authenticate(self, request: Request) -> tuple[Any, Principal] | None:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if not kind:
            return None
        if kind.casefold() != "bearer":
            raise Unrecognised
        return AnonymousUser(), resolve_key(token.strip())

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class PersonAuthentication(SessionAuthentication):
    """A signed-in person. Whatever changes something needs the CSRF token."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        user = getattr(request._request, "user", None)
        if user is None or not user.is_authenticated:
            return None
        self.enforce_csrf(request)
        tenant = request.headers.get("X-Tenant") or request.query_params.get("tenant", "")
        return user, resolve_person(user, tenant)
