"""Rows as they are stored, with their words, by one plain statement a table.

The ORM composes each query anew, which costs more than to run it. What is made here are the ORM's own rows.
"""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Field, JSONField, Model
from psycopg import sql

from agentic.payloads import PayloadText, Worded

Row = TypeVar("Row", bound=Model)


def select(table: type[Model], rest: str) -> bytes:
    """The statement that reads rows of *table*, called `t`; *rest* follows its FROM, and is no one's input."""
    return _select(table) + b" " + rest.encode()


def made(table: type[Row], rows: Iterable[Sequence[Any]]) -> list[Row]:
    """The rows of *table* out of what its statement gave."""
    return [_made(table, row) for row in rows]


def read(table: type[Row], rest: str, *values: int | str) -> list[Row]:
    """Rows of *table* over Django's connection; *values* are those of the placeholders in *rest*."""
    with connection.cursor() as cursor:
        cursor.execute(select(table, rest).decode(), values)
        return made(table, cursor.fetchall())


def keep(row: Model, name: str, related: Sequence[Model]) -> None:
    """Let the *related* rows be what the relation called *name* gives of *row*, as a prefetch would."""
    found = getattr(row, name).get_queryset()
    found._result_cache, found._prefetch_done = list(related), True
    row.__dict__.setdefault("_prefetched_objects_cache", {})[name] = found


@lru_cache(32)
def _columns(table: type[Model]) -> tuple["Field[Any, Any]", ...]:
    return tuple(table._meta.concrete_fields)


@lru_cache(32)
def _select(table: type[Model]) -> bytes:
    names = [sql.Identifier("t", str(one.column)) for one in _columns(table)]
    source = sql.SQL("{} AS t").format(sql.Identifier(table._meta.db_table))
    if issubclass(table, Worded):
        names += [sql.Identifier("words", str(one.column)) for one in _columns(PayloadText)]
        texts = sql.Identifier(PayloadText._meta.db_table)
        source += sql.SQL(" LEFT JOIN {} AS words ON words.id = t.payload_id").format(texts)
    return sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(names), source).as_bytes(None)


def _made(table: type[Row], values: Sequence[Any]) -> Row:
    width = len(_columns(table))
    row = _instance(table, values[:width])
    if isinstance(row, Worded):
        # Whose text is gone is a row all the same.
        words = values[width:]
        row._state.fields_cache["payload"] = _instance(PayloadText, words) if words[0] is not None else None
    return row


def _instance(table: type[Row], values: Sequence[Any]) -> Row:
    names, of_json = _shape(table)
    given = list(values)
    for place in of_json:
        # Django's connection leaves JSON as the text that it came as. No column of ours holds a bare string of JSON.
        if isinstance(given[place], str):
            given[place] = json.loads(given[place])
    return table.from_db(DEFAULT_DB_ALIAS, names, given)


@lru_cache(32)
def _shape(table: type[Model]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The names of a row's attributes, and the places of those that are JSON."""
    columns = _columns(table)
    of_json = tuple(place for place, column in enumerate(columns) if isinstance(column, JSONField))
    return tuple(column.attname for column in columns), of_json
