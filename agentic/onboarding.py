"""A new tenant in one go: itself, its first mailbox, the account that this follows, whoever administers it, and a key.

All of it is made, or nothing.
"""

from dataclasses import dataclass, field

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction

from agentic.callers import Access, add_member, create_key
from agentic.models import AdminAct, AgentPolicy
from mailsearch.ingest.addressing import Address
from mailsearch.ingest.following import follow
from mailsearch.models import ApiKey, Mailbox, MailSource, Permission, Tenant


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What a new tenant is to be. `administrator` may be None: then only superusers set its limits.

    `source` is the mail account that the mailbox follows, opened by the password `secret`; None where there is none.
    """

    slug: str
    name: str
    timezone: str
    may_leave: str
    mailbox: str
    address: str
    key: str
    permissions: tuple[str, ...]
    administrator: AbstractBaseUser | None = None
    source: Address | None = None
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Made:
    """What was made for a newcomer. The key's `token` is kept nowhere."""

    box: Mailbox
    source: MailSource | None
    key: ApiKey
    token: str = field(repr=False)


def onboard(newcomer: Newcomer, actor: str, reason: str) -> Made:
    """Make it all.

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
        source = None
        if newcomer.source is not None:
            source = follow(box, newcomer.source, secret=newcomer.secret)
            followed = {"mailbox": box.slug, "source": source.location}
            AdminAct.objects.create(tenant=tenant, actor=actor, act="source added", detail=followed, reason=reason)
        if newcomer.administrator is not None:
            all_of_it = Access(tuple(Permission.values), all_mailboxes=True)
            add_member(tenant, newcomer.administrator, "administrator", all_of_it, actor=actor)
        access = Access(newcomer.permissions, mailboxes=(box,))
        key, token = create_key(tenant, newcomer.key, access, actor=actor, reason=reason)
    return Made(box, source, key, token)
