"""Connections that the database has closed: nobody is told of them, and what can't be reached is said to be so."""

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import InterfaceError, OperationalError, connection
from psycopg_pool import PoolTimeout

from agentic.web import problems
from tests.agentic.cast import house
from tests.mailsearch.posting import Letter
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)


def _end_all_sessions(owner_conninfo: str) -> int:
    """End what the application holds open, as a restart of the database does, and wait until it is ended: one that
    ends while a request uses it fails that request."""
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        rows = conn.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND usename LIKE '%app'"
        ).fetchall()
    return len(rows)


def _fill_the_pool() -> None:
    """Have as many connections of Django's pool waiting as a busy service has."""
    all_there = threading.Barrier(6)

    def hold() -> None:
        try:
            connection.ensure_connection()
            all_there.wait(30)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as workers:
        for one in [workers.submit(hold) for _ in range(6)]:
            one.result()


def test_after_a_restart_of_the_database_no_request_fails(service: Service, owner_conninfo: str) -> None:
    home = house()
    home.office.post("family", Letter("The boat leaves at noon.", subject="Boat"))
    _fill_the_pool()
    with service.client(home.jo.headers) as client:
        for mode in ("keyword", "hybrid"):
            body = {"query": "boat", "mode": mode}
            assert client.post("/v1/search", json=body).json()["hits"]
            assert _end_all_sessions(owner_conninfo)
            assert client.post("/v1/search", json=body).json()["hits"]
            assert _end_all_sessions(owner_conninfo)
            assert client.get("/v1/messages").status_code == 200


@pytest.mark.parametrize(
    "error",
    [OperationalError(), InterfaceError(), psycopg.OperationalError(), psycopg.InterfaceError(), PoolTimeout()],
    ids=lambda error: type(error).__name__,
)
def test_what_cannot_be_reached_is_said_to_be_so_and_when_to_try_again(error: Exception) -> None:
    problem = problems.as_json(problems.of(error), "/v1/runs/x")
    assert (problem["status"], problem["type"].rpartition("/")[2]) == (503, "store-unavailable")
    assert problem["retry_after"] == 1


def test_a_search_that_cannot_be_written_down_tells_nothing(service: Service, owner_conninfo: str) -> None:
    home = house()
    home.office.post("family", Letter("The boat leaves at noon.", subject="Regatta"))
    rename = "ALTER FUNCTION mail_search.{}(bigint, text, text, text, text, text[]) RENAME TO {}"
    with psycopg.connect(owner_conninfo, autocommit=True) as conn, service.client(home.jo.headers) as client:
        conn.execute(rename.format("record_access", "record_nothing"))
        try:
            refused = client.post("/v1/search", json={"query": "boat", "mode": "keyword"})
        finally:
            conn.execute(rename.format("record_nothing", "record_access"))
        given = client.post("/v1/search", json={"query": "boat", "mode": "keyword"})
    assert refused.status_code == 503
    assert refused.json()["type"].endswith("/audit-unavailable")
    assert "Regatta" not in refused.text
    assert [hit["subject"] for hit in given.json()["hits"]] == ["Regatta"]
