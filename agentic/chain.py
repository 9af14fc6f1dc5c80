"""Whether the rows of a run are those that were written: its chain computed again, and its seal looked at.

`state` says it of one run, for the page that shows it; agentic/proving.py reads whole tenants with the same rules.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db import connection
from psycopg import sql

from agentic import links, signing
from agentic.links import ZERO
from agentic.models import Run, Seal

# The tables of a run's rows, the head first.
TABLES = ("run", "traceevent", "evidence", "sentence", "citation", "widenattempt", "runfinished")
Status = Literal["sealed", "open", "broken"]
_JSON = frozenset({"scope", "prompt_hashes", "facts", "coverage", "detail"})
_REFERENCES = frozenset({"tenant", "payload", "author", "sentence", "widen_attempt"})
_WORDS = (
    "LEFT JOIN agentic_payloadtext p ON p.id = x.payload_id LEFT JOIN agentic_erasedtext e ON e.text = x.payload_id"
)
_NAMES = {"traceevent": "event", "runfinished": "end", "widenattempt": "widen attempt", "adminact": "act"}


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it stands in the database. `text` is (salt, content) of its words, None where they are gone."""

    table: str
    run: int
    link: int | None
    hash: bytes | None
    columns: Mapping[str, Any]
    text: tuple[bytes, str] | None
    # An act is on record that deleted its words.
    erased: bool

    @property
    def content(self) -> bytes:
        return links.content(self.table, self.columns)

    @property
    def name(self) -> str:
        what = _NAMES.get(self.table, self.table)
        return f"{what} {self.run}" if self.link is None else f"row {self.link} ({what})"


@dataclass(frozen=True, slots=True)
class RunSeal:
    """What a tenant's chain says of a run."""

    number: int
    count: int
    head: bytes


