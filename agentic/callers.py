"""Who asks: service keys and people become a Principal, and a Principal's scope is always that of now.

A key reads `pm_<prefix>_<secret>`. Its secret is 32 random bytes that are shown once; the table keeps their SHA-256.
"""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Literal

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from agentic.models import AdminAct
from mailsearch.models import ApiKey, Folder, Grant, Mailbox, Membership, Permission, Tenant
from mailsearch.scope import Given, Scope
from mailsearch.sessions import unbound

COMMAND_LINE = "command line"
_PREFIX_BYTES = 5
_SECRET_BYTES = 32
_LAST_USE_EVERY = timedelta(minutes=1)
_NO_DIGEST = bytes(32)
# What a valid credential's grant names now, with the tenant's time zone and folders.
_SCOPE = """
SELECT holder.permissions, t.timezone, g.tenant_id, g.recursive, g.include_junk, g.received_from, g.received_until,
    CASE WHEN g.all_mailboxes
        THEN ARRAY(SELECT b.id FROM mailsearch_mailbox b WHERE b.tenant_id = g.tenant_id)
        ELSE ARRAY(SELECT b.id FROM mailsearch_grant_mailboxes m JOIN mailsearch_mailbox b ON b.id = m.mailbox_id
            WHERE m.grant_id = g.id AND b.tenant_id = g.tenant_id) END,
    ARRAY(SELECT m.folder_id FROM mailsearch_grant_folders m WHERE m.grant_id = g.id),
    coalesce((SELECT json_agg(json_build_array(f.id, f.mailbox_id, f.path, f.role))
        FROM mailsearch_folder f WHERE f.tenant_id = g.tenant_id), '[]'::json)
FROM {} JOIN mailsearch_grant g ON g.id = holder.grant_id JOIN mailsearch_tenant t ON t.id = g.tenant_id
WHERE holder.id = %(credential)s AND {}
"""
_KEYS = (
    "mailsearch_apikey holder",
    "holder.revoked_at IS NULL AND (holder.expires_at IS NULL OR holder.expires_at > statement_timestamp())",
)
_MEMBERS = "mailsearch_membership holder JOIN auth_user person ON person.id = holder.user_id", "person.is_active"
_KEY_SCOPE, _MEMBER_SCOPE = _SCOPE.format(*_KEYS), _SCOPE.format(*_MEMBERS)
_STANDS = "SELECT true FROM {} WHERE holder.id = %(credential)s AND {}"
_KEY_STANDS, _MEMBER_STANDS = _STANDS.format(*_KEYS), _STANDS.format(*_MEMBERS)


class Unrecognised(Exception):
    """No valid key or sign-in. The same for unknown, expired and revoked ones."""


class TenantUnclear(Exception):
    """A person who belongs to several tenants did not say in which one to act."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who was recognised, acting in one tenant."""

    tenant: int
    # "key:<lineage>" or "user:<id>": the same over rotations of a key.
    caller: str
    label: str
    permissions: frozenset[str]
    grant: int
    # Id of the key or the membership, by which the state of now is looked up.
    credential: int

    @property
    def is_key(self) -> bool:
        return self.caller.startswith("key:")

    def may(self, permission: str) -> bool:
        """Whether the caller had *permission* when it was recognised. None implies another."""
        return permission in self.permissions


@dataclass(frozen=True, slots=True)
class Access:
    """What a key or a person is to be granted."""

    permissions: tuple[str, ...]
    all_mailboxes: bool = False
    mailboxes: tuple[Mailbox, ...] = ()
    folders: tuple[Folder, ...] = ()
    recursive: bool = False
    include_junk: bool = False

    def make_grant(self, tenant: Tenant) -> Grant:
        """A new grant of this access. Raises ValueError for permissions that do not exist."""
        unknown = sorted(set(self.permissions) - set(Permission.values))
        if unknown:
            raise ValueError(f"There is no permission {', '.join(unknown)}; there are {', '.join(Permission.values)}.")
        grant = Grant.objects.create(
            tenant=tenant,
            all_mailboxes=self.all_mailboxes,
            recursive=self.recursive,
            include_junk=self.include_junk,
        )
        grant.mailboxes.set(self.mailboxes)
        grant.folders.set(self.folders)
        return grant


def create_key(
    tenant: Tenant,
    name: str,
    access: Access,
    expires_at: datetime | None = None,
    *,
    actor: str = COMMAND_LINE,
    reason: str = "",
) -> tuple[ApiKey, str]:
    """Make a key. Returns it with the token, which is kept nowhere. Raises ValueError for unknown permissions."""
    with transaction.atomic():
        grant = access.make_grant(tenant)
        key, token = _write_key(tenant, name, access.permissions, grant, secrets.token_hex(16), expires_at)
        _note(tenant, actor, "key created", key, reason)
    return key, token


