"""The database's roles, and what each may do. Their names begin with the database's.

owner (no login) owns every table · app and auditor log in, own nothing and can't bypass row-level security ·
eraser logs in for the commands that erase, and may delete mail and the words of the audit, which app may not.
Everything here can be repeated.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import Connection, sql
from psycopg.rows import TupleRow

# Tables whose rows may only be added and read by the application, and are what an auditor's login reads.
ADD_ONLY = (
    "agentic_run",
    "agentic_traceevent",
    "agentic_evidence",
    "agentic_sentence",
    "agentic_citation",
    "agentic_widenattempt",
    "agentic_callerattempt",
    "agentic_runfinished",
    "agentic_adminact",
    "agentic_note",
    "agentic_samplednote",
    "agentic_payloadtext",
    "agentic_seal",
)
# Those that it only reads: accesses are added by a function, erasures by the eraser.
READ_ONLY = ("agentic_erasedtext", "agentic_accesslog")
# What the eraser may do: delete mail and words, and write down that it did.
ERASER: Mapping[str, tuple[str, ...]] = {
    "SELECT": (
        "mailsearch_tenant", "mailsearch_mailbox", "mailsearch_folder", "mailsearch_termcount", *ADD_ONLY, *READ_ONLY,
        "agentic_agentpolicy", "agentic_runstate",
    ),
    "SELECT, DELETE": (
        "mailsearch_message", "mailsearch_rawmessage", "mailsearch_participant", "mailsearch_attachment",
        "mailsearch_searchdocument", "mailsearch_passage", "mailsearch_passagevector", "mailsearch_threadkey",
        "agentic_payloadtext",
    ),
    # Threads that were merged into one that goes no longer point to it.
    "SELECT, UPDATE, DELETE": ("mailsearch_thread",),
    # That a source held the message is known on, so that it is not fetched again; which message it was is not.
    "SELECT, UPDATE": ("mailsearch_placement",),
    "SELECT, INSERT": (
        "mailsearch_erasedmessage", "agentic_erasedtext", "agentic_adminact", "agentic_payloadtext", "agentic_seal",
    ),
    "SELECT, INSERT, UPDATE": ("agentic_tenantchain",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RoleNames:
    """The roles of one database."""

    owner: str
    app: str
    auditor: str
    eraser: str


def role_names(database: str) -> RoleNames:
    return RoleNames(*(f"{database}_{role}" for role in ("owner", "app", "auditor", "eraser")))


def make_roles(conn: Connection[TupleRow], names: RoleNames) -> None:
    """Make the roles that are missing. *conn* must be allowed to create roles."""
    for role, login in ((names.owner, False), (names.app, True), (names.auditor, True), (names.eraser, True)):
        found = conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
        if not found:
            conn.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
        conn.execute(
            sql.SQL("ALTER ROLE {} {} NOCREATEDB NOCREATEROLE").format(
                sql.Identifier(role), sql.SQL("LOGIN" if login else "NOLOGIN")
            )
        )


def grant_rights(conn: Connection[TupleRow], names: RoleNames) -> None:
    """Give each role exactly its rights on the tables as they are now. *conn* acts as the owner.

    In one piece: a service that runs meanwhile is never without its rights, nor with more of them.
    """
    with conn.transaction():
        _grant(conn, names)


def _grant(conn: Connection[TupleRow], names: RoleNames) -> None:
    app, auditor, eraser = (sql.Identifier(name) for name in (names.app, names.auditor, names.eraser))
    for role in (app, auditor, eraser):
        conn.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {}").format(role))
        conn.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(role))
    conn.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {}").format(app))
    conn.execute(sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}").format(app))
    for table in (*ADD_ONLY, *READ_ONLY):
        name, taken = sql.Identifier(table), "UPDATE, DELETE" if table in ADD_ONLY else "INSERT, UPDATE, DELETE"
        conn.execute(sql.SQL("REVOKE {} ON {} FROM {}").format(sql.SQL(taken), name, app))
    for table in (*ADD_ONLY, *READ_ONLY, "agentic_tenantchain", "agentic_runstate", "mailsearch_tenant"):
        conn.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(sql.Identifier(table), auditor))
    for rights, tables in ERASER.items():
        for table in tables:
            conn.execute(sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(rights), sql.Identifier(table), eraser))
    conn.execute(sql.SQL("REVOKE DELETE ON agentic_tenantchain FROM {}").format(app))
    conn.execute(sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {}").format(eraser))
    conn.execute(sql.SQL("REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {}").format(app))
    for role in (app, eraser):
        conn.execute(sql.SQL("GRANT USAGE ON SCHEMA mail_search TO {}").format(role))
    conn.execute(sql.SQL("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mail_search TO {}").format(app))
    # What a later migration puts in a function's place is called by the version before as soon as it is there.
    later = sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA mail_search GRANT EXECUTE ON FUNCTIONS TO {}")
    conn.execute(later.format(app))
    # Asked by triggers on what the eraser writes, in its own name.
    conn.execute(sql.SQL("GRANT EXECUTE ON FUNCTION mail_search.is_eraser() TO {}").format(eraser))


def bypass_of(conn: Connection[TupleRow]) -> str | None:
    """Why the session's role could see past row-level security, in words; None if it can't."""
    row = conn.execute("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user").fetchone()
    if row is None or row[1] or row[2]:
        return "the role is a superuser or has BYPASSRLS"
    owned = conn.execute(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
        " AND pg_has_role(current_user, relowner, 'MEMBER') LIMIT 1"
    ).fetchone()
    return f"the role owns the table {owned[0]}, or may become its owner" if owned else None
