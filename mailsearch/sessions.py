"""Database sessions that are bound to what one caller may see.

Row-level security reads four settings, each local to one transaction: `app.tenant`, `app.mailboxes`,
`app.quarantined` (only for those who put mail in or set quarantine) and `app.audit` (tenants whose audit may be
read and written). Outside such a transaction a session sees no mail at all.

Async code takes connections from a pool of the running event loop, if one was opened there, and else connects for
the one session; both are psycopg's own, since Django's async ORM would run parallel searches one after another.
"""

import asyncio
import json
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection, transaction
from psycopg import AsyncConnection, conninfo, sql
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from mailsearch.meters import POOL_WAIT_SECONDS
from mailsearch.soundness import is_quiet

Pool = AsyncConnectionPool[AsyncConnection[TupleRow]]
# Statements are prepared where they say so, and by themselves never: a plan that suits every caller's scope suits none.
_ONLY_WHERE_ASKED = 1 << 30
# How long a pool that opens waits for its first session.
_READY_SECONDS = 5.0
# How long somebody waits for a session of a pool.
_POOL_SECONDS = 30.0
_BEGIN_AT_ONE_MOMENT = b"BEGIN ISOLATION LEVEL REPEATABLE READ"
# Whoever holds tables alone keeps searches waiting, and nobody else.
_WARM = """
SELECT mail_search.warm() WHERE NOT EXISTS (
    SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.mode = 'AccessExclusiveLock' AND c.relname LIKE 'mailsearch\\_%')
"""
_AT_ONE_MOMENT = sql.SQL("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
_DECODER = json.JSONDecoder()
# What else a pool's connection is made ready for, before it serves anybody.
_preparing: list[Callable[[AsyncConnection[TupleRow]], Awaitable[None]]] = []
_pools: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pool]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Binding:
    """What a session may see: the values of the settings that row-level security reads."""

    tenant: int | None = None
    mailboxes: frozenset[int] = frozenset()
    include_quarantined: bool = False
    audit: frozenset[int] = field(default=frozenset())
    # Milliseconds after which Postgres stops a statement; 0 leaves the server's own limit.
    statement_timeout_ms: int = 0

    @property
    def settings(self) -> Mapping[str, str]:
        """The values by the names of the settings, the empty ones too: nothing of a transaction before may stay."""
        values = {
            "app.tenant": "" if self.tenant is None else str(self.tenant),
            "app.mailboxes": _array(self.mailboxes),
            "app.quarantined": "included" if self.include_quarantined else "",
            "app.audit": _array(self.audit),
        }
        timeout = {"statement_timeout": str(self.statement_timeout_ms)} if self.statement_timeout_ms else {}
        return {**values, **timeout}

    def statements(self) -> Iterator[sql.Composed]:
        """One `SET LOCAL` for each setting."""
        return (_set_local(name, value) for name, value in self.settings.items())


def _set_local(name: str, value: str) -> sql.Composed:
    return sql.SQL("SET LOCAL {} = {}").format(sql.Identifier(*name.split(".")), sql.Literal(value))


def _array(ids: Iterable[int]) -> str:
    return "{" + ",".join(str(int(one)) for one in sorted(ids)) + "}"


@contextmanager
def bound(binding: Binding, *, at_one_moment: bool = False) -> Iterator[None]:
    """Django's ORM within one transaction that sees what *binding* names.

    With *at_one_moment* all statements see the database as the first one does, where no transaction is open already.
    """
    snapshot = at_one_moment and not connection.in_atomic_block
    with transaction.atomic():
        _execute([*([_AT_ONE_MOMENT] if snapshot else []), *binding.statements()])
        yield


def rebind(binding: Binding) -> None:
    """Within an open transaction of Django's ORM: see what *binding* names from here on."""
    _execute(binding.statements())


def _execute(statements: Iterable[sql.Composable]) -> None:
    with connection.cursor() as cursor:
        script = sql.SQL("; ").join(statements)
        cursor.execute(script.as_string(cursor.connection))


@asynccontextmanager
async def session(binding: Binding) -> AsyncIterator[AsyncConnection[TupleRow]]:
    """A connection within one transaction that sees what *binding* names. Commits at the end, rolls back on error."""
    async with _connection() as conn:
        await conn.execute(_beginning(binding))
        yield conn
        await conn.execute("COMMIT")


@asynccontextmanager
async def piped(binding: Binding, *, at_one_moment: bool = False) -> AsyncIterator[AsyncConnection[TupleRow]]:
    """The same in one trip to the database, for statements of which none waits for another's.

    Whoever reads a row in between waits for it, and for nothing else. An error shows at the block's end. With
    *at_one_moment* all statements see the database as the first one does.
    """
    async with _connection() as conn, _pipeline(conn):
        await conn.execute(_BEGIN_AT_ONE_MOMENT if at_one_moment else b"BEGIN", prepare=True)
        await bind(conn, binding)
        yield conn
        await conn.execute(b"COMMIT", prepare=True)


@asynccontextmanager
async def trip(binding: Binding) -> AsyncIterator[AsyncConnection[TupleRow]]:
    """The same for what only reads, or writes by one statement: the trip is the transaction, with nothing sent for it.

    Whoever reads rows in between is still within it. An error does not take back a statement that is done.
    """
    async with _connection() as conn, _pipeline(conn):
        await bind(conn, binding)
        yield conn


@asynccontextmanager
async def _pipeline(conn: AsyncConnection[TupleRow]) -> AsyncIterator[None]:
    """The connection's pipeline. Where it is broken off, the connection may be gone, and leaving it tells no more."""
    pipeline = conn.pipeline()
    await pipeline.__aenter__()
    try:
        yield
    except BaseException:
        # Left as if nothing had happened, since psycopg would tell the log of each error after the first.
        with suppress(psycopg.Error):
            await pipeline.__aexit__(None, None, None)
        raise
    await pipeline.__aexit__(None, None, None)


