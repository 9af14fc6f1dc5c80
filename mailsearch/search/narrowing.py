"""From filters to what the search functions of the database narrow by.

Names are looked up within the scope alone: a mailbox, folder, thread or message outside of it is answered exactly like
one that never was. A filter that names nothing leaves nothing; it is never dropped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from mailsearch.hits import Filters
from mailsearch.scope import Scope
from mailsearch.search.query import NO_FILTERS, earliest, filters_json, latest, storable
from mailsearch.search.threads import families
from mailsearch.terms import fold

_ROLES = {"senders": ("from", "sender"), "recipients": ("to",), "copied": ("cc", "bcc")}


@dataclass
class Narrowing:
    """What a search looks at: the scope and every filter on it, as the database's functions take it."""

    values: dict[str, object] = field(default_factory=dict)
    applied: dict[str, object] = field(default_factory=dict)
    # Filters that name nothing in scope, as `operator:value`.
    refused: list[str] = field(default_factory=list)

    @property
    def parameter(self) -> Jsonb:
        return Jsonb(self.values)

    @property
    def folders(self) -> list[int]:
        folders = self.values["folders"]
        assert isinstance(folders, list)
        return folders

    @property
    def leaves_nothing(self) -> bool:
        return bool(self.refused) or not self.folders

    def intersect(self, name: str, ids: Iterable[int]) -> None:
        before = self.values.get(name)
        kept = set(ids) if not isinstance(before, list) else set(ids) & set(before)
        self.values[name] = sorted(kept)

    def add_group(self, name: str, group: object) -> None:
        groups = self.values.setdefault(name, [])
        assert isinstance(groups, list)
        groups.append(group)


@dataclass(frozen=True, slots=True)
class _Folder:
    folder_id: int
    mailbox_names: frozenset[str]
    names: frozenset[str]


def asks(filters: Iterable[Filters]) -> bool:
    """Whether to narrow by *filters* takes a look at the database."""
    return any(one.folders or one.mailboxes or one.threads or one.messages for one in filters)


async def narrow(
    conn: AsyncConnection[TupleRow],
    scope: Scope,
    filters: Sequence[Filters],
    refused: Sequence[str] = (),
    unwanted: Filters | None = None,
) -> Narrowing:
    """The scope cut down by all *filters* together, without what any filter of *unwanted* alone would leave.

    *refused* are filters that could not even be understood. *conn* need be bound to the scope only where the filters
    take a look at the database (`asks`).
    """
    narrowing = Narrowing({"folders": scope.folder_ids}, refused=list(refused))
    for name, moment in (("received_from", scope.received_from), ("received_until", scope.received_until)):
        if moment is not None:
            narrowing.values[name] = moment.isoformat()
    filters, unwanted = [one for one in filters if one != NO_FILTERS], unwanted or NO_FILTERS
    named = any(one.folders or one.mailboxes for one in (*filters, unwanted))
    folders = await _folders(conn, scope) if named else []
    for one in filters:
        _by_folder(narrowing, one, folders)
        _by_text(narrowing, one)
        await _by_id(conn, scope, narrowing, one)
        narrowing.applied = _merged(narrowing.applied, filters_json(one))
    _by_fact(narrowing, filters)
    if unwanted != NO_FILTERS:
        await _exclude(conn, scope, narrowing, unwanted, folders)
    return narrowing


async def _exclude(
    conn: AsyncConnection[TupleRow],
    scope: Scope,
    narrowing: Narrowing,
    unwanted: Filters,
    folders: Sequence[_Folder],
) -> None:
    """Take out what *unwanted* names; what names nothing in scope takes nothing out."""
    narrowing.applied["not"] = filters_json(unwanted)
    names = {fold(value.strip()) for value in unwanted.folders}
    kept = (one.folder_id for one in folders if not names & (one.mailbox_names | one.names))
    if names:
        narrowing.intersect("folders", kept)
    people = [{"roles": roles, "any": _patterns(getattr(unwanted, name))} for name, roles in _ROLES.items()]
    threads = await _threads_in_scope(conn, scope, unwanted.threads) if unwanted.threads else {}
    messages = await message_ids(conn, scope, unwanted.messages) if unwanted.messages else {}
    taken_out = {
        "people": [group for group in people if group["any"]],
        "subjects": _patterns(unwanted.subjects),
        "filenames": _patterns(unwanted.filenames),
        "threads": sorted(thread for one in threads.values() for thread in one),
        "messages": sorted(messages.values()),
    }
    narrowing.values |= {f"not_{name}": value for name, value in taken_out.items() if value}
    if unwanted.larger is not None:
        narrowing.values["not_larger"] = unwanted.larger


def whole(scope: Scope) -> Narrowing:
    """The scope without any filter."""
    values: dict[str, object] = {"folders": scope.folder_ids}
    for name, moment in (("received_from", scope.received_from), ("received_until", scope.received_until)):
        if moment is not None:
            values[name] = moment.isoformat()
    return Narrowing(values)


