"""The audit of a whole tenant proved: every row looked at again, as a stream, so that size costs time and no memory.

Each finding says in words what is not as it was. What can't be found without an anchor (agentic/anchors.py) is that the
chain once went further: whoever may do everything in the database can cut off its last entries with all that they seal.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from agentic import chain, links, signing
from agentic.batches import KINDS
from agentic.chain import Row, RunSeal
from agentic.links import ZERO, RunChain
from agentic.models import Seal
from agentic.tables import SAMPLE
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, dsn

_BATCH = 2000
# Beyond these, what was moved is no longer told from what was changed: that takes the square of the entries.
_SEARCHED_AT_MOST = 20
_SEAL = ("tenant", "kind", "subject", "row", "count", "head", "at", "number", "hash", "signature")


@dataclass(slots=True)
class Proof:
    """What was looked at in one tenant, and the end of its chain. Filled while `prove` runs."""

    tenant: Tenant
    runs: int = 0
    rows: int = 0
    entries: int = 0
    # Runs that have not ended; rows of batches that came since the last seal; rows whose words were erased on record.
    open_runs: int = 0
    unsealed: int = 0
    without_words: int = 0
    number: int = 0
    head: bytes = ZERO
    signature: str = ""
    # Hash by number of the entries that an anchor asks for.
    wanted: dict[int, bytes | None] = field(default_factory=dict)


def prove(proof: Proof) -> Iterator[str]:
    """Every finding in the tenant's audit, in words."""
    with psycopg.connect(dsn()) as conn:
        # One state of the database, whatever happens meanwhile.
        conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        conn.read_only = True
        conn.execute(sql.SQL("; ").join(Binding(audit=frozenset({proof.tenant.pk})).statements()))
        yield from _entries(conn, proof)
        yield from _runs(conn, proof)
        for table, kind in (("adminact", Seal.Kind.ACT), ("note", Seal.Kind.NOTE)):
            yield from _single_rows(conn, proof, table, kind)
        yield from _samples(conn, proof)
        for table, kind in KINDS.items():
            yield from _batches(conn, proof, table, kind)
        yield from _erasures(conn, proof)


def _stream(conn: Connection[TupleRow], name: str, query: sql.Composed, proof: Proof) -> Iterator[tuple[Any, ...]]:
    with conn.cursor(name=name) as cursor:
        cursor.itersize = _BATCH
        cursor.execute(query, {"tenant": proof.tenant.pk})
        yield from cursor


def _seals(conn: Connection[TupleRow], proof: Proof, order: str, kind: str = "") -> Iterator[dict[str, Any]]:
    columns = [sql.Identifier("tenant_id" if name == "tenant" else name) for name in _SEAL]
    query = sql.SQL("SELECT {} FROM agentic_seal WHERE tenant_id = %(tenant)s AND ({} = '' OR kind = {}) ORDER BY {}")
    composed = query.format(sql.SQL(", ").join(columns), kind, kind, sql.Identifier(order))
    for row in _stream(conn, f"seals_{order}_{kind}", composed, proof):
        yield dict(zip(_SEAL, row, strict=True))


def _entries(conn: Connection[TupleRow], proof: Proof) -> Iterator[str]:
    """The tenant's chain: numbers, hashes, signatures, and its end."""
    searched = 0
    for seal in _seals(conn, proof, "number"):
        number, previous = seal["number"], proof.head
        if number > proof.number + 1:
            yield _missing(proof.number + 1, number - 1)
        elif number <= proof.number:
            yield f"entry {number} is there twice"
        content = links.content("seal", seal)
        if links.linked(previous, content) != seal["hash"]:
            searched += 1
            moved = searched <= _SEARCHED_AT_MOST and _fits_elsewhere(conn, proof, content, seal["hash"])
            what = "stands in another place than it was written at: entries were reordered" if moved else (
                "was changed, or what stood before it was")  # fmt: skip
            yield f"entry {number} ({_told(seal)}) {what}"
        elif wrong := signing.check(number, bytes(seal["hash"]), seal["signature"]):
            yield f"entry {number} ({_told(seal)}): {wrong}"
        proof.entries += 1
        proof.number, proof.head, proof.signature = number, bytes(seal["hash"]), seal["signature"]
        if number in proof.wanted:
            proof.wanted[number] = proof.head
    yield from _end(conn, proof)


