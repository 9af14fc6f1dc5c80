"""What one caller may read: the only door to the store, and it only narrows.

A scope is a frozen value: tenant, mailboxes, folders by id, an optional window of `received_at`, never quarantined
mail. It is resolved from a grant in one place (`resolve`), and every operation on it is an intersection. An empty
scope stays empty; a filter that names nothing in scope leaves nothing.
"""

import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import LiteralString

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from mailsearch.models import Folder, Grant
from mailsearch.sessions import Binding, bound, trip

_HIDDEN_ROLES = (Folder.Role.JUNK, Folder.Role.TRASH)


@dataclass(frozen=True, slots=True)
class Scope:
    """Tenant ∧ folders ∧ window of received_at [from, until). Folders carry their mailbox; no folder means nothing."""

    tenant: int
    # (folder id, mailbox id), so that mailboxes never come apart from folders.
    folders: frozenset[tuple[int, int]]
    received_from: datetime | None = None
    received_until: datetime | None = None
    # Mail that its source has deleted, too: only for checking what was cited while it was there.
    with_deleted: bool = False

    @property
    def mailboxes(self) -> frozenset[int]:
        return frozenset(mailbox for _, mailbox in self.folders)

    @property
    def folder_ids(self) -> list[int]:
        return sorted(folder for folder, _ in self.folders)

    @property
    def empty(self) -> bool:
        return not self.folders

    @property
    def version(self) -> str:
        """Equal for equal scopes; a key for what may be remembered under it."""
        text = repr((self.tenant, sorted(self.folders), self.received_from, self.received_until))
        text += " with deleted" if self.with_deleted else ""
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __and__(self, other: "Scope") -> "Scope":
        """What both allow. Scopes of different tenants share nothing."""
        folders = self.folders & other.folders if self.tenant == other.tenant else frozenset()
        return Scope(
            self.tenant,
            folders,
            _latest(self.received_from, other.received_from),
            _earliest(self.received_until, other.received_until),
            self.with_deleted and other.with_deleted,
        )

    def within_folders(self, folder_ids: frozenset[int]) -> "Scope":
        """Only these folders, of those already in scope."""
        return replace(self, folders=frozenset(pair for pair in self.folders if pair[0] in folder_ids))

    def within_mailboxes(self, mailbox_ids: frozenset[int]) -> "Scope":
        """Only these mailboxes, of those already in scope."""
        return replace(self, folders=frozenset(pair for pair in self.folders if pair[1] in mailbox_ids))

    def among(self, messages: Iterable[tuple[str, int, datetime]]) -> frozenset[str]:
        """Ids of those of *messages* (id, folder id, `received_at`) that lie within folders and window.

        For messages that a wider scope gave, which left out what is quarantined or deleted.
        """
        folders, begin, end = frozenset(self.folder_ids), self.received_from, self.received_until
        return frozenset(
            one
            for one, folder, received in messages
            if folder in folders and (begin is None or received >= begin) and (end is None or received < end)
        )

    def binding(self, *, statement_timeout_ms: int = 0) -> Binding:
        return Binding(self.tenant, self.mailboxes, statement_timeout_ms=statement_timeout_ms)

    def condition(self, alias: str = "m") -> tuple[sql.Composed, dict[str, object]]:
        """The part of the scope that row-level security does not bind, over a row of the message table.

        Returns SQL to stand in WHERE and its named parameters (all begin with `scope_`). Mail that was deleted at
        its source is in no scope but that of whoever checks old citations.
        """
        values: dict[str, object] = {"scope_folders": bigints(self.folder_ids)}
        if self.received_from is not None:
            values["scope_from"] = self.received_from
        if self.received_until is not None:
            values["scope_until"] = self.received_until
        return _condition(alias, self.with_deleted, frozenset(values)), values

    def statement(self, template: LiteralString) -> tuple[bytes, dict[str, object]]:
        """A statement with the condition over `m` in place of each `{}`, composed once, and the condition's values."""
        values = self.condition()[1]
        return _statement(template, self.with_deleted, frozenset(values)), values

    @asynccontextmanager
    async def reading(self, *, statement_timeout_ms: int = 0) -> AsyncIterator[AsyncConnection[TupleRow]]:
        """A database session that sees this scope's mailboxes and no quarantined mail; see `sessions.trip`."""
        async with trip(self.binding(statement_timeout_ms=statement_timeout_ms)) as conn:
            yield conn

    @contextmanager
    def reading_orm(self) -> Iterator[None]:
        """The same for Django's ORM."""
        with bound(self.binding()):
            yield


