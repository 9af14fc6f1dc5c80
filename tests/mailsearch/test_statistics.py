"""The planner's statistics follow an import at once."""

import psycopg
import pytest

from mailsearch.ingest import statistics
from mailsearch.ingest.pipeline import ingest
from mailsearch.sessions import dsn
from tests.mailsearch.importing import mail, new_mailbox, source

pytestmark = pytest.mark.django_db(transaction=True)


def _analysed(conninfo: str, table: str) -> int:
    """How often *table* was analysed by hand."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        row = conn.execute("SELECT pg_stat_get_analyze_count(%s::regclass)", [table]).fetchone()
    assert row is not None
    return int(row[0])


def _forget(conninfo: str, table: str) -> None:
    """Let *table* look as if it had never been analysed."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("UPDATE pg_class SET reltuples = -1 WHERE oid = %s::regclass", [table])


def test_an_import_leaves_its_tables_analysed(owner_conninfo: str) -> None:
    _forget(owner_conninfo, "mailsearch_message")
    before = _analysed(owner_conninfo, "mailsearch_message")
    ingest(source(mail("One."), mail("Two.")), mailbox=new_mailbox())
    with psycopg.connect(owner_conninfo) as conn:
        row = conn.execute("SELECT reltuples FROM pg_class WHERE relname = 'mailsearch_message'").fetchone()
    assert row is not None
    assert row[0] > 0
    assert _analysed(owner_conninfo, "mailsearch_message") == before + 1


def test_what_came_a_moment_ago_counts_as_change(owner_conninfo: str) -> None:
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        # The server's own analysis amid the import would take what is counted for known.
        conn.execute("ALTER TABLE mailsearch_message SET (autovacuum_enabled = false)")
        try:
            statistics.refresh()
            before = _analysed(owner_conninfo, "mailsearch_message")
            ingest(source(*(mail(f"Note {number}.") for number in range(300))), mailbox=new_mailbox())
            assert _analysed(owner_conninfo, "mailsearch_message") == before + 1
        finally:
            conn.execute("ALTER TABLE mailsearch_message RESET (autovacuum_enabled)")


def test_little_change_costs_no_analysis() -> None:
    statistics.refresh()
    assert statistics.refresh() == 0


def test_the_app_may_analyse_through_the_function_alone() -> None:
    with psycopg.connect(dsn(), autocommit=True) as conn:
        refused: list[str] = []
        conn.add_notice_handler(lambda notice: refused.append(str(notice.message_primary)))
        conn.execute("ANALYZE mailsearch_message")
        assert any("permission denied" in one for one in refused)
        refused.clear()
        conn.execute("SELECT mail_search.refresh_statistics()")
        assert refused == []
