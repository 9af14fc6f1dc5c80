"""A message erased: its rows, what is inside it, and every other trace of it in the mail store.

What stays is a salted hash that says nothing and keeps the same mail from being taken in again. What runs have kept of
it (evidence, quotes, drafts) is for the audit to erase, by the public ids and the words that `erase` returns.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Q, QuerySet

from mailsearch.ingest import placing, quarantine, store
from mailsearch.models import ErasedMessage, Mailbox, Message, Tenant, Thread, ThreadKey
from mailsearch.sessions import Binding, bound

# Shorter lexemes are in any text.
_TELLING = 3


@dataclass(frozen=True, slots=True)
class Erased:
    """Public ids of the messages and attachments that are gone."""

    messages: tuple[str, ...]
    attachments: tuple[str, ...]
    # Lexemes (mailsearch.terms) that stood in these messages and stand in no other mail of the tenant.
    words: frozenset[str] = frozenset()
    # When the first of the messages came in: nothing of before can hold words of theirs.
    since: datetime | None = None


def find(tenant: Tenant, rfc_message_id: str) -> list[str]:
    """Public ids of the tenant's messages with this Message-ID (with or without `<>`), the first to come first."""
    with bound(_everything(tenant)):
        found = Message.objects.filter(tenant=tenant, rfc_message_id=rfc_message_id.strip().strip("<>"))
        return list(found.order_by("pk").values_list("public_id", flat=True))


def erase(tenant: Tenant, public_id: str) -> Erased | None:
    """Erase the message with this id, its copies with the same content in the tenant, and all that is inside of them.

    A message inside another goes with the one that it came in: the bytes of both are the same. None if there is none.
    In a transaction that is open, this one from here on sees the tenant's mail and audit.
    """
    with bound(_everything(tenant)):
        message = Message.objects.filter(tenant=tenant, public_id=public_id).first()
        if message is None:
            return None
        while message.container is not None:
            message = message.container
        chosen = quarantine.with_nested(
            Message.objects.filter(tenant=tenant, content_sha256=message.content_sha256).values_list("pk", flat=True)
        )
        return _erase(tenant, chosen, bytes(message.content_sha256))


def _erase(tenant: Tenant, chosen: set[int], content_sha256: bytes) -> Erased:
    rows = Message.objects.filter(pk__in=chosen)
    messages = tuple(rows.order_by("pk").values_list("public_id", flat=True))
    attachments = tuple(rows.filter(attachments__isnull=False).values_list("attachments__public_id", flat=True))
    since = rows.order_by("imported_at").values_list("imported_at", flat=True).first()
    words, names = _lexemes(chosen), _names(rows)
    threads = set(rows.values_list("thread_id", flat=True))
    _tombstone(tenant, content_sha256)
    rows.delete()
    _forget_names(tenant, names)
    Thread.objects.filter(pk__in=threads, message__isnull=True, threadkey__isnull=True).delete()
    return Erased(messages, attachments, _only_there(tenant, words), since)


def _everything(tenant: Tenant) -> Binding:
    mailboxes = frozenset(Mailbox.objects.filter(tenant=tenant).values_list("pk", flat=True))
    return Binding(tenant.pk, mailboxes, include_quarantined=True, audit=frozenset({tenant.pk}))


def _lexemes(messages: Iterable[int]) -> frozenset[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT unnest(tsvector_to_array(words)) FROM mailsearch_searchdocument"
            " WHERE message_id = ANY(%s)",
            [list(messages)],
        )
        return frozenset(word for (word,) in cursor.fetchall() if len(word) >= _TELLING)


def _only_there(tenant: Tenant, words: frozenset[str]) -> frozenset[str]:
    """Those of *words* that no mail of the tenant holds now. Looked up in the index: counts may lag behind imports."""
    # Each as a query of that one lexeme, quoted as Postgres quotes them.
    quoted = {"'" + word.replace("\\", "\\\\").replace("'", "''") + "'": word for word in words}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT query FROM unnest(%s::text[]) AS query WHERE EXISTS (SELECT 1 FROM mailsearch_searchdocument d"
            " WHERE d.tenant_id = %s AND d.words @@ query::tsquery)",
            [list(quoted), tenant.pk],
        )
        return words - {quoted[query] for (query,) in cursor.fetchall()}


def _names(rows: QuerySet[Message]) -> set[str]:
    """The Message-IDs that the messages bear and refer to, and what stands for one where there is none."""
    found: set[str] = set()
    for own, answered, referred, digest in rows.values_list(
        "rfc_message_id", "in_reply_to", "references", "content_sha256"
    ):
        found |= {own, *answered, *referred, bytes(digest).hex()}
    return found - {""}


def _forget_names(tenant: Tenant, names: set[str]) -> None:
    """No key of a thread stays for a Message-ID that no mail bears or refers to any more."""
    given = list(names)
    if not given:
        return
    others = Message.objects.filter(tenant=tenant).filter(
        Q(rfc_message_id__in=given) | Q(references__overlap=given) | Q(in_reply_to__overlap=given)
    )
    keys = [placing.key_of(name) for name in names - _names(others)]
    ThreadKey.objects.filter(tenant=tenant, rfc_id_sha256__in=keys).delete()


def _tombstone(tenant: Tenant, content_sha256: bytes) -> None:
    # One salt a tenant: looking for a message among the erased then takes one hash, not one for each of them.
    first = ErasedMessage.objects.filter(tenant=tenant).order_by("pk").first()
    salt = bytes(first.salt) if first else secrets.token_bytes(16)
    ErasedMessage.objects.create(tenant=tenant, salt=salt, salted_sha256=store.salted(salt, content_sha256))