def rotate_key(key: ApiKey, overlap: timedelta, *, actor: str = COMMAND_LINE, reason: str = "") -> tuple[ApiKey, str]:
    """A new key in *key*'s place: the same caller, permissions and grant. The old one ends after *overlap*.

    Runs belong to the caller, so those that the old key started are the new one's, too.
    """
    with transaction.atomic():
        old = ApiKey.objects.select_for_update().select_related("grant").get(pk=key.pk)
        made = _write_key(old.tenant, old.name, tuple(old.permissions), _copy(old.grant), old.lineage, old.expires_at)
        ends = timezone.now() + overlap
        if old.expires_at is None or old.expires_at > ends:
            ApiKey.objects.filter(pk=old.pk).update(expires_at=ends)
        _note(old.tenant, actor, "key rotated", made[0], reason)
    return made


def revoke_key(key: ApiKey, *, actor: str = COMMAND_LINE, reason: str = "") -> None:
    """End *key* now; a second time changes nothing."""
    with transaction.atomic():
        if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
            _note(key.tenant, actor, "key revoked", key, reason)


def state_of(key: ApiKey) -> Literal["valid", "expired", "revoked"]:
    """Whether *key* opens anything now."""
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= timezone.now() else "valid"


def add_member(
    tenant: Tenant, user: AbstractBaseUser, role: str, access: Access, *, actor: str = COMMAND_LINE
) -> Membership:
    """Make *user* a member of *tenant*, or change the membership that is there."""
    with transaction.atomic():
        grant = access.make_grant(tenant)
        membership, _ = Membership.objects.update_or_create(
            tenant=tenant,
            user_id=user.pk,
            defaults={"role": role, "permissions": list(access.permissions), "grant": grant},
        )
        detail = {"user": user.pk, "role": role, "permissions": sorted(access.permissions)}
        AdminAct.objects.create(tenant=tenant, actor=actor, act="member set", detail=detail)
    return membership


def resolve_key(token: str) -> Principal:
    """Who presents *token*. Raises Unrecognised for anything but a valid key, in the same time."""
    kind, _, rest = token.partition("_")
    prefix, _, secret = rest.partition("_")
    key = _valid_keys().filter(prefix=prefix).first() if kind == "pm" and len(prefix) == 2 * _PREFIX_BYTES else None
    kept = bytes(key.secret_sha256) if key else _NO_DIGEST
    matches = compare_digest(hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest(), kept)
    if key is None or not matches:
        raise Unrecognised
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > _LAST_USE_EVERY:
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return principal_of_key(key)


def resolve_person(user: AbstractBaseUser | AnonymousUser, tenant_slug: str = "") -> Principal:
    """The signed-in *user* in the tenant named, or in the only one that the person belongs to.

    Raises Unrecognised, also where the tenant named is not the person's, and TenantUnclear.
    """
    if not user.is_authenticated or not user.is_active:
        raise Unrecognised
    memberships = Membership.objects.filter(user_id=user.pk).select_related("user")
    if tenant_slug:
        memberships = memberships.filter(tenant__slug=tenant_slug)
    found = list(memberships[:2])
    if not found:
        raise Unrecognised
    if len(found) > 1:
        raise TenantUnclear
    return principal_of_member(found[0])


def current(principal: Principal) -> Principal | None:
    """The same caller with the rights of now, or None where it has none any more."""
    if principal.is_key:
        key = _valid_keys().filter(pk=principal.credential).first()
        return principal_of_key(key) if key else None
    membership = Membership.objects.filter(pk=principal.credential, user__is_active=True).select_related("user").first()
    return principal_of_member(membership) if membership else None


@dataclass(frozen=True, slots=True)
class Rights:
    """What a caller may do and read at one moment."""

    permissions: frozenset[str]
    scope: Scope
    # Of the tenant: the name of its time zone.
    timezone: str


def rights_now(principal: Principal) -> Rights | None:
    """The caller's rights at this moment; None where it has none any more."""
    with connection.cursor() as cursor:
        cursor.execute(_scope_statement(principal), {"credential": principal.credential})
        return _rights(cursor.fetchone())


def scope_now(principal: Principal, needs: str = "") -> Scope:
    """What the caller may read at this moment; nothing once the key ended or the permission *needs* was withdrawn."""
    return scope_by(rights_now(principal), principal, needs)


