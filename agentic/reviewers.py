"""What a signed-in person may see of tenants: whose audit, whose settings, which pages, and which mail.

Being a superuser of the admin gives none of it but the limits of tenants: every other right comes from a membership.
"""

from enum import Enum
from typing import TypeAlias

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q

from mailsearch.models import Membership, Permission
from mailsearch.scope import Scope, resolve

Person: TypeAlias = AbstractBaseUser | AnonymousUser
_AUDIT_ROLES = (Membership.Role.ADMINISTRATOR, Membership.Role.AUDITOR)
# Roles whose people work with mail themselves. Auditors see and review and do nothing else; operators see no content.
_WORKING_ROLES = (Membership.Role.ADMINISTRATOR, Membership.Role.MEMBER)


class Right(Enum):
    """What a page asks of its reader. None implies another."""

    SEARCH = "search mail"
    ASK = "ask questions of mail"
    READ_MAIL = "read messages"
    READ_RAW = "read raw messages"
    OWN_RUNS = "see one's own runs"
    AUDIT = "see and review the runs of the tenant"
    QUARANTINE = "put messages into quarantine"
    USAGE = "see how much is used, without content"
    ADMINISTER = "see who read what, and make keys"
    SETTINGS = "change the limits of tenants"


def rights(membership: Membership) -> frozenset[Right]:
    """What the pages let this person do in this tenant."""
    role, permissions = membership.role, set(membership.permissions)
    works = role in _WORKING_ROLES
    audits = role in _AUDIT_ROLES or Permission.AUDIT_READ in permissions
    reads = role != Membership.Role.OPERATOR and Permission.SEARCH_READ in permissions
    held = {
        Right.SEARCH: works and Permission.SEARCH_READ in permissions,
        Right.ASK: works and Permission.SEARCH_AGENTIC in permissions,
        Right.READ_MAIL: reads,
        Right.READ_RAW: reads and Permission.MESSAGE_RAW in permissions,
        Right.OWN_RUNS: works and Permission.SEARCH_AGENTIC in permissions,
        Right.AUDIT: audits and role != Membership.Role.OPERATOR,
        Right.QUARANTINE: works and Permission.QUARANTINE_WRITE in permissions,
        Right.USAGE: role in (Membership.Role.ADMINISTRATOR, Membership.Role.OPERATOR),
        Right.ADMINISTER: role == Membership.Role.ADMINISTRATOR,
        Right.SETTINGS: role == Membership.Role.ADMINISTRATOR,
    }
    return frozenset(right for right, is_held in held.items() if is_held)


def audited_tenants(person: Person) -> frozenset[int]:
    """Ids of the tenants whose runs, sentences and widen attempts *person* may see."""
    if not person.is_authenticated:
        return frozenset()
    may = Q(role__in=_AUDIT_ROLES) | Q(permissions__contains=[Permission.AUDIT_READ])
    found = Membership.objects.filter(may, user_id=person.pk).exclude(role=Membership.Role.OPERATOR)
    return frozenset(found.values_list("tenant_id", flat=True))


def administered_tenants(person: Person) -> frozenset[int]:
    """Ids of the tenants whose limits and keys *person* may change."""
    if not person.is_authenticated:
        return frozenset()
    memberships = Membership.objects.filter(user_id=person.pk, role=Membership.Role.ADMINISTRATOR)
    return frozenset(memberships.values_list("tenant_id", flat=True))


def mail_scope(person: Person, tenant: int) -> Scope:
    """The mail of *tenant* that *person* may read now; an audit right adds nothing to it."""
    memberships = Membership.objects.filter(tenant_id=tenant).select_related("grant")
    membership = memberships.filter(user_id=person.pk).first() if person.pk else None
    if membership is None or Right.READ_MAIL not in rights(membership):
        return Scope(tenant, frozenset())
    return resolve(membership.grant)
