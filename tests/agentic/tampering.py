"""What somebody with every right in the database can do to the audit, and how it is put back for the next test."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg import sql

from agentic.chain import TABLES

ALL = (
    *TABLES,
    "runstate",
    "payloadtext",
    "erasedtext",
    "adminact",
    "note",
    "samplednote",
    "accesslog",
    "callerattempt",
    "seal",
    "tenantchain",
)
_OWN = "tenant_id = %(tenant)s"


@contextmanager
def tampered(conninfo: str, tenant: int, *statements: str) -> Iterator[None]:
    """Within this block the *statements* have been done to the audit, triggers and foreign keys or not.

    `%(tenant)s` in them is the tenant. Its rows are put back afterwards.
    """
    with psycopg.connect(conninfo) as conn:
        for table in ALL:
            conn.execute(_told(f"CREATE TABLE kept_{table} AS SELECT * FROM agentic_{table} WHERE {_OWN}", tenant))
        _without_guards(conn, tenant, statements)
    try:
        yield
    finally:
        with psycopg.connect(conninfo) as conn:
            _without_guards(
                conn, tenant, [f"DELETE FROM agentic_{table} WHERE tenant_id = %(tenant)s" for table in ALL]
            )
            put_back = [
                f"INSERT INTO agentic_{table} OVERRIDING SYSTEM VALUE SELECT * FROM kept_{table}" for table in ALL
            ]
            _without_guards(conn, tenant, put_back)
            for table in ALL:
                conn.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(f"kept_{table}")))


def _told(statement: str, tenant: int) -> bytes:
    return statement.replace("%(tenant)s", str(tenant)).encode()


def _without_guards(conn: "psycopg.Connection[tuple[object, ...]]", tenant: int, statements: Sequence[str]) -> None:
    guards = conn.execute(
        "SELECT c.relname, t.tgname, t.tgenabled::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " WHERE c.relname = ANY(%s)",
        [[f"agentic_{table}" for table in ALL]],
    ).fetchall()
    tables = sorted({str(name) for name, *_ in guards})
    for table in tables:
        conn.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER ALL").format(sql.Identifier(table)))
    for statement in statements:
        conn.execute(_told(statement, tenant))
    for table in tables:
        conn.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER ALL").format(sql.Identifier(table)))
    enable = sql.SQL("ALTER TABLE {} ENABLE ALWAYS TRIGGER {}")
    for name, trigger, enabled in guards:
        if enabled == "A":
            conn.execute(enable.format(sql.Identifier(str(name)), sql.Identifier(str(trigger))))
