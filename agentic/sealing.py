"""A chain closed: its length and last hash go into the tenant's chain, signed, in the transaction that ends it."""

import logging
from collections.abc import Mapping

from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.rows import TupleRow

from agentic.chain import TABLES
from agentic.links import ZERO, RunChain
from agentic.models import Seal
from agentic.tenant_chain import ADD_AND_MOVE, TAKE, entry

Connection = AsyncConnection[TupleRow]
_log = logging.getLogger(__name__)


async def take(conn: Connection, tenant: int) -> AsyncCursor[TupleRow]:
    """Take the next place in the tenant's chain, which nobody else gets until the open transaction ends.

    Gives what `seal` needs; within a pipeline it does not wait.
    """
    return await conn.execute(TAKE, {"tenant": tenant, "zero": ZERO}, prepare=True)


async def seal(
    conn: Connection, place: AsyncCursor[TupleRow], tenant: int, kind: Seal.Kind, row: int, chain: RunChain,
    subject: str = "",
) -> Mapping[str, object]:  # fmt: skip
    """Put *chain* at the *place* that was taken. *row* is the run, or the last of a batch. Returns the new entry."""
    taken = await place.fetchone()
    assert taken is not None
    values = entry(tenant, kind, subject, row, chain.count, chain.head, taken)
    await conn.execute(ADD_AND_MOVE, values, prepare=True)
    return values


def log(sealed: Mapping[str, object]) -> None:
    """Tell the log of an entry once it is committed: a second place, out of the database's reach, that knows it."""
    head = sealed["hash"]
    told = {
        "tenant": sealed["tenant"],
        "kind": str(sealed["kind"]),
        "subject": sealed["subject"],
        "number": sealed["number"],
        "head": head.hex() if isinstance(head, bytes) else "",
        "signature": sealed["signature"],
    }
    words = " ".join(f"{name}={value}" for name, value in told.items() if value != "")
    _log.info("sealed %s", words, extra={"seal": told})


async def chain_of(conn: Connection, run: int) -> RunChain:
    """Where the chain of a run stands in the database."""
    of_table = sql.SQL("(SELECT link, hash FROM {} WHERE {} = %(run)s AND link > 0 ORDER BY link DESC LIMIT 1)")
    last = sql.SQL(" UNION ALL ").join(
        of_table.format(sql.Identifier(f"agentic_{table}"), sql.Identifier("id" if table == "run" else "run_id"))
        for table in TABLES
    )
    cursor = await conn.execute(sql.SQL("{} ORDER BY link DESC LIMIT 1").format(last), {"run": run})
    row = await cursor.fetchone()
    return RunChain(row[0], bytes(row[1])) if row else RunChain()
