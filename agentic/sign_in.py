"""Signing in with a password, for the pages and for the admin alike, within the limits on failed attempts."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from agentic.attempts import Attempt


class LimitedBackend(ModelBackend):
    """Django's accounts, closed for a while to whoever fails too often."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """The account, or None. Raises PermissionDenied, which Django tells as None, after too many failures."""
        if username is None or password is None:
            return None
        attempt = Attempt(username, str(request.META.get("REMOTE_ADDR", "")) if request is not None else "")
        if not attempt.take():
            raise PermissionDenied
        user = super().authenticate(request, username, password, **kwargs)
        if user is not None:
            attempt.succeeded()
        return user
