"""Bring a database to the state that this version needs: roles, extension, tables, rights."""

from contextlib import suppress

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from agentic.server.roles import RoleNames, grant_rights, make_roles, role_names
from mailsearch.ingest import language

# Whoever comes after a change of a table that waits for its lock waits too: so it gives up, and can be repeated.
_LOCK_TIMEOUT = "10s"


def setup_database(admin: str, database: str, *, verbosity: int = 0) -> RoleNames:
    """Make *database*, its roles and tables, or bring them up to date.

    *admin* is the connection string of a login that may create roles and databases, in any database of the server.
    """
    names = role_names(database)
    with psycopg.connect(admin, autocommit=True) as conn:
        make_roles(conn, names)
        if not conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone():
            conn.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(database), sql.Identifier(names.owner))
            )
    with psycopg.connect(make_conninfo(admin, dbname=database), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        conn.execute(sql.SQL("ALTER SCHEMA public OWNER TO {}").format(sql.Identifier(names.owner)))
        conn.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        conn.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    _migrate(make_conninfo(admin, dbname=database), names, verbosity)
    with psycopg.connect(make_conninfo(admin, dbname=database), autocommit=True) as conn:
        conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(names.owner)))
        grant_rights(conn, names)
    # Importers unpack it each time where it can't be kept.
    with suppress(OSError):
        language.lay_out_model(settings.PM_DATA)
    return names


def _migrate(admin: str, names: RoleNames, verbosity: int) -> None:
    """Run the migrations as the owner, over a connection that exists for this alone."""
    parameters = conninfo_to_dict(admin)
    # Everything that the app's connection is set to, but another login.
    connections.databases["owner"] = {
        **connections.databases["default"],
        "NAME": str(parameters.get("dbname", "")),
        "USER": str(parameters.get("user", "") or ""),
        "PASSWORD": str(parameters.get("password", "") or ""),
        "HOST": str(parameters.get("host", "") or ""),
        "PORT": str(parameters.get("port", "") or ""),
        "OPTIONS": {"options": f"-c role={names.owner} -c lock_timeout={_LOCK_TIMEOUT}"},
    }
    try:
        call_command("migrate", database="owner", interactive=False, verbosity=verbosity)
    finally:
        connections["owner"].close()
        del connections["owner"]
        del connections.databases["owner"]