@dataclass(frozen=True, slots=True)
class ChainState:
    """What can be said of a run's chain now.

    `sealed`: every row is as it was when the run ended, and the tenant's signed chain says so. `open`: the run has not
    ended; its rows so far agree. `broken`: `problems` says what is not as it was.
    """

    status: Status
    count: int
    number: int | None = None
    sealed_at: datetime | None = None
    # The entry of the tenant's chain, as in the run's receipt: its hash in hexadecimal, and the signature.
    head: str = ""
    signature: str = ""
    # Rows whose words were erased or ran out. They are still proved to have been.
    without_words: int = 0
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing was found to be other than it was written."""
        return self.status != "broken"

    @property
    def words(self) -> str:
        """The state in one line for people."""
        if self.status == "broken":
            return f"broken: {'; '.join(self.problems)}"
        if self.status == "open":
            return f"not sealed yet, {self.count} rows so far agree"
        erased = f", the words of {self.without_words} erased on record" if self.without_words else ""
        return f"intact: {self.count} rows{erased}, sealed as entry {self.number} of the tenant's chain"


def state(run: Run) -> ChainState:
    """The state of *run*'s chain, in a session that sees its tenant's audit. Takes one query for its rows."""
    rows = list(_rows_of(run))
    entry = Seal.objects.filter(tenant=run.tenant_id, kind=Seal.Kind.RUN, row=run.pk).first()
    sealed = RunSeal(entry.number, entry.count, bytes(entry.head)) if entry else None
    problems = list(problems_of(rows, sealed))
    if entry is not None:
        problems += problems_of_entry(entry)
    status: Status = "broken" if problems else "sealed" if entry else "open"
    without = sum(row.erased for row in rows)
    if entry is None:
        return ChainState(status, len(rows), without_words=without, problems=tuple(problems))
    head = bytes(entry.hash).hex()
    return ChainState(
        status, len(rows), entry.number, entry.at, head, entry.signature, without, tuple(problems)
    )  # fmt: skip


def problems_of_entry(entry: Seal) -> list[str]:
    """What is wrong with the signature of an entry, in words."""
    wrong = signing.check(entry.number, bytes(entry.hash), entry.signature)
    return [f"entry {entry.number}: {wrong}"] if wrong else []


def problems_of(rows: Iterable[Row], seal: RunSeal | None) -> Iterator[str]:
    """What is not as it was in the *rows* of one run, in words. Rows in any order."""
    chained = sorted((row for row in rows if row.link is not None), key=lambda row: row.link or 0)
    yield from (f"a row of {row.table} stands outside of the chain" for row in rows if row.link is None)
    yield from _gaps(chained)
    previous = ZERO
    broken = False
    for row in chained:
        if links.linked(previous, row.content) != row.hash:
            broken = True
            yield f"{row.name} {_what_happened(row, chained)}"
        previous = row.hash or ZERO
    yield from (wrong for row in chained if (wrong := wrong_text(row)))
    if seal is None:
        return
    if len(chained) != seal.count:
        word = "cut off" if len(chained) < seal.count and not broken else "missing or added"
        yield f"{len(chained)} rows where entry {seal.number} seals {seal.count}: rows were {word}"
    elif previous != seal.head and not broken:
        yield f"the last hash is not the one that entry {seal.number} seals: the chain was written anew"


def _gaps(chained: list[Row]) -> Iterator[str]:
    found = [row.link or 0 for row in chained]
    whole = range(1, (found[-1] if found else 0) + 1)
    missing = sorted(set(whole) - set(found))
    yield from (f"row {number} is missing" for number in missing)
    twice = sorted({number for number in found if found.count(number) > 1}) if len(found) != len(set(found)) else []
    yield from (f"row {number} is there twice" for number in twice)


def _what_happened(row: Row, chained: list[Row]) -> str:
    """A row that fits behind another one of its run is as it was, and was moved."""
    others = (ZERO, *(other.hash or ZERO for other in chained))
    moved = any(links.linked(previous, row.content) == row.hash for previous in others)
    if not moved:
        return "was changed, or what stood before it was"
    before = {other.link: other.hash for other in chained}
    gap = (row.link or 0) - 1 not in before and row.link != 1
    return "follows a gap" if gap else "stands in another place than it was written at: rows were reordered"


def wrong_text(row: Row) -> str:
    """What is wrong with the words of *row*, in words; empty where nothing is."""
    kept = row.columns.get("text_hmac")
    if kept is None:
        return ""
    if row.text is None:
        return "" if row.erased else f"the words of {row.name} are gone, and no act is on record that erased them"
    return "" if links.text_hmac(*row.text) == bytes(kept) else f"the words of {row.name} were changed"


def select(table: str) -> sql.Composed:
    """The query for rows of *table* as `row_of` reads them, to be followed by a condition on `x`.

    Rows that belong to no run come under their own id, without place and hash.
    """
    columns = [_selected(table, name) for name in links.CHAINED[table]]
    worded = "payload" in links.CHAINED[table]
    cited = sql.SQL(" LEFT JOIN agentic_sentence s ON s.id = x.sentence_id" if table == "citation" else "")
    in_run = table in TABLES
    # row_of reads in this order.
    return sql.SQL("SELECT {}, {}, {}, {} FROM {} x {}{}").format(
        sql.SQL("x.run_id" if in_run and table != "run" else "x.id"),
        sql.SQL("x.link, x.hash" if in_run else "NULL::integer, NULL::bytea"),
        sql.SQL("p.salt, p.content, e.text IS NOT NULL" if worded else "NULL::bytea, NULL::text, false"),
        sql.SQL(", ").join(columns),
        sql.Identifier(f"agentic_{table}"),
        sql.SQL(_WORDS if worded else ""),
        cited,
    )


def row_of(table: str, found: tuple[Any, ...]) -> Row:
    """A row from what `select` gave."""
    run, link, hash_, salt, words, erased, *columns = found
    text = None if words is None else (bytes(salt), words)
    values = dict(zip(links.CHAINED[table], columns, strict=True))
    for name in _JSON & values.keys():
        values[name] = json.loads(values[name])
    return Row(table, run, link, None if hash_ is None else bytes(hash_), values, text, erased and text is None)


def _selected(table: str, name: str) -> sql.Composable:
    if table == "citation" and name == "sentence":
        return sql.SQL("s.link")
    column = sql.Identifier(f"{name}_id" if name in _REFERENCES else name)
    # As text, because connections differ in what they make of JSON.
    return sql.SQL("x.{}::text" if name in _JSON else "x.{}").format(column)


def _rows_of(run: Run) -> Iterator[Row]:
    with connection.cursor() as cursor:
        for table in TABLES:
            where = sql.SQL(" WHERE x.id = %s" if table == "run" else " WHERE x.run_id = %s")
            cursor.execute((select(table) + where).as_string(cursor.connection), [run.pk])
            yield from (row_of(table, found) for found in cursor.fetchall())