def bigints(ids: Iterable[int]) -> str:
    """Numbers as Postgres reads an array of them: less to go through than a list, and one type whatever is in it."""
    return "{" + ",".join(map(str, ids)) + "}"


@lru_cache(100)
def _condition(alias: str, with_deleted: bool, names: frozenset[str]) -> sql.Composed:
    table = sql.Identifier(alias)
    parts = [sql.SQL("{}.folder_id = ANY(%(scope_folders)s::bigint[])").format(table)]
    if not with_deleted:
        parts.append(sql.SQL("{}.deleted_at_source IS NULL").format(table))
    if "scope_from" in names:
        parts.append(sql.SQL("{}.received_at >= %(scope_from)s").format(table))
    if "scope_until" in names:
        parts.append(sql.SQL("{}.received_at < %(scope_until)s").format(table))
    return sql.SQL("(") + sql.SQL(" AND ").join(parts) + sql.SQL(")")


@lru_cache(100)
def _statement(template: LiteralString, with_deleted: bool, names: frozenset[str]) -> bytes:
    condition = _condition("m", with_deleted, names)
    return sql.SQL(template).format(*[condition] * template.count("{}")).as_bytes(None)


def resolve(grant: Grant) -> Scope:
    """The scope that *grant* gives now. Folders are named one by one, so nothing that vanishes can widen it."""
    given = Given(
        grant.tenant_id,
        _granted_mailboxes(grant),
        frozenset(grant.folders.values_list("id", flat=True)),
        grant.recursive,
        grant.include_junk,
        grant.received_from,
        grant.received_until,
    )
    return given.over(Folder.objects.filter(tenant=grant.tenant).values_list("id", "mailbox_id", "path", "role"))


@dataclass(frozen=True, slots=True)
class Given:
    """What a grant names, as values: mailboxes and folders by id."""

    tenant: int
    mailboxes: frozenset[int]
    folders: frozenset[int]
    recursive: bool
    include_junk: bool
    received_from: datetime | None
    received_until: datetime | None

    def over(self, rows: Iterable[tuple[int, int, str, str]]) -> Scope:
        """The scope over the tenant's folders, *rows* of (id, mailbox id, path, role)."""
        folders = list(rows)
        parents = {(mailbox, path) for id_, mailbox, path, _ in folders if id_ in self.folders}
        chosen = frozenset(
            (id_, mailbox)
            for id_, mailbox, path, role in folders
            if id_ in self.folders
            or (mailbox in self.mailboxes and (self.include_junk or role not in _HIDDEN_ROLES))
            or (self.recursive and _below(mailbox, path, parents))
        )
        return Scope(self.tenant, chosen, self.received_from, self.received_until)


def kept_mail(tenant: int) -> Scope:
    """All that *tenant* still keeps and that is not quarantined: for the operator who looks old citations up again.

    No request is ever given this scope.
    """
    folders = Folder.objects.filter(tenant=tenant).values_list("id", "mailbox_id")
    return Scope(tenant, frozenset(folders), with_deleted=True)


def _granted_mailboxes(grant: Grant) -> frozenset[int]:
    if grant.all_mailboxes:
        return frozenset(grant.tenant.mailboxes.values_list("id", flat=True))
    return frozenset(grant.mailboxes.filter(tenant=grant.tenant).values_list("id", flat=True))


def _below(mailbox: int, path: str, parents: set[tuple[int, str]]) -> bool:
    steps = path.split("/")
    return any((mailbox, "/".join(steps[:count])) in parents for count in range(1, len(steps)))


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((value for value in (one, other) if value is not None), default=None)


def _earliest(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((value for value in (one, other) if value is not None), default=None)
