"""The database that every test session gets a copy of.

Migrating costs ten seconds of processor time and gives the same tables each time. So they are made once for a state of
the migrations, as a template that nobody may connect to, kept in the folder of the tests' data beside its server. It
goes when that state changes.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo

from agentic.server import roles, setup

PREFIX = "template_for_tests_"
# Only one that was made to its end is marked as a template.
_FOUND = "SELECT datname, datistemplate FROM pg_database WHERE starts_with(datname, %s)"
# What sessions that begin at once on one server wait for: one makes the template, and none drops what another copies.
_LOCK = 4_733_001


def copy_template(admin: str, database: str) -> None:
    """Make *database* with its roles as `setup_database` would, from a template that is made if need be.

    *admin* is the connection string of a superuser. There must be no database of that name.
    """
    names = roles.role_names(database)
    with psycopg.connect(admin, autocommit=True) as conn, _alone(conn):
        template = the_template(conn, PREFIX, fingerprint(), lambda name: setup.setup_database(admin, name))
        roles.make_roles(conn, names)
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*map(sql.Identifier, (database, template))))
        conn.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(*map(sql.Identifier, (database, names.owner))))
        # No test pulls the plug, and waiting for the disk at each of some hundred thousand commits takes minutes.
        conn.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(sql.Identifier(database)))
    with psycopg.connect(make_conninfo(admin, dbname=database), autocommit=True) as conn:
        _hand_over(conn, roles.role_names(template), names)


def the_template(conn: Connection[Any], prefix: str, state: str, make: Callable[[str], object]) -> str:
    """The name of the one template that begins with *prefix*: that of *state*, for which *make* makes a database.

    One of another state, or one that was not made to its end, is dropped.
    """
    template = f"{prefix}{state}"
    for name, ready in conn.execute(_FOUND, (prefix,)).fetchall():
        if name != template or not ready:
            conn.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE false").format(sql.Identifier(name)))
            drop_database(conn, name)
    if not conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", (template,)).fetchone():
        make(template)
        _close(conn, template)
    return template


def fingerprint() -> str:
    """Sixteen hex digits that change with anything that the tables, the rights or the rows made beside them rest on."""
    digest = hashlib.sha256(f"{version('django')} {version('psycopg')}".encode())
    for path in _sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for model in apps.get_models():
        # Of each there is a row of its kind, and one of each permission.
        meta: Any = model._meta
        digest.update(repr((meta.label, meta.default_permissions, meta.permissions)).encode())
    return digest.hexdigest()[:16]


def drop_database(conn: Connection[Any], database: str) -> None:
    """Remove *database* and its roles, whoever is connected to it."""
    names = roles.role_names(database)
    conn.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))
    for role in (names.app, names.auditor, names.eraser, names.owner):
        conn.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))


def _sources() -> Iterator[Path]:
    for module in (setup, roles):
        yield Path(str(module.__file__))
    for app in apps.get_app_configs():
        yield from sorted(Path(app.path, "migrations").glob("*.py"))


@contextmanager
def _alone(conn: Connection[Any]) -> Iterator[None]:
    conn.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    try:
        yield
    finally:
        conn.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def _close(conn: Connection[Any], template: str) -> None:
    """Mark it as whole. A database that anybody is connected to can't be copied, so nobody may be."""
    name = sql.Identifier(template)
    # The template's roles would own it, and what they own goes over to the copy's.
    conn.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(name))
    conn.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE true ALLOW_CONNECTIONS false").format(name))


def _hand_over(conn: Connection[Any], former: roles.RoleNames, names: roles.RoleNames) -> None:
    """Give the copy's roles what the template's own and may do in it."""
    conn.execute(sql.SQL("REASSIGN OWNED BY {} TO {}").format(*map(sql.Identifier, (former.owner, names.owner))))
    # The owner's, too: what it gives with all that it makes later is neither owned nor handed over.
    for role in (former.app, former.auditor, former.eraser, former.owner):
        conn.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(names.owner)))
    roles.grant_rights(conn, names)
