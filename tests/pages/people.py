"""People who sign in to the pages of one tenant, each with a role."""

import uuid

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.test import Client

from agentic.callers import Access, Principal, add_member, principal_of_member
from agentic.web.pages import readers
from agentic.web.pages.readers import Reader
from mailsearch.models import Mailbox, Membership, Permission, Tenant

ALL = tuple(Permission.values)
READER = (Permission.SEARCH_READ, Permission.SEARCH_AGENTIC, Permission.MESSAGE_RAW)


def person(
    tenant: Tenant, role: str, permissions: tuple[str, ...] = (), mailboxes: tuple[Mailbox, ...] = (), name: str = ""
) -> User:
    """A new account that is a member of *tenant* and may read *mailboxes*."""
    users = get_user_model().objects
    user: User = users.create_user(f"{name or role}-{uuid.uuid4().hex[:10]}", password=None)
    add_member(tenant, user, role, Access(permissions, mailboxes=mailboxes))
    return user


def joins(user: User, tenant: Tenant, role: str) -> None:
    """Make *user* a member of another tenant, too."""
    add_member(tenant, user, role, Access(()))


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


class _Request:
    """What `readers.of` looks at."""

    def __init__(self, user: object) -> None:
        self.user = user
        self.session: dict[str, str] = {}


def reader_of(user: User) -> Reader:
    """Who reads a page that *user* opens."""
    found = readers.of(_Request(user))  # type: ignore[arg-type]
    assert found is not None
    return found


def principal(user: User) -> Principal:
    return principal_of_member(Membership.objects.select_related("user").get(user=user))
