"""Whether this process can serve: what it needs, looked at within three seconds and told in plain words.

`fail` only where nothing can be served; what makes answers worse or slower is `warn`. Nothing here names a tenant, an
address or a secret, since whoever asks need not be known.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import psycopg
from django.db.migrations.loader import MigrationLoader
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from agentic import answering, meters
from mailsearch.embeddings import configured_embedder
from mailsearch.sessions import Binding, dsn, session

State = Literal["ok", "warn", "fail"]
_SECONDS = 3.0
# Asked more often than this, the last finding is told again: probes can't be used to keep the database busy.
_FRESH_SECONDS = 3.0
_BACKLOG_LOOKED_AT = 2_000
_BACKLOG_WARNS = 1_000


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    word: str


@dataclass(slots=True)
class Health:
    """What this process knows of itself. `dsn` names the database that is looked at."""

    dsn: Callable[[], str] = dsn
    # How long counting what is to be embedded may take.
    backlog_seconds: float = 1.0
    # None until it was looked up.
    backlog: int | None = None
    backlog_is_whole: bool = True
    _found: tuple[Check, ...] = ()
    _found_at: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def checks(self) -> tuple[Check, ...]:
        """All checks, not older than two seconds."""
        async with self._lock:
            if time.monotonic() - self._found_at > _FRESH_SECONDS:
                self._found = (*await _of_database(self.dsn()), _model(), self._embeddings())
                self._found_at = time.monotonic()
            return self._found

    async def look_up_backlog(self) -> None:
        """Count what waits to be embedded, among the newest passages of each tenant. Raises psycopg.Error."""
        until = time.monotonic() + self.backlog_seconds
        found, whole = 0, True
        async with session(Binding()) as conn:
            cursor = await conn.execute("SELECT id, may_leave FROM mailsearch_tenant ORDER BY id")
            tenants = [(int(tenant), str(consent)) for tenant, consent in await cursor.fetchall()]
        for tenant, consent in tenants:
            if time.monotonic() > until:
                whole = False
                break
            found += await _waiting(tenant, configured_embedder(consent).name, self.backlog_seconds)
        self.backlog, self.backlog_is_whole = found, whole
        meters.BACKLOG.set(found)

    def _embeddings(self) -> Check:
        if self.backlog is None:
            return Check("embeddings", "warn", "not looked at yet")
        least = "" if self.backlog_is_whole else "at least "
        word = f"{least}{self.backlog} of the newest passages wait" if self.backlog else "nothing waits"
        return Check("embeddings", "warn" if self.backlog > _BACKLOG_WARNS else "ok", word)


def is_ready(checks: Iterable[Check]) -> bool:
    return all(check.state != "fail" for check in checks)


async def _of_database(conninfo: str) -> tuple[Check, ...]:
    known = await asyncio.to_thread(_known_migrations)
    try:
        async with asyncio.timeout(_SECONDS), await AsyncConnection.connect(conninfo, autocommit=True) as conn:
            migrations = await _migrations(conn, known)
            sources = () if migrations.state == "fail" else (await _sources(conn),)
            return Check("database", "ok", "answers"), migrations, *sources
    except (psycopg.Error, TimeoutError, OSError):
        return (Check("database", "fail", f"does not answer within {_SECONDS:.0f} s"),)


async def _migrations(conn: AsyncConnection[TupleRow], known: frozenset[tuple[str, str]]) -> Check:
    try:
        cursor = await conn.execute("SELECT app, name FROM django_migrations")
    except psycopg.errors.UndefinedTable:
        return Check("migrations", "fail", "not set up; run manage.py setup_database")
    applied = {(str(app), str(name)) for app, name in await cursor.fetchall()}
    if known - applied:
        return Check("migrations", "fail", "missing; run manage.py setup_database")
    apps = {app for app, _ in known}
    if any(app in apps for app, _ in applied - known):
        return Check("migrations", "warn", "the database is of a newer version")
    return Check("migrations", "ok", "applied")


@lru_cache(1)
def _known_migrations() -> frozenset[tuple[str, str]]:
    """Those of this version. Reading them takes a moment, which no probe waits for twice."""
    return frozenset(MigrationLoader(None).disk_migrations)


async def _sources(conn: AsyncConnection[TupleRow]) -> Check:
    cursor = await conn.execute("SELECT count(*), count(*) FILTER (WHERE error <> '') FROM mailsearch_mailsource")
    total, failing = await cursor.fetchone() or (0, 0)
    if failing:
        return Check("sources", "warn", f"{failing} of {total} report an error")
    return Check("sources", "ok", f"{total} without errors" if total else "none configured")


def _model() -> Check:
    failing = answering.failing()
    if failing is None:
        return Check("model", "ok", "the built-in reader serves")
    if failing[0]:
        return Check("model", "warn", "fails; " + ("the fallback serves" if failing[1:] == (False,) else "tried again"))
    return Check("model", "ok", "configured, and not failing")


async def _waiting(tenant: int, model: str, seconds: float) -> int:
    async with session(Binding()) as conn:
        row = await (
            await conn.execute("SELECT array_agg(id) FROM mailsearch_mailbox WHERE tenant_id = %s", [tenant])
        ).fetchone()
    mailboxes = frozenset(row[0] or ()) if row else frozenset()
    binding = Binding(tenant, mailboxes, include_quarantined=True, statement_timeout_ms=int(1000 * seconds))
    async with session(binding) as conn:
        cursor = await conn.execute(
            "SELECT count(*) FROM (SELECT id FROM mailsearch_passage WHERE tenant_id = %s ORDER BY id DESC LIMIT %s) p"
            " WHERE NOT EXISTS (SELECT FROM mailsearch_passagevector v WHERE v.passage_id = p.id AND v.model = %s)",
            [tenant, _BACKLOG_LOOKED_AT, model],
        )
        found = await cursor.fetchone()
    return int(found[0]) if found else 0
