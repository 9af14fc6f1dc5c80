"""Whoever forgets the scope sees nothing, and nobody but the owner can change that."""

import psycopg
import pytest
from django.db import connection

from agentic.server.roles import bypass_of
from mailsearch.sessions import dsn

pytestmark = pytest.mark.django_db(transaction=True)

# Tables that hold no mail: configuration, counters, and Django's own.
WITHOUT_MAIL = {
    "mailsearch_tenant", "mailsearch_mailbox", "mailsearch_folder", "mailsearch_mailsource", "mailsearch_grant",
    "mailsearch_grant_mailboxes", "mailsearch_grant_folders", "mailsearch_membership", "mailsearch_apikey",
    "agentic_agentpolicy", "agentic_dailyuse", "agentic_calleruse", "agentic_runstate", "agentic_adminact",
    "agentic_idempotencykey", "agentic_signinattempt", "agentic_seal", "agentic_tenantchain", "agentic_erasedtext",
}  # fmt: skip


def test_every_relation_with_mail_is_covered_by_a_policy(owner_conninfo: str) -> None:
    with psycopg.connect(owner_conninfo) as conn:
        rows = conn.execute(
            "SELECT relname, relkind::text, relrowsecurity FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')"
        ).fetchall()
    ours = [row for row in rows if row[0].startswith(("mailsearch_", "agentic_"))]
    assert [name for name, kind, _ in ours if kind not in ("r", "p")] == []
    assert {name for name, _, secured in ours if not secured} == WITHOUT_MAIL


def test_the_app_cannot_bypass_its_policies() -> None:
    with psycopg.connect(dsn(), autocommit=True) as conn:
        assert bypass_of(conn) is None


def test_a_superuser_is_told_why_it_may_not_serve(owner_conninfo: str) -> None:
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        assert bypass_of(conn) == "the role is a superuser or has BYPASSRLS"


@pytest.mark.parametrize("table", ["mailsearch_message", "mailsearch_attachment", "agentic_run", "agentic_evidence"])
def test_a_bare_select_gives_no_rows(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        assert cursor.fetchone() == (0,)
