"""A real Postgres for the tests, the way out of this machine closed, and the shared cases where they are."""

import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db.backends.postgresql.base import DatabaseWrapper
from django.test import TransactionTestCase

# Rows of the audit can't be deleted, so nothing is flushed: every test makes a tenant of its own.
setattr(TransactionTestCase, "_fixture_teardown", lambda _: None)  # noqa: B010 - private, so unknown to the stubs

_real_connect = socket.socket.connect


def _connect_on_loopback_only(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise AssertionError(f"a test tried to reach {address!r}")
    _real_connect(self, address)


socket.socket.connect = _connect_on_loopback_only  # type: ignore[method-assign,assignment]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the browser's tests first: few and slow, they would leave the other processes idle at the end."""
    items.sort(key=lambda item: "browser" not in item.path.parts)


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """A database of this session's own, as its owner's migrations make it; Django logs in as the app."""
    from django.conf import settings
    from django.db import connections

    from agentic.server.embedded import EmbeddedPostgres
    from tests.template import copy_template, drop_database

    server = EmbeddedPostgres(settings.PM_DATA)
    server.start()
    _drop_left_over(server.conninfo())
    with django_db_blocker.unblock():
        copy_template(server.conninfo(), settings.PM_DATABASE_NAME)
        yield
        for connection in connections.all(initialized_only=True):
            connection.close()
            if isinstance(connection, DatabaseWrapper):
                connection.close_pool()
    with psycopg.connect(server.conninfo(), autocommit=True) as conn:
        drop_database(conn, settings.PM_DATABASE_NAME)
    server.stop_if_unused()


def _drop_left_over(admin: str) -> None:
    """Remove what test processes that died have left."""
    from tests.template import drop_database

    with psycopg.connect(admin, autocommit=True) as conn:
        rows = conn.execute("SELECT datname FROM pg_database WHERE datname LIKE 'test\\_%'").fetchall()
        for (name,) in rows:
            process = name.removeprefix("test_")
            if process.isdigit() and not Path(f"/proc/{process}").exists():
                drop_database(conn, name)


@pytest.fixture(scope="session")
def owner_conninfo(django_db_setup: None) -> str:
    """A superuser's connection string to the test database, to look past every policy."""
    from django.conf import settings

    from agentic.server.embedded import EmbeddedPostgres

    return EmbeddedPostgres(settings.PM_DATA).conninfo(settings.PM_DATABASE_NAME)


@pytest.fixture
def shared_cases() -> Path:
    """The folder of shared cases beside the project; the test is skipped where there is none."""
    folder = Path(__file__).resolve().parent.parent.parent / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("needs the shared cases beside the project")
    return folder


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT interrupts, although a shell that runs tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
