"""A new tenant in one go: itself, its first mailbox, whoever administers it, and a key, or nothing of it."""

from dataclasses import dataclass

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction

from agentic.callers import Access, add_member, create_key
from agentic.models import AdminAct, AgentPolicy
from mailsearch.models import ApiKey, Mailbox, Permission, Tenant


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What a new tenant is to be. `administrator` may be None: then only superusers set its limits."""

    slug: str
    name: str
    timezone: str
    may_leave: str
    mailbox: str
    address: str
    key: str
    permissions: tuple[str, ...]
    administrator: AbstractBaseUser | None = None


def onboard(newcomer: Newcomer, actor: str, reason: str) -> tuple[Mailbox, ApiKey, str]:
    """Make it all. Returns the mailbox, and the key with its token, which is kept nowhere.

    The key reads the mailbox and no other. Raises IntegrityError where the slug is taken.
    """
    with transaction.atomic():
        tenant = Tenant.objects.create(
            slug=newcomer.slug,
            name=newcomer.name or newcomer.slug,
            timezone=newcomer.timezone,
            may_leave=newcomer.may_leave,
        )
        AgentPolicy.objects.create(tenant=tenant)
        box = Mailbox.objects.create(tenant=tenant, slug=newcomer.mailbox, address=newcomer.address)
        detail = {"mailbox": box.slug, "may_leave": tenant.may_leave}
        AdminAct.objects.create(tenant=tenant, actor=actor, act="tenant created", detail=detail, reason=reason)
        if newcomer.administrator is not None:
            all_of_it = Access(tuple(Permission.values), all_mailboxes=True)
            add_member(tenant, newcomer.administrator, "administrator", all_of_it, actor=actor)
        access = Access(newcomer.permissions, mailboxes=(box,))
        key, token = create_key(tenant, newcomer.key, access, actor=actor, reason=reason)
    return box, key, token
