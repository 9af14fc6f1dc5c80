"""Rows that come too often to wait for each other are bound into their tenant's chain in batches, soon after they came.

Accesses and widen attempts outside of runs: a batch is a chain of its own over its rows in the order of their ids, and
its length and last hash are an entry of the tenant's chain. Until then (some seconds, while a server runs) a row is
guarded by rights and triggers alone.
"""

from collections.abc import Mapping
from types import MappingProxyType

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from agentic import sealing
from agentic.chain import row_of, select
from agentic.links import RunChain
from agentic.models import Seal
from mailsearch.sessions import Binding, session

Connection = AsyncConnection[TupleRow]
KINDS: Mapping[str, Seal.Kind] = MappingProxyType(
    {"accesslog": Seal.Kind.ACCESSES, "callerattempt": Seal.Kind.ATTEMPTS}
)
# As in migrations/0008: held alone, it says that no row is under way.
_ALONE = "SELECT pg_advisory_xact_lock(1633903475, 0)"
_ROWS_AT_MOST = 2000
_LAST = "coalesce((SELECT max(s.row) FROM agentic_seal s WHERE s.tenant_id = t.id AND s.kind = %(kind)s), 0)"


async def seal_new() -> int:
    """Seal what came since the last time, in every tenant. Returns how many rows were sealed."""
    return sum([await _seal_table(table, await _horizon(table)) for table in KINDS])


async def _horizon(table: str) -> int:
    """The number up to which every row of *table* is there: those that are being written come after it."""
    async with session(Binding()) as conn:
        await conn.execute(_ALONE)
        sequence = await conn.execute("SELECT pg_get_serial_sequence(%s, 'id')", [f"agentic_{table}"])
        name = await sequence.fetchone()
        assert name is not None
        cursor = await conn.execute(sql.SQL("SELECT last_value FROM {}").format(sql.Identifier(*name[0].split("."))))
        row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def _seal_table(table: str, horizon: int) -> int:
    sealed = 0
    for tenant in await _waiting(table, horizon):
        while count := await _seal_batch(table, tenant, horizon):
            sealed += count
    return sealed


async def _waiting(table: str, horizon: int) -> list[int]:
    """Tenants with rows that are not sealed yet."""
    async with session(Binding()) as conn:
        cursor = await conn.execute("SELECT id FROM mailsearch_tenant")
        tenants = [int(row[0]) for row in await cursor.fetchall()]
    async with session(Binding(audit=frozenset(tenants))) as conn:
        statement = sql.SQL(
            "SELECT t.id FROM mailsearch_tenant t WHERE EXISTS (SELECT 1 FROM {} x"
            " WHERE x.tenant_id = t.id AND x.id <= %(horizon)s AND x.id > {})"
        ).format(sql.Identifier(f"agentic_{table}"), sql.SQL(_LAST))
        cursor = await conn.execute(statement, {"kind": KINDS[table], "horizon": horizon})
        return [int(row[0]) for row in await cursor.fetchall()]


class _NothingLeft(Exception):
    """Somebody else was faster. It is raised so that the place in the tenant's chain goes back."""


async def _seal_batch(table: str, tenant: int, horizon: int) -> int:
    try:
        return await _seal_rows(table, tenant, horizon)
    except _NothingLeft:
        return 0


async def _seal_rows(table: str, tenant: int, horizon: int) -> int:
    async with session(Binding(audit=frozenset({tenant}))) as conn:
        # First the tenant's place, so that nobody else seals the same rows.
        place = await sealing.take(conn, tenant)
        rows = select(table) + sql.SQL(
            " WHERE x.tenant_id = %(tenant)s AND x.id <= %(horizon)s"
            " AND x.id > (SELECT {} FROM mailsearch_tenant t WHERE t.id = %(tenant)s) ORDER BY x.id LIMIT %(most)s"
        ).format(sql.SQL(_LAST))
        values = {"tenant": tenant, "horizon": horizon, "kind": KINDS[table], "most": _ROWS_AT_MOST}
        found = await (await conn.execute(rows, values)).fetchall()
        if not found:
            raise _NothingLeft
        chain = RunChain()
        for row in found:
            chain.add(table, row_of(table, row).columns)
        sealed = await sealing.seal(conn, place, tenant, KINDS[table], int(found[-1][0]), chain)
    sealing.log(sealed)
    return len(found)