async def bind(conn: AsyncConnection[TupleRow], binding: Binding) -> None:
    """Within an open transaction: see what *binding* names from here on. Within a pipeline it does not wait."""
    await conn.execute(*_bound(binding), prepare=True)


@lru_cache(1000)
def _bound(binding: Binding) -> tuple[bytes, list[str]]:
    """The statement that binds a transaction, the same for all bindings, and its values."""
    names = [sql.SQL("set_config({}, %s, true)").format(sql.Literal(name)) for name in binding.settings]
    return sql.SQL("SELECT {}").format(sql.SQL(", ").join(names)).as_bytes(None), list(binding.settings.values())


def unbound() -> AbstractAsyncContextManager[AsyncConnection[TupleRow]]:
    """A connection without a transaction, for single statements. It sees no mail, unless one of them binds itself."""
    return _connection()


@lru_cache(1000)
def _beginning(binding: Binding) -> bytes:
    """Statements that are sent as one: a transaction begun, and bound."""
    return b"; ".join([b"BEGIN", *(statement.as_bytes(None) for statement in binding.statements())])


@asynccontextmanager
async def pool(*, size: int | None = None) -> AsyncIterator[None]:
    """Within this block, sessions of the running event loop come from a bounded pool."""
    loop = asyncio.get_running_loop()
    if loop in _pools:
        yield
        return
    opened: Pool = AsyncConnectionPool(
        dsn(),
        min_size=1,
        max_size=size or settings.PM_POOL_SIZE,
        timeout=_POOL_SECONDS,
        open=False,
        configure=_warm,
        kwargs={"prepare_threshold": _ONLY_WHERE_ASKED, "autocommit": True},
    )
    await opened.open()
    with suppress(PoolTimeout):
        # Whoever comes first finds a session that is ready; where there is none yet, they wait for it themselves.
        await opened.wait(_READY_SECONDS)
    _pools[loop] = opened
    try:
        yield
    finally:
        del _pools[loop]
        await opened.close()


def _connection() -> AbstractAsyncContextManager[AsyncConnection[TupleRow]]:
    opened = _pools.get(asyncio.get_running_loop())
    return _Lent(opened) if opened is not None else _connected()


@asynccontextmanager
async def _connected() -> AsyncIterator[AsyncConnection[TupleRow]]:
    conn = await AsyncConnection.connect(dsn(), autocommit=True, prepare_threshold=None)
    try:
        yield conn
    finally:
        await conn.close()


class _Lent(AbstractAsyncContextManager[AsyncConnection[TupleRow]]):
    """A connection of the pool that the server still holds: any other fails one request. Raises PoolTimeout.

    A class of its own: every search takes one, and generators within generators cost more than the pool does.
    """

    def __init__(self, opened: Pool) -> None:
        self._opened = opened

    async def __aenter__(self) -> AsyncConnection[TupleRow]:
        began = time.perf_counter()
        self._conn = await _sound_one(self._opened)
        POOL_WAIT_SECONDS.observe(time.perf_counter() - began)
        return self._conn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is not None:
                await _abandon(self._conn)
        finally:
            await self._opened.putconn(self._conn)


def prepares(
    preparing: Callable[[AsyncConnection[TupleRow]], Awaitable[None]],
) -> Callable[[AsyncConnection[TupleRow]], Awaitable[None]]:
    """*preparing* is called with each new connection of a pool, which sees no mail yet."""
    _preparing.append(preparing)
    return preparing


def _from_json(data: str | bytes) -> Any:
    """What `json.loads` reads, which first looks for encoding and white space: the server's have none around them."""
    return _DECODER.raw_decode(data if isinstance(data, str) else data.decode())[0]


async def _warm(conn: AsyncConnection[TupleRow]) -> None:
    """Have the server make ready what searches need; a session that it could not do this for serves as well."""
    set_json_loads(_from_json, conn)
    with suppress(psycopg.errors.UndefinedFunction):
        if await (await conn.execute(_WARM)).fetchone():
            for preparing in _preparing:
                await preparing(conn)


async def _sound_one(opened: Pool) -> AsyncConnection[TupleRow]:
    until = time.monotonic() + _POOL_SECONDS
    while True:
        conn = await opened.getconn(until - time.monotonic())
        try:
            if await _is_sound(conn):
                return conn
        except asyncio.CancelledError:
            await opened.putconn(conn)
            raise
        await conn.close()
        await opened.putconn(conn)


async def _is_sound(conn: AsyncConnection[TupleRow]) -> bool:
    if is_quiet(conn):
        return True
    try:
        await AsyncConnectionPool.check_connection(conn)
    except psycopg.Error:
        return False
    return True


async def _abandon(conn: AsyncConnection[TupleRow]) -> None:
    """Leave a connection to the next one who needs it, out of the transaction that an error broke off."""
    # Cancelled on its way out of a pipeline, it may stay in it.
    if conn.pgconn.pipeline_status == PipelineStatus.OFF:
        with suppress(psycopg.Error):
            await conn.rollback()
    if (conn.pgconn.pipeline_status, conn.pgconn.transaction_status) != (PipelineStatus.OFF, TransactionStatus.IDLE):
        await conn.close()


def dsn() -> str:
    """The connection string of Django's default database, for code that talks to psycopg itself."""
    parameters: dict[str, Any] = connection.get_connection_params()
    known = {
        key: parameters[key] for key in ("dbname", "user", "password", "host", "port", "options") if key in parameters
    }
    return conninfo.make_conninfo("", **known)
