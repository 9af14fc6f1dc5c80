"""What each role of the database may do to the audit and the mail, asked of the database itself."""

import psycopg
import pytest
from django.apps import apps
from django.conf import settings

from agentic import links
from agentic.server.roles import ADD_ONLY, READ_ONLY, role_names
from tests.agentic.cast import house

pytestmark = pytest.mark.django_db(transaction=True)
PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE")
AUDIT = (*ADD_ONLY, *READ_ONLY, "agentic_tenantchain")


def privileges(conninfo: str, role: str, table: str) -> set[str]:
    with psycopg.connect(conninfo) as conn:
        return {
            one
            for one in PRIVILEGES
            if conn.execute("SELECT has_table_privilege(%s, %s, %s)", (role, table, one)).fetchone() == (True,)
        }


@pytest.mark.parametrize("table", AUDIT)
def test_the_app_adds_and_reads_the_audit_and_nothing_else(owner_conninfo: str, table: str) -> None:
    expected = {"SELECT", "INSERT"} if table in ADD_ONLY else {"SELECT"}
    expected |= {"INSERT", "UPDATE"} if table == "agentic_tenantchain" else set()
    assert privileges(owner_conninfo, role_names(settings.PM_DATABASE_NAME).app, table) == expected


@pytest.mark.parametrize("table", AUDIT)
def test_the_auditor_reads_the_audit_and_changes_nothing(owner_conninfo: str, table: str) -> None:
    assert privileges(owner_conninfo, role_names(settings.PM_DATABASE_NAME).auditor, table) == {"SELECT"}


def test_the_auditor_reads_no_mail(owner_conninfo: str) -> None:
    assert privileges(owner_conninfo, role_names(settings.PM_DATABASE_NAME).auditor, "mailsearch_message") == set()


@pytest.mark.parametrize("table", AUDIT)
def test_the_eraser_deletes_words_and_no_row(owner_conninfo: str, table: str) -> None:
    held = privileges(owner_conninfo, role_names(settings.PM_DATABASE_NAME).eraser, table)
    assert ("DELETE" in held) == (table == "agentic_payloadtext")
    assert "TRUNCATE" not in held
    assert ("UPDATE" in held) == (table == "agentic_tenantchain")


def test_no_login_is_more_than_it_should_be(owner_conninfo: str) -> None:
    names = role_names(settings.PM_DATABASE_NAME)
    with psycopg.connect(owner_conninfo) as conn:
        for role in (names.app, names.auditor, names.eraser):
            found = conn.execute(
                "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, pg_has_role(rolname, %s, 'MEMBER')"
                " FROM pg_roles WHERE rolname = %s",
                (names.owner, role),
            ).fetchone()
            assert found == (False,) * 5


@pytest.mark.parametrize("table", AUDIT)
def test_every_table_refuses_change_and_truncation_by_triggers_that_nobody_switches_off(
    owner_conninfo: str, table: str
) -> None:
    with psycopg.connect(owner_conninfo) as conn:
        found = conn.execute(
            "SELECT tgname, tgenabled::text FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal", (table,)
        ).fetchall()
    always = {name for name, enabled in found if enabled == "A"}
    assert "never_truncated" in always
    assert always & {"add_only", "only_erased", "only_forward"}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE agentic_seal SET count = 0",
        "DELETE FROM agentic_adminact",
        "UPDATE agentic_tenantchain SET number = number - 1",
        "DELETE FROM agentic_tenantchain",
        "TRUNCATE agentic_payloadtext",
        "TRUNCATE agentic_accesslog",
    ],
)
def test_not_even_a_superuser_changes_anything_in_passing(owner_conninfo: str, statement: str) -> None:
    # A key that is made is an act, and so an entry of the chain.
    assert house().jo.key.pk
    with psycopg.connect(owner_conninfo) as conn:
        # Ordinary triggers are silent then.
        conn.execute("SET session_replication_role = replica")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(statement.encode())


@pytest.mark.parametrize("table", links.CHAINED)
def test_the_hash_of_a_row_covers_every_column(table: str) -> None:
    """Whoever adds a column decides: it is covered (and old rows keep their own rule), or it stands here."""
    model = apps.get_model("agentic", table)
    aside = {"id", "run", "link", "hash"} | ({"number", "hash", "signature"} if table == "seal" else set())
    assert {column.name for column in model._meta.concrete_fields} - aside == set(links.CHAINED[table])
