"""A message erased: its rows, what is inside it, and every other trace of it in the mail store.

What stays is a salted hash that says nothing and keeps the same mail from being taken in again. What runs have kept of
it (evidence, quotes, drafts) is for the audit to erase, by the public ids that `erase` returns.
"""

import secrets
from dataclasses import dataclass

from mailsearch.ingest import quarantine, store
from mailsearch.models import ErasedMessage, Mailbox, Message, Tenant, Thread
from mailsearch.sessions import Binding, bound


@dataclass(frozen=True, slots=True)
class Erased:
    """Public ids of the messages and attachments that are gone."""

    messages: tuple[str, ...]
    attachments: tuple[str, ...]


def erase(tenant: Tenant, public_id: str) -> Erased | None:
    """Erase the message with this id, its copies with the same content in the tenant, and all that is inside of them.

    A message inside another goes with the one that it came in: the bytes of both are the same. None if there is none.
    """
    mailboxes = frozenset(Mailbox.objects.filter(tenant=tenant).values_list("pk", flat=True))
    with bound(Binding(tenant.pk, mailboxes, include_quarantined=True)):
        message = Message.objects.filter(tenant=tenant, public_id=public_id).first()
        if message is None:
            return None
        while message.container is not None:
            message = message.container
        chosen = quarantine.with_nested(
            Message.objects.filter(tenant=tenant, content_sha256=message.content_sha256).values_list("pk", flat=True)
        )
        rows = Message.objects.filter(pk__in=chosen)
        gone = Erased(
            tuple(rows.order_by("pk").values_list("public_id", flat=True)),
            tuple(rows.filter(attachments__isnull=False).values_list("attachments__public_id", flat=True)),
        )
        threads = set(rows.values_list("thread_id", flat=True))
        _tombstone(tenant, bytes(message.content_sha256))
        rows.delete()
        Thread.objects.filter(pk__in=threads, message__isnull=True, threadkey__isnull=True).delete()
    return gone


def _tombstone(tenant: Tenant, content_sha256: bytes) -> None:
    # One salt a tenant: looking for a message among the erased then takes one hash, not one for each of them.
    first = ErasedMessage.objects.filter(tenant=tenant).order_by("pk").first()
    salt = bytes(first.salt) if first else secrets.token_bytes(16)
    ErasedMessage.objects.create(tenant=tenant, salt=salt, salted_sha256=store.salted(salt, content_sha256))