def _merged(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    merged = dict(one)
    for name, value in other.items():
        before = merged.get(name)
        merged[name] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
    return merged


async def _folders(conn: AsyncConnection[TupleRow], scope: Scope) -> list[_Folder]:
    cursor = await conn.execute(
        "SELECT f.id, f.path, f.role, b.slug, b.address, b.name FROM mailsearch_folder f"
        " JOIN mailsearch_mailbox b ON b.id = f.mailbox_id WHERE f.id = ANY(%s) AND f.tenant_id = %s",
        [scope.folder_ids, scope.tenant],
    )
    folders = []
    for folder_id, path, role, slug, address, name in await cursor.fetchall():
        mailbox = frozenset(fold(one) for one in (slug, address, name) if one)
        paths = {path, path.rpartition("/")[2], *(f"{one}/{path}" for one in (slug, address) if one), role}
        folders.append(_Folder(folder_id, mailbox, frozenset(fold(one) for one in paths if one)))
    return folders


def _by_folder(narrowing: Narrowing, filters: Filters, folders: Sequence[_Folder]) -> None:
    for operator, values, with_paths in (("mailbox", filters.mailboxes, False), ("in", filters.folders, True)):
        chosen: set[int] = set()
        for value in values:
            wanted = fold(value.strip())
            found = [
                one.folder_id for one in folders if wanted in one.mailbox_names or (with_paths and wanted in one.names)
            ]
            chosen.update(found)
            if not found:
                narrowing.refused.append(f"{operator}:{value}")
        if values:
            narrowing.intersect("folders", chosen)


def _by_text(narrowing: Narrowing, filters: Filters) -> None:
    for name, roles in _ROLES.items():
        values = _patterns(getattr(filters, name))
        if values:
            narrowing.add_group("people", {"roles": roles, "any": values})
    for name in ("subjects", "filenames"):
        values = _patterns(getattr(filters, name))
        if values:
            narrowing.add_group(name, values)


def _patterns(values: Iterable[str]) -> list[str]:
    return [fold(storable(value).strip()) for value in values]


async def _by_id(conn: AsyncConnection[TupleRow], scope: Scope, narrowing: Narrowing, filters: Filters) -> None:
    if filters.threads:
        found = await _threads_in_scope(conn, scope, filters.threads)
        narrowing.refused += [f"thread:{one}" for one in filters.threads if one not in found]
        narrowing.intersect("threads", (thread for one in found.values() for thread in one))
    if filters.messages:
        messages = await message_ids(conn, scope, filters.messages)
        narrowing.refused += [f"id:{one}" for one in filters.messages if one not in messages]
        narrowing.intersect("messages", messages.values())


async def _threads_in_scope(
    conn: AsyncConnection[TupleRow], scope: Scope, public_ids: Sequence[str]
) -> dict[str, list[int]]:
    found = await families(conn, public_ids)
    condition, values = scope.condition("m")
    statement = sql.SQL(
        "SELECT DISTINCT m.thread_id FROM mailsearch_message m WHERE m.thread_id = ANY(%(threads)s) AND {}"
    ).format(condition)
    cursor = await conn.execute(statement, values | {"threads": [one for ids in found.values() for one in ids]})
    visible = {row[0] for row in await cursor.fetchall()}
    return {public_id: ids for public_id, ids in found.items() if visible & set(ids)}


async def message_ids(conn: AsyncConnection[TupleRow], scope: Scope, public_ids: Sequence[str]) -> dict[str, int]:
    """Internal ids of those messages that are in scope."""
    condition, values = scope.condition("m")
    statement = sql.SQL(
        "SELECT m.public_id, m.id FROM mailsearch_message m WHERE m.public_id = ANY(%(ids)s) AND {}"
    ).format(condition)
    cursor = await conn.execute(
        statement, values | {"ids": [one for one in public_ids if one.isascii() and "\0" not in one]}
    )
    return dict(await cursor.fetchall())


def _by_fact(narrowing: Narrowing, filters: Sequence[Filters]) -> None:
    after: datetime | None = None
    before: datetime | None = None
    for one in filters:
        after, before = latest(after, one.after), earliest(before, one.before)
        for name in ("has_attachment", "unread"):
            value = getattr(one, name)
            if value is not None and narrowing.values.setdefault(name, value) != value:
                # Both a fact and its opposite: no message has both.
                narrowing.values["messages"] = []
        if one.larger is not None:
            narrowing.values["larger"] = max(one.larger, int(str(narrowing.values.get("larger", 0))))
    for name, moment in (("after", after), ("before", before)):
        if moment is not None:
            narrowing.values[name] = moment.isoformat()
            narrowing.applied[name] = moment.isoformat()
