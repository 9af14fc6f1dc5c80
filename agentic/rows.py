"""Rows of the audit, written over psycopg: with their words apart, and bound to the row before where they are chained.

Rows are collected on a sheet and written together: one statement for all tables, which takes the rows of each as one
JSON array and so reads the same however many they are. Nothing here waits for an answer.
"""

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.db.models import Field, JSONField, Model
from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.rows import TupleRow

from agentic import links
from agentic.links import RunChain
from agentic.payloads import PayloadText, Worded

Connection = AsyncConnection[TupleRow]
Columns = tuple["Field[Any, Any]", ...]
_LINKED = frozenset({"link", "hash"})


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


@dataclass(slots=True)
class Sheet:
    """Rows that were made and are not written yet, by table, and the names of what any of them gives."""

    _rows: dict[type[Model], list[dict[str, object]]] = field(default_factory=dict)
    _given: dict[type[Model], frozenset[str]] = field(default_factory=dict)

    def add(self, table: type[Model], chain: RunChain | None = None, **values: object) -> None:
        """A row of *table* with the columns and words in *values* and else their defaults.

        With a *chain* the row is its next link. For a citation `sentence_link` is the position of its sentence in it.
        The head of a run is given the `id` that was drawn for it.
        """
        named = _words(table)
        words = {name: value for name, value in values.items() if name in named}
        own = {name: value for name, value in values.items() if name not in named}
        text = links.salted(_words_json(words)) if words else None
        if text is not None:
            own |= {"payload": text.id, "text_hmac": text.hmac}
        names = frozenset(own) | (_LINKED if chain is not None else frozenset())
        row = _plain(table, names, own)
        if chain is not None:
            name = table._meta.model_name or ""
            # Of what a row does not give, Postgres makes NULL.
            linked = {"sentence": values["sentence_link"]} if "sentence_link" in values else {}
            chain.add(name, dict.fromkeys(links.CHAINED[name]) | row | linked)
            row |= {"link": chain.count, "hash": chain.head}
        self._put(table, names, row)
        if text is not None:
            self._put_text(table, text, values)

    def copy(self) -> "Sheet":
        """A sheet with the same rows."""
        return Sheet({table: list(rows) for table, rows in self._rows.items()}, dict(self._given))

    async def write(
        self, conn: Connection, last: bytes = b"SELECT", values: Mapping[str, object] | None = None
    ) -> AsyncCursor[TupleRow]:
        """Insert all rows, and do what the statement *last* says with *values*, all as one. Then the sheet is empty.

        Gives what *last* gives. It sees nothing yet of what is inserted beside it.
        """
        statement, rows = self.statement(last)
        return await conn.execute(statement, {**(values or {}), **rows}, prepare=True)

    def statement(self, last: bytes) -> tuple[bytes, Mapping[str, object]]:
        """The statement that `write` sends, and the values of the rows in it. Then the sheet is empty."""
        rows, given = self._rows, self._given
        self._rows, self._given = {}, {}
        tables = tuple((table, given[table]) for table in rows)
        return _together(tables, last), {table._meta.db_table: _encode(of_table) for table, of_table in rows.items()}

    def _put(self, table: type[Model], names: frozenset[str], row: Mapping[str, object]) -> None:
        columns = {slot.column: row[slot.name] for slot in _slots(table, names)}
        self._rows.setdefault(table, []).append(columns)
        given = self._given.get(table)
        self._given[table] = names if given is None or given == names else given | names

    def _put_text(self, table: type[Model], text: links.Text, values: Mapping[str, object]) -> None:
        row: dict[str, object] = {
            "id": text.id,
            "tenant": values["tenant"],
            # The head of a run is where its own words belong.
            "run": values["id"] if table._meta.model_name == "run" else values.get("run"),
            "message": values.get("message_id", ""),
            "kind": table.KIND if issubclass(table, Worded) else "",
            "salt": text.salt,
            "content": text.content,
        }
        self._put(PayloadText, frozenset(row), row)


async def draw(conn: Connection, table: type[Model], count: int = 1) -> AsyncCursor[TupleRow]:
    """Ask for *count* ids of rows of *table* to come: so that others can name them before they are there.

    Within a pipeline it does not wait.
    """
    return await conn.execute(_drawing(table), [count], prepare=True)


@lru_cache(64)
def _drawing(table: type[Model]) -> bytes:
    statement = sql.SQL("SELECT nextval(pg_get_serial_sequence({}, 'id')) FROM generate_series(1, %s)")
    return statement.format(sql.Literal(table._meta.db_table)).as_bytes(None)


