"""The sandbox: a tenant of its own with the sample mail, whose keys get a model that replies by a script.

Everything else is as in any tenant: permissions, scope, tools, loop, verification, limits and the audit. Its runs count
as an evaluation's and are left out of figures.
"""

from collections.abc import Sequence
from datetime import datetime

from agentic import sample_mail
from agentic.callers import Access, create_key
from agentic.models import AgentPolicy
from agentic.sample_mail import Progress
from mailsearch.models import ApiKey, Mailbox, Permission, Tenant

SLUG = "sandbox"
PERMISSIONS = (Permission.SEARCH_READ, Permission.SEARCH_AGENTIC, Permission.MESSAGE_RAW, Permission.VERIFY)
# One mailbox of the sample is left out, so that there is something beyond a key's scope.
MAILBOXES = ("family", "workshop")
# Fixed, so that a run ends as its question says whatever the defaults of this service are.
_POLICY = {
    "agentic_max_steps": 6,
    "agentic_max_seconds": 8,
    "agentic_daily_cap": 100_000,
    "agentic_key_share": 100,
    "verification": AgentPolicy.Verification.STANDARD,
    "removed_text": AgentPolicy.RemovedText.MASKED,
    "model_judge": False,
}


class NotASandbox(Exception):
    """A tenant of somebody's own bears the sandbox's name."""


def prepare(progress: Progress) -> Tenant:
    """Make the sandbox's tenant, or bring it up to date. Raises NotASandbox."""
    tenant, _ = Tenant.objects.get_or_create(
        slug=SLUG,
        defaults={
            "name": "Sandbox (sample mail)",
            "timezone": "Europe/Berlin",
            "may_leave": Tenant.MayLeave.NOTHING,
            "evaluation": True,
            "sandbox": True,
        },
    )
    if not tenant.sandbox:
        raise NotASandbox(f"The tenant {SLUG} is not a sandbox; give it another name first.")
    AgentPolicy.objects.update_or_create(tenant=tenant, defaults=_POLICY)
    sample_mail.fill(tenant, progress)
    return tenant


def make_key(
    tenant: Tenant, name: str, permissions: Sequence[str] = PERMISSIONS, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """A key of the sandbox, and its token. It reads two of the three mailboxes of the sample."""
    mailboxes = tuple(Mailbox.objects.filter(tenant=tenant, slug__in=MAILBOXES))
    return create_key(tenant, name, Access(tuple(permissions), mailboxes=mailboxes), expires_at)