async def scope_at_once(principal: Principal, needs: str = "") -> Scope:
    """The same as `scope_now` over the event loop's own connections."""
    async with unbound() as conn:
        return await scope_within(conn, principal, needs)


async def scope_and_zone(principal: Principal, needs: str = "") -> tuple[Scope, str]:
    """The same with the name of the tenant's time zone."""
    async with unbound() as conn:
        rights = await told_rights(await ask_rights(conn, principal))
    return scope_by(rights, principal, needs), rights.timezone if rights else "UTC"


async def scope_within(conn: AsyncConnection[TupleRow], principal: Principal, needs: str = "") -> Scope:
    """The same within a transaction that is under way."""
    return await told_scope(await ask_rights(conn, principal), principal, needs)


async def ask_rights(conn: AsyncConnection[TupleRow], principal: Principal) -> AsyncCursor[TupleRow]:
    """Ask for the caller's rights; `told_scope` reads the answer. Within a pipeline it does not wait."""
    return await conn.execute(_scope_statement(principal), {"credential": principal.credential}, prepare=True)


async def told_rights(asked: AsyncCursor[TupleRow]) -> Rights | None:
    """The rights that were *asked* for; None where there are none."""
    return _rights(await asked.fetchone())


async def told_scope(asked: AsyncCursor[TupleRow], principal: Principal, needs: str = "") -> Scope:
    """What the caller may read at the moment at which it was *asked*."""
    return scope_by(await told_rights(asked), principal, needs)


async def stands(conn: AsyncConnection[TupleRow], principal: Principal) -> AsyncCursor[TupleRow]:
    """A row where the caller's credential is valid now, and else none; within a pipeline it does not wait."""
    statement = _KEY_STANDS if principal.is_key else _MEMBER_STANDS
    return await conn.execute(statement, {"credential": principal.credential})


def _scope_statement(principal: Principal) -> str:
    return _KEY_SCOPE if principal.is_key else _MEMBER_SCOPE


def _rights(row: TupleRow | None) -> Rights | None:
    if row is None:
        return None
    permissions, zone, tenant, recursive, junk, begin, end, mailboxes, folders, rows = row
    given = Given(tenant, frozenset(mailboxes), frozenset(folders), recursive, junk, begin, end)
    return Rights(frozenset(permissions), given.over(rows), zone)


def scope_by(rights: Rights | None, principal: Principal, needs: str = "") -> Scope:
    """What *rights* let the caller read, if they hold the permission *needs*."""
    if rights is None or (needs and needs not in rights.permissions):
        return Scope(principal.tenant, frozenset())
    return rights.scope


def _valid_keys() -> QuerySet[ApiKey]:
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return ApiKey.objects.filter(unexpired, revoked_at=None)


def _write_key(
    tenant: Tenant, name: str, permissions: Iterable[str], grant: Grant, lineage: str, expires_at: datetime | None
) -> tuple[ApiKey, str]:
    prefix, secret = secrets.token_hex(_PREFIX_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    key = ApiKey.objects.create(
        tenant=tenant,
        name=name,
        prefix=prefix,
        secret_sha256=hashlib.sha256(secret.encode()).digest(),
        permissions=sorted(set(permissions)),
        grant=grant,
        lineage=lineage,
        expires_at=expires_at,
    )
    return key, f"pm_{prefix}_{secret}"


def _note(tenant: Tenant, actor: str, act: str, key: ApiKey, reason: str) -> None:
    """Who did what to which key. Nothing in it helps to use the key."""
    detail = {"key": key.prefix, "name": key.name, "permissions": list(key.permissions)}
    AdminAct.objects.create(tenant=tenant, actor=actor, act=act, detail=detail, reason=reason)


def _copy(grant: Grant) -> Grant:
    mailboxes, folders = list(grant.mailboxes.all()), list(grant.folders.all())
    copy = Grant.objects.get(pk=grant.pk)
    copy.pk = None
    copy.save(force_insert=True)
    copy.mailboxes.set(mailboxes)
    copy.folders.set(folders)
    return copy


def principal_of_key(key: ApiKey) -> Principal:
    """Who presents *key*, without looking at whether it is valid."""
    return Principal(key.tenant_id, f"key:{key.lineage}", key.name, frozenset(key.permissions), key.grant_id, key.pk)


def principal_of_member(membership: Membership) -> Principal:
    return Principal(
        membership.tenant_id,
        f"user:{membership.user_id}",
        membership.user.get_username(),
        frozenset(membership.permissions),
        membership.grant_id,
        membership.pk,
    )
