"""Who reads a page: a signed-in person in one of the tenants that the person belongs to."""

from dataclasses import dataclass

from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest

from agentic.callers import Principal, principal_of_member
from agentic.reviewers import Right, audited_tenants, rights
from mailsearch.models import Membership, Tenant

# Where the session keeps the tenant that was chosen.
CHOSEN = "tenant"


@dataclass(frozen=True, slots=True)
class Reader:
    """A person with the rights of now. `membership` is None for an account that belongs to no tenant."""

    user: AbstractBaseUser
    name: str
    # All of the person's, the one that is acted in first.
    memberships: tuple[Membership, ...]
    membership: Membership | None
    principal: Principal | None
    rights: frozenset[Right]
    # Ids of all tenants whose audit this person may see.
    audits: frozenset[int]

    @property
    def tenants(self) -> tuple[Tenant, ...]:
        """By name, whichever is acted in."""
        return tuple(sorted((one.tenant for one in self.memberships), key=lambda tenant: tenant.slug))

    @property
    def tenant(self) -> Tenant:
        assert self.membership is not None
        return self.membership.tenant

    @property
    def acting(self) -> Principal:
        """The caller that this person is where a page acts like a request."""
        assert self.principal is not None
        return self.principal

    @property
    def audited(self) -> tuple[Tenant, ...]:
        """The tenants whose audit this person may see, by name."""
        return tuple(tenant for tenant in self.tenants if tenant.pk in self.audits)

    def may(self, right: Right) -> bool:
        return right in self.rights


def _of_person(user: AbstractBaseUser) -> frozenset[Right]:
    """Rights that need no membership: who set the service up sets the limits of all tenants, and sees no mail by it."""
    return frozenset({Right.SETTINGS}) if getattr(user, "is_superuser", False) else frozenset()


def of(request: HttpRequest) -> Reader | None:
    """Who sends *request*; None where nobody is signed in. Reads the session, so it is for a worker."""
    user = request.user
    if not user.is_authenticated:
        return None
    found = (
        Membership.objects.filter(user_id=user.pk).select_related("tenant", "grant", "user").order_by("tenant__slug")
    )
    memberships = list(found)
    chosen = request.session.get(CHOSEN, "")
    membership = next((one for one in memberships if one.tenant.slug == chosen), next(iter(memberships), None))
    return Reader(
        user=user,
        name=user.get_username(),
        memberships=tuple(sorted(memberships, key=lambda one: one is not membership)),
        membership=membership,
        principal=principal_of_member(membership) if membership else None,
        rights=_of_person(user) | (rights(membership) if membership else frozenset()),
        audits=audited_tenants(user),
    )
