"""The sample mailbox, ready to be asked: the mail of `sample/mail` in a tenant of its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from agentic.models import AgentPolicy
from mailsearch.ingest import pipeline
from mailsearch.ingest.sources.opening import Tree
from mailsearch.ingest.sources.raw import RawMail
from mailsearch.models import Mailbox, Tenant

SLUG = "sample"
ROOT = Path(settings.BASE_DIR) / "sample"
# Whose Authentication-Results count in the sample mail.
_BORDER = "mx.brandt.example"
_ADDRESSES = {
    "family": "jo@brandt.example",
    "workshop": "office@brandt-workshop.example",
    "claims": "claims@brandt.example",
}
_QUARANTINE = "Quarantine"

# Called with the words of a stage, messages done, and how many there are.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Half:
    """The mail of one mailbox that is to be quarantined, or all the other."""

    tree: Tree
    quarantine: bool

    @property
    def kind(self) -> str:
        return self.tree.kind

    @property
    def size(self) -> int:
        return sum(len(mail.data) for mail in self.messages())

    def messages(self) -> Iterator[RawMail]:
        for mail in self.tree.messages():
            if (mail.folder == _QUARANTINE) == self.quarantine:
                yield mail


def load(progress: Progress) -> Tenant:
    """Put the sample mail into the tenant `sample`, without vectors. A second time changes nothing."""
    tenant, _ = Tenant.objects.get_or_create(
        slug=SLUG, defaults={"name": "The Brandts (sample mail)", "timezone": "Europe/Berlin"}
    )
    for owner in (tenant, None):
        AgentPolicy.objects.get_or_create(tenant=owner)
    fill(tenant, progress)
    return tenant


def fill(tenant: Tenant, progress: Progress) -> None:
    """Put the sample mail into *tenant*. A second time changes nothing."""
    whole = sum(1 for _ in (ROOT / "mail").rglob("*.eml"))
    done = 0
    for slug, address in _ADDRESSES.items():
        mailbox, _ = Mailbox.objects.get_or_create(
            tenant=tenant, slug=slug, defaults={"address": address, "authserv_id": _BORDER}
        )
        tree = Tree(ROOT / "mail" / slug)
        for half in (_Half(tree, quarantine=True), _Half(tree, quarantine=False)):
            if half.size:
                summary = pipeline.ingest(half, mailbox=mailbox, quarantine=half.quarantine)
                done += summary.read
            progress("mail", done, whole)
