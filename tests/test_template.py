"""The copy that tests get of a database made once is the one that its own migrations would have made."""

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from psycopg import sql
from psycopg.conninfo import make_conninfo

from agentic.server.roles import role_names
from tests import template

pytestmark = pytest.mark.django_db
# Every role that anything of the current database is owned by, or grants something to.
_ROLES = """
    SELECT DISTINCT rolname FROM pg_shdepend JOIN pg_roles ON pg_roles.oid = refobjid
    JOIN pg_database ON datname = current_database() AND (dbid = pg_database.oid OR objid = pg_database.oid)
    WHERE refclassid = 'pg_authid'::regclass AND rolname NOT LIKE 'pg\\_%'
"""


def test_nothing_in_the_copy_belongs_to_the_roles_of_the_template(owner_conninfo: str) -> None:
    names = role_names(settings.PM_DATABASE_NAME)
    with psycopg.connect(owner_conninfo) as conn:
        found = {name for (name,) in conn.execute(_ROLES)}
    assert found == {names.owner, names.app, names.auditor, names.eraser}


def test_the_copy_lacks_no_migration(owner_conninfo: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("migrate", plan=True)
    assert "No planned migration operations." in capsys.readouterr().out


def test_there_is_one_template_and_nobody_can_be_in_it_while_it_is_copied(owner_conninfo: str) -> None:
    assert _named(owner_conninfo, template.PREFIX) == [f"{template.PREFIX}{template.fingerprint()}"]
    with pytest.raises(psycopg.OperationalError, match="not currently accepting connections"):
        psycopg.connect(make_conninfo(owner_conninfo, dbname=f"{template.PREFIX}{template.fingerprint()}"))


def test_a_template_is_made_once_for_a_state_and_goes_with_it(owner_conninfo: str) -> None:
    prefix, made = f"made_{settings.PM_DATABASE_NAME}_", list[str]()

    def make(name: str) -> None:
        made.append(name)
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def breaks(name: str) -> None:
        make(name)
        raise RuntimeError("interrupted")

    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        for state in ("one", "one", "two"):
            template.the_template(conn, prefix, state, make)
        assert (made, _named(owner_conninfo, prefix)) == ([f"{prefix}one", f"{prefix}two"], [f"{prefix}two"])
        with pytest.raises(RuntimeError, match="interrupted"):
            template.the_template(conn, prefix, "three", breaks)
        template.the_template(conn, prefix, "three", make)
        assert (made[2:], _named(owner_conninfo, prefix)) == ([f"{prefix}three"] * 2, [f"{prefix}three"])
        conn.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE false").format(sql.Identifier(f"{prefix}three")))
        template.drop_database(conn, f"{prefix}three")


def _named(conninfo: str, prefix: str) -> list[str]:
    with psycopg.connect(conninfo) as conn:
        found = conn.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", (prefix,))
        return [name for (name,) in found]
