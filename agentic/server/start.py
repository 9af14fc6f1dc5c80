"""What happens before anything else: the embedded database is brought up, and a role that could bypass is refused."""

import atexit

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from agentic.server.embedded import EmbeddedPostgres
from agentic.server.roles import bypass_of, role_names
from agentic.server.setup import setup_database


def start_database() -> None:
    """Start and set up the embedded Postgres where no database is named. Needs Django to be set up.

    The process that started the server stops it at its end, unless others use it.
    """
    if not settings.PM_EMBEDDED:
        return
    server = EmbeddedPostgres(settings.PM_DATA)
    server.start()
    atexit.register(_leave, server)
    if not _is_current(server):
        setup_database(server.conninfo(), settings.PM_DATABASE_NAME)


def _leave(server: EmbeddedPostgres) -> None:
    """Give our own connections back, so that they do not count as somebody else's use."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if isinstance(connection, DatabaseWrapper):
            connection.close_pool()
    server.stop_if_unused()


def refuse_bypass(conninfo: str) -> None:
    """Raises ImproperlyConfigured if the application's login could see past row-level security."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        why = bypass_of(conn)
    if why:
        raise ImproperlyConfigured(f"PM_DATABASE_URL must log in as a role bound by row-level security: {why}.")


def _is_current(server: EmbeddedPostgres) -> bool:
    """Whether the database has every migration of this version. Asked as the app, so that its login is tried too."""
    names = role_names(settings.PM_DATABASE_NAME)
    try:
        with psycopg.connect(server.conninfo(settings.PM_DATABASE_NAME, names.app)) as conn:
            applied = set(conn.execute("SELECT app, name FROM django_migrations").fetchall())
    except (psycopg.OperationalError, psycopg.ProgrammingError):
        return False
    return set(MigrationLoader(None).disk_migrations) <= applied