@lru_cache(64)
def _words(table: type[Model]) -> frozenset[str]:
    """Names of the words of *table*, which stand apart."""
    if not issubclass(table, Worded):
        return frozenset()
    return frozenset(name for name, value in vars(table).items() if isinstance(value, property) and value.fset)


@lru_cache(64)
def _columns(table: type[Model], names: frozenset[str]) -> Columns:
    """The columns of a row that gives those called *names*: these, and those with defaults that are not Postgres's."""
    return tuple(
        column
        for column in table._meta.concrete_fields
        if column.name in names or (column.has_default() and not column.has_db_default() and not column.primary_key)
    )


@lru_cache(256)
def _together(tables: tuple[tuple[type[Model], frozenset[str]], ...], last: bytes) -> bytes:
    """One statement that inserts the rows of each table and ends with *last*."""
    terms = b", ".join(_insertion(table, names) for table, names in tables)
    if not terms:
        return last
    own = last.removeprefix(b"WITH ")
    return b"WITH " + terms + (b" " if own == last else b", ") + own


@lru_cache(64)
def _insertion(table: type[Model], names: frozenset[str]) -> bytes:
    """The term that inserts the rows of a JSON array, called as the table is. What a row does not name is NULL."""
    statement = sql.SQL(
        "{2} AS (INSERT INTO {0} ({1}) SELECT {1} FROM json_populate_recordset(NULL::{0}, {3}::json))"
    ).format(
        sql.Identifier(table._meta.db_table),
        sql.SQL(", ").join(sql.Identifier(str(column.column)) for column in _columns(table, names)),
        sql.Identifier(f"new_{table._meta.model_name}"),
        sql.Placeholder(table._meta.db_table),
    )
    return statement.as_bytes(None)


@dataclass(frozen=True, slots=True)
class _Slot:
    """What is to be known of one column of a row, looked up once: its row is made a hundred times a second."""

    name: str
    column: str
    is_json: bool
    default: Callable[[], object]


@lru_cache(64)
def _slots(table: type[Model], names: frozenset[str]) -> tuple[_Slot, ...]:
    return tuple(
        _Slot(one.name, str(one.column), isinstance(one, JSONField), one.get_default) for one in _columns(table, names)
    )


def _plain(table: type[Model], names: frozenset[str], values: Mapping[str, object]) -> dict[str, object]:
    """What the columns will hold, as values that psycopg would read from them."""
    row: dict[str, object] = {}
    for slot in _slots(table, names):
        value = values[slot.name] if slot.name in values else slot.default()
        if slot.is_json:
            value = _json_ready(value)
        elif isinstance(value, str):
            value = _storable(value)
        row[slot.name] = value
    return row


def _storable(text: str) -> str:
    """*text* as Postgres can keep it: without NUL and without half of a surrogate pair. Mail may hold either."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _as_json(value: object) -> object:
    """What JSON has no form of its own for."""
    match value:
        case datetime():
            return value.isoformat()
        case Mapping():
            return dict(value)
        case set() | frozenset():
            return list(value)
        case _:
            return str(value)


_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_as_json).encode
# As `links` writes JSON.
_dump_in_order = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_as_json).encode


def _json_ready(value: Any) -> Any:
    """*value* as JSON gives it back, with all its text storable."""
    text = _dump(value)
    # Rare: what would have to be replaced shows in the JSON, so that most values need not be walked through.
    return json.loads(text) if _is_storable(text) else _cleaned(json.loads(text))


def _words_json(words: Mapping[str, object]) -> str:
    """*words* as the JSON that is kept of them, with all its text storable."""
    text = _dump_in_order(words)
    return text if _is_storable(text) else _dump_in_order(_cleaned(json.loads(text)))


def _is_storable(json_text: str) -> bool:
    return "\\u0000" not in json_text and (json_text.isascii() or _is_encodable(json_text))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _cleaned(value: object) -> object:
    match value:
        case str():
            return _storable(value)
        case dict():
            return {_storable(key): _cleaned(inner) for key, inner in value.items()}
        case list():
            return [_cleaned(inner) for inner in value]
        case _:
            return value


def _as_column(value: object) -> object:
    """What a column's type reads out of JSON's text."""
    match value:
        case datetime():
            return value.isoformat()
        case bytes():
            return f"\\x{value.hex()}"
        case uuid.UUID() | Decimal():
            return str(value)
    raise TypeError(f"{type(value).__name__} has no place in a row of the audit")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_as_column).encode
