"""What a signed-in person may see of tenants: whose audit, whose settings, and which mail.

Being a superuser of the admin gives none of it: every right comes from a membership.
"""

from typing import TypeAlias

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q

from mailsearch.models import Membership, Permission
from mailsearch.scope import Scope, resolve

Person: TypeAlias = AbstractBaseUser | AnonymousUser
_AUDIT_ROLES = (Membership.Role.ADMINISTRATOR, Membership.Role.AUDITOR)


def audited_tenants(person: Person) -> frozenset[int]:
    """Ids of the tenants whose runs, sentences and widen attempts *person* may see."""
    if not person.is_authenticated:
        return frozenset()
    may = Q(role__in=_AUDIT_ROLES) | Q(permissions__contains=[Permission.AUDIT_READ])
    return frozenset(Membership.objects.filter(may, user_id=person.pk).values_list("tenant_id", flat=True))


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
    if membership is None or Permission.SEARCH_READ not in membership.permissions:
        return Scope(tenant, frozenset())
    return resolve(membership.grant)
