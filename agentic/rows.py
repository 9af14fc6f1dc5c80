"""Rows of the audit, written over psycopg: with their words apart, and bound to the row before where they are chained.

Nothing here waits for an answer unless an id is asked for, so that within a pipeline many rows take one trip.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import Field, JSONField, Model
from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from agentic import links
from agentic.links import RunChain
from agentic.payloads import PayloadText, Worded

Connection = AsyncConnection[TupleRow]
Columns = tuple["Field[Any, Any]", ...]


@dataclass(frozen=True, slots=True)
class Clock:
    """The database's time, read once and carried on by this machine's steady clock: rows need not ask for it."""

    moment: datetime
    # On `time.monotonic`, when it was read.
    read_at: float

    @classmethod
    def reading(cls, moment: datetime) -> "Clock":
        return cls(moment, time.monotonic())

    def now(self) -> datetime:
        return self.moment + timedelta(seconds=time.monotonic() - self.read_at)


async def add(conn: Connection, table: type[Model], chain: RunChain | None = None, **values: object) -> int:
    """Insert one row of *table* with the columns and words in *values* and else their defaults; returns its id.

    With a *chain* the row is its next link. For a citation `sentence_link` is the position of its sentence in it.
    """
    text, statement, given = _prepared(table, chain, values, returning=True)
    row = await (await conn.execute(statement, given)).fetchone()
    assert row is not None
    number = int(row[0])
    if text is not None:
        # The head of a run is where its own words belong.
        await _put_text(conn, table, text, {"run": number, **values} if table.__name__ == "Run" else values)
    return number


async def put(conn: Connection, table: type[Model], chain: RunChain | None = None, **values: object) -> None:
    """The same for rows whose id nobody needs; within a pipeline it does not wait."""
    text, statement, given = _prepared(table, chain, values, returning=False)
    await conn.execute(statement, given)
    if text is not None:
        await _put_text(conn, table, text, values)


async def draw(conn: Connection, table: type[Model], count: int) -> list[int]:
    """Ids for *count* rows to come, in one trip: so that others can name them before they are there."""
    cursor = await conn.execute(
        "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", (table._meta.db_table, count)
    )
    return [int(row[0]) for row in await cursor.fetchall()]


def _prepared(
    table: type[Model], chain: RunChain | None, values: Mapping[str, object], *, returning: bool
) -> tuple[links.Text | None, bytes, list[object]]:
    """The words of the row, the statement that inserts it, and the statement's parameters."""
    named = _words(table)
    words = {name: _json_ready(value) for name, value in values.items() if name in named}
    own = {name: value for name, value in values.items() if name not in named}
    text = links.text(words) if words else None
    if text is not None:
        own |= {"payload": text.id, "text_hmac": text.hmac}
    bound = frozenset({"link", "hash"}) if chain is not None else frozenset()
    statement, columns = _insertion(table, frozenset(own) | bound, returning=returning)
    row = {column.name: _plain(column, own) for column in columns}
    if chain is not None:
        name = table._meta.model_name or ""
        # Of what a row does not give, Postgres makes NULL.
        linked = {"sentence": values["sentence_link"]} if "sentence_link" in values else {}
        chain.add(name, dict.fromkeys(links.CHAINED[name]) | row | linked)
        row |= {"link": chain.count, "hash": chain.head}
    return text, statement, [_adapted(column, row[column.name]) for column in columns]


async def _put_text(conn: Connection, table: type[Model], text: links.Text, values: Mapping[str, object]) -> None:
    statement, columns = _insertion(
        PayloadText,
        frozenset({"id", "tenant", "run", "message", "kind", "salt", "content"}),
        returning=False,
    )
    row: dict[str, object] = {
        "id": text.id,
        "tenant": values["tenant"],
        "run": values.get("run"),
        "message": values.get("message_id", ""),
        "kind": table.KIND if issubclass(table, Worded) else "",
        "salt": text.salt,
        "content": text.content,
    }
    await conn.execute(statement, [row[column.name] for column in columns])


@lru_cache(64)
def _words(table: type[Model]) -> frozenset[str]:
    """Names of the words of *table*, which stand apart."""
    if not issubclass(table, Worded):
        return frozenset()
    return frozenset(name for name, value in vars(table).items() if isinstance(value, property) and value.fset)


@lru_cache(64)
def _insertion(table: type[Model], names: frozenset[str], *, returning: bool) -> tuple[bytes, Columns]:
    """The statement that inserts a row, and the columns that it sets in their order."""
    columns = tuple(
        column
        for column in table._meta.concrete_fields
        if column.name in names or (column.has_default() and not column.has_db_default() and not column.primary_key)
    )
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table._meta.db_table),
        sql.SQL(", ").join(sql.Identifier(str(column.column)) for column in columns),
        sql.SQL(", ").join(sql.Placeholder() for _ in columns),
    )
    if returning:
        statement += sql.SQL(" RETURNING {}").format(sql.Identifier(str(table._meta.pk.column)))
    return statement.as_bytes(None), columns


def _plain(column: "Field[Any, Any]", values: Mapping[str, object]) -> object:
    """What the column will hold, as a value that psycopg would read from it."""
    value = values[column.name] if column.name in values else column.get_default()
    if isinstance(column, JSONField):
        return _json_ready(value)
    return _storable(value) if isinstance(value, str) else value


def _adapted(column: "Field[Any, Any]", value: object) -> object:
    return Jsonb(value) if isinstance(column, JSONField) else value


def _storable(text: str) -> str:
    """*text* as Postgres can keep it: without NUL and without half of a surrogate pair. Mail may hold either."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _json_ready(value: object) -> object:
    match value:
        case str():
            return _storable(value)
        case datetime():
            return value.isoformat()
        case Mapping():
            return {_storable(str(key)): _json_ready(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_json_ready(inner) for inner in value]
        case None | bool() | int() | float():
            return value
        case _:
            return _storable(str(value))