def _end(conn: Connection[TupleRow], proof: Proof) -> Iterator[str]:
    found = conn.execute(
        "SELECT number, head FROM agentic_tenantchain WHERE tenant_id = %s", [proof.tenant.pk]
    ).fetchone()
    number, head = (found[0], bytes(found[1])) if found else (0, ZERO)
    if number > proof.number:
        yield f"the chain was cut: {_missing(proof.number + 1, number)}"
    elif (number, head) != (proof.number, proof.head):
        yield f"the chain's end ({number}) is not its last entry ({proof.number})"


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"


def _told(seal: dict[str, Any]) -> str:
    return f"{seal['kind']} {seal['subject']}".strip()


def _fits_elsewhere(conn: Connection[TupleRow], proof: Proof, content: bytes, own: bytes) -> bool:
    hashes = conn.execute("SELECT hash FROM agentic_seal WHERE tenant_id = %s", [proof.tenant.pk])
    return any(links.linked(bytes(one), content) == own for one in (ZERO, *(row[0] for row in hashes)))


def _runs(conn: Connection[TupleRow], proof: Proof) -> Iterator[str]:
    """Every run with what the tenant's chain says of it."""
    seals = _Ordered(_seals(conn, proof, "row", Seal.Kind.RUN))
    states = sql.SQL("SELECT run_id, status FROM agentic_runstate WHERE tenant_id = %(tenant)s ORDER BY run_id")
    found = _stream(conn, "states", _composed(states), proof)
    ended = _Ordered({"row": run, "status": status} for run, status in found)
    for run, rows in groupby(_run_rows(conn, proof), key=lambda row: row.run):
        yield from (f"run {seal['subject']} (entry {seal['number']}) is gone" for seal in seals.before(run))
        list(ended.before(run))
        seal, state = seals.at(run), ended.at(run)
        yield from _run(proof, list(rows), seal, state["status"] if state else "")
    yield from (f"run {seal['subject']} (entry {seal['number']}) is gone" for seal in seals.rest())


def _run(proof: Proof, rows: list[Row], seal: dict[str, Any] | None, status: str) -> Iterator[str]:
    proof.runs += 1
    proof.rows += len(rows)
    proof.without_words += sum(row.erased for row in rows)
    head = next((row for row in rows if row.table == "run"), None)
    name = f"run {head.columns['public_id']}" if head else f"run {seal['subject']}" if seal else f"run {rows[0].run}"
    sealed = RunSeal(seal["number"], seal["count"], bytes(seal["head"])) if seal else None
    yield from (f"{name}: {problem}" for problem in chain.problems_of(rows, sealed))
    if seal is not None:
        return
    if status in ("queued", "running") and not any(row.table == "runfinished" for row in rows):
        proof.open_runs += 1
    else:
        yield f"{name} has ended, and no entry of the chain seals it"


def _run_rows(conn: Connection[TupleRow], proof: Proof) -> Iterator[Row]:
    """The rows of all runs, those of each run together."""

    def of(table: str) -> Iterator[Row]:
        run = sql.SQL("x.id" if table == "run" else "x.run_id")
        query = chain.select(table) + sql.SQL(" WHERE x.tenant_id = %(tenant)s ORDER BY {}, x.link").format(run)
        return (chain.row_of(table, found) for found in _stream(conn, f"rows_{table}", query, proof))

    return heapq.merge(*(of(table) for table in chain.TABLES), key=lambda row: row.run)


def _single_rows(conn: Connection[TupleRow], proof: Proof, table: str, kind: Seal.Kind) -> Iterator[str]:
    """Rows that are entries by themselves."""
    seals = _Ordered(_seals(conn, proof, "row", kind))
    for row in _rows(conn, proof, table):
        proof.rows += 1
        proof.without_words += row.erased
        yield from (f"{table} {seal['row']} (entry {seal['number']}) is gone" for seal in seals.before(row.run))
        seal = seals.at(row.run)
        if seal is None:
            yield f"{row.name} stands outside of the chain"
        elif links.linked(ZERO, row.content) != seal["head"]:
            yield f"{row.name} (entry {seal['number']}) was changed"
        elif wrong := chain.wrong_text(row):
            yield wrong
    yield from (f"{table} {seal['row']} (entry {seal['number']}) is gone" for seal in seals.rest())


