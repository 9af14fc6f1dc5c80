"""Each role of the database over every table and function that there is, so that a new one can't be forgotten."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.conf import settings
from psycopg import sql
from psycopg.rows import TupleRow

from agentic.server.roles import ADD_ONLY, ERASER, READ_ONLY, grant_rights, role_names

pytestmark = pytest.mark.django_db(transaction=True)
AUDITED = {*ADD_ONLY, *READ_ONLY, "agentic_tenantchain", "agentic_runstate", "mailsearch_tenant"}
_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")


@contextmanager
def _looking(conninfo: str) -> Iterator[psycopg.Connection[TupleRow]]:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        yield conn


def _held(conninfo: str, role: str) -> dict[str, set[str]]:
    """What *role* may do to each table and view of the service."""
    with _looking(conninfo) as conn:
        rows = conn.execute(
            "SELECT c.relname, r FROM pg_class c, unnest(%s::text[]) r WHERE c.relkind IN ('r', 'p', 'v', 'm')"
            " AND c.relnamespace = 'public'::regnamespace AND has_table_privilege(%s, c.oid, r)",
            (list(_RIGHTS), role),
        ).fetchall()
    held: dict[str, set[str]] = {}
    for table, right in rows:
        held.setdefault(table, set()).add(right)
    return held


def test_an_auditors_login_reads_the_audit_and_no_other_table(owner_conninfo: str) -> None:
    held = _held(owner_conninfo, role_names(settings.PM_DATABASE_NAME).auditor)
    assert held == {table: {"SELECT"} for table in AUDITED}


def test_the_erasers_login_holds_what_its_table_of_rights_says(owner_conninfo: str) -> None:
    expected: dict[str, set[str]] = {}
    for rights, tables in ERASER.items():
        for table in tables:
            expected.setdefault(table, set()).update(rights.split(", "))
    assert _held(owner_conninfo, role_names(settings.PM_DATABASE_NAME).eraser) == expected


def test_the_services_login_empties_no_table_and_makes_nothing(owner_conninfo: str) -> None:
    app = role_names(settings.PM_DATABASE_NAME).app
    held = _held(owner_conninfo, app)
    assert [table for table, rights in held.items() if rights & {"TRUNCATE", "REFERENCES", "TRIGGER"}] == []
    assert held["django_migrations"] == {"SELECT"}
    with _looking(owner_conninfo) as conn:
        for schema in ("public", "mail_search"):
            made = conn.execute("SELECT has_schema_privilege(%s, %s, 'CREATE')", (app, schema)).fetchone()
            assert made == (False,)
        owned = conn.execute("SELECT relname FROM pg_class WHERE relowner = %s::regrole", (app,)).fetchall()
    assert owned == []


def test_whoever_has_no_role_of_ours_may_do_nothing(owner_conninfo: str) -> None:
    assert _held(owner_conninfo, "public") == {}
    with _looking(owner_conninfo) as conn:
        usable = conn.execute("SELECT has_schema_privilege('public', 'public', 'USAGE')").fetchone()
        lent = conn.execute(
            "SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.prosecdef"
            " AND n.nspname IN ('public', 'mail_search') AND p.prorettype <> 'trigger'::regtype"
            " AND has_function_privilege('public', p.oid, 'EXECUTE') AND has_schema_privilege('public', n.oid, 'USAGE')"
        ).fetchall()
    assert usable == (False,)
    assert lent == []


def test_what_replaces_a_function_may_be_called_by_a_service_that_runs(owner_conninfo: str) -> None:
    names = role_names(settings.PM_DATABASE_NAME)
    with psycopg.connect(owner_conninfo) as conn:
        conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(names.owner)))
        conn.execute("CREATE FUNCTION mail_search.replaced() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        conn.execute("REVOKE EXECUTE ON FUNCTION mail_search.replaced() FROM PUBLIC")
        allowed = [
            conn.execute("SELECT has_function_privilege(%s, 'mail_search.replaced()', 'EXECUTE')", (role,)).fetchone()
            for role in (names.app, names.auditor, names.eraser)
        ]
        conn.rollback()
    assert allowed == [(True,), (False,), (False,)]


def test_while_rights_are_given_anew_nobody_has_less_or_more(owner_conninfo: str) -> None:
    names = role_names(settings.PM_DATABASE_NAME)
    asked = "SELECT has_table_privilege(%s, 'agentic_run', 'SELECT'), has_table_privilege(%s, 'agentic_run', 'UPDATE')"
    seen: set[object] = set()
    done = threading.Event()

    def look() -> None:
        with _looking(owner_conninfo) as conn:
            while not done.is_set():
                seen.add(conn.execute(asked, (names.app, names.app)).fetchone())

    looker = threading.Thread(target=look)
    looker.start()
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(names.owner)))
        for _ in range(5):
            grant_rights(conn, names)
    done.set()
    looker.join()
    assert seen == {(True, False)}
