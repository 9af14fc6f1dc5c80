"""The login of the role `eraser`, for the time of one act: the service itself can't delete what it writes down."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from agentic.server.roles import role_names


@contextmanager
def as_eraser() -> Iterator[None]:
    """Within this block Django's connection of this worker is the eraser's.

    Raises ImproperlyConfigured where PM_DATABASE_URL is set and PM_ERASER_DATABASE_URL is not.
    """
    default = connections["default"]
    login = {**default.settings_dict, **_login()}
    # A pool would be shared with the connections of the app.
    login["OPTIONS"] = {name: value for name, value in login["OPTIONS"].items() if name != "pool"}
    eraser = DatabaseWrapper(login, alias="default")
    connections["default"] = eraser
    try:
        yield
    finally:
        eraser.close()
        connections["default"] = default


def _login() -> dict[str, Any]:
    if settings.PM_EMBEDDED:
        return {"USER": role_names(settings.PM_DATABASE_NAME).eraser, "PASSWORD": ""}
    if not settings.PM_ERASER_DATABASE_URL:
        raise ImproperlyConfigured(
            "PM_ERASER_DATABASE_URL must name the login of the role that may erase; PM_DATABASE_URL's may not."
        )
    try:
        parts = conninfo_to_dict(settings.PM_ERASER_DATABASE_URL)
    except ProgrammingError as error:
        raise ImproperlyConfigured("PM_ERASER_DATABASE_URL is no connection string that libpq understands.") from error
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {name: str(parts.get(part, "") or "") for name, part in names.items()}