def _samples(conn: Connection[TupleRow], proof: Proof) -> Iterator[str]:
    """Which verdicts were given on which random sample, as their entries say: rates are made of these alone."""
    query = sql.SQL(
        "SELECT coalesce(s.row, n.note_id), s.number, s.subject, n.sample"
        " FROM (SELECT * FROM agentic_seal WHERE tenant_id = %(tenant)s AND kind = 'note' AND subject <> '') s"
        " FULL JOIN (SELECT * FROM agentic_samplednote WHERE tenant_id = %(tenant)s) n ON n.note_id = s.row"
        " WHERE s.subject IS DISTINCT FROM {} || n.sample ORDER BY 1"
    ).format(SAMPLE)
    for note, number, sealed, sample in _stream(conn, "samples", query, proof):
        if sealed is None:
            yield f"note {note} stands in a sample, and its entry knows of none"
        else:
            what = "is gone" if sample is None else "was changed"
            yield f"note {note} (entry {number}): that it was given on a random sample {what}"


def _batches(conn: Connection[TupleRow], proof: Proof, table: str, kind: Seal.Kind) -> Iterator[str]:
    rows = _Ordered({"row": row.run, "found": row} for row in _rows(conn, proof, table))
    first = 1
    for seal in _seals(conn, proof, "row", kind):
        batch = RunChain()
        for one in rows.before(seal["row"] + 1):
            batch.add(table, one["found"].columns)
            if wrong := chain.wrong_text(one["found"]):
                yield wrong
        proof.rows += batch.count
        where = f"{kind} {first} to {seal['row']} (entry {seal['number']})"
        if batch.count != seal["count"]:
            yield f"{where}: {batch.count} rows where {seal['count']} were sealed"
        elif batch.head != seal["head"]:
            yield f"{where}: a row was changed or moved"
        first = seal["row"] + 1
    proof.unsealed += sum(1 for _ in rows.rest())


def _erasures(conn: Connection[TupleRow], proof: Proof) -> Iterator[str]:
    """Tombstones of words are those that the recorded acts name, one by one."""
    query = sql.SQL(
        "SELECT a.id, (a.detail->>'texts')::bigint, a.detail->>'sha256', e.text FROM agentic_adminact a"
        " JOIN agentic_erasedtext e ON e.act_id = a.id WHERE a.tenant_id = %(tenant)s ORDER BY a.id, e.text"
    )
    for act, found in groupby(_stream(conn, "erasures", _composed(query), proof), key=lambda row: row[:3]):
        digest, count = hashlib.sha256(), 0
        for *_, text in found:
            digest.update(text.bytes)
            count += 1
        if (count, digest.hexdigest()) != (act[1], act[2]):
            yield f"act {act[0]} erased other words than its record says"


def _rows(conn: Connection[TupleRow], proof: Proof, table: str) -> Iterator[Row]:
    query = chain.select(table) + sql.SQL(" WHERE x.tenant_id = %(tenant)s ORDER BY x.id")
    return (chain.row_of(table, found) for found in _stream(conn, f"rows_{table}", query, proof))


def _composed(query: sql.SQL) -> sql.Composed:
    return sql.Composed([query])


class _Ordered:
    """A stream in the order of `row`, read beside another one."""

    def __init__(self, found: Iterable[dict[str, Any]]) -> None:
        self._found = iter(found)
        self._next = next(self._found, None)

    def before(self, row: int) -> Iterator[dict[str, Any]]:
        """Those that come before *row*."""
        while self._next is not None and self._next["row"] < row:
            found, self._next = self._next, next(self._found, None)
            yield found

    def at(self, row: int) -> dict[str, Any] | None:
        """The one at *row*, if it is the next."""
        if self._next is None or self._next["row"] != row:
            return None
        found, self._next = self._next, next(self._found, None)
        return found

    def rest(self) -> Iterator[dict[str, Any]]:
        while self._next is not None:
            found, self._next = self._next, next(self._found, None)
            yield found
