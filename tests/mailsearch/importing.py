"""Imports mail as files would bring it, for tests of what becomes of it in the store."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mailsearch.ingest import credentials
from mailsearch.ingest.sources import RawMail
from mailsearch.models import Mailbox, MailSource, Message, Tenant
from mailsearch.sessions import Binding, bound

_numbers = itertools.count(1)


def mail(
    body: str = "Hello.",
    *,
    id_: str = "",
    subject: str = "A letter",
    sender: str = "Ann Abel <ann@abel.example>",
    to: str = "bob@shop.example",
    date: str = "Wed, 04 Mar 2026 09:00:00 +0100",
    **headers: str,
) -> bytes:
    """A message as it travels; `in_reply_to="…"` becomes the header In-Reply-To."""
    lines = [f"From: {sender}", f"To: {to}", f"Subject: {subject}", f"Date: {date}"]
    if id_:
        lines.append(f"Message-ID: <{id_}>")
    lines += [f"{name.replace('_', '-').title()}: {value}" for name, value in headers.items()]
    return ("\n".join(lines) + "\n\n" + body + "\n").encode()


def mbox(*messages: bytes) -> bytes:
    """The messages in one mbox."""
    return b"".join(b"From ann@abel.example Wed Mar  4 08:00:00 2026\n" + one + b"\n" for one in messages)


def new_mailbox(slug: str = "ann", tenant: Tenant | None = None, rules: str = "") -> Mailbox:
    """A mailbox, in a tenant of its own where none is given."""
    if tenant is None:
        tenant = Tenant.objects.create(slug=f"import-{next(_numbers)}-{id(slug)}", name="T", quarantine_rules=rules)
    return Mailbox.objects.create(tenant=tenant, slug=slug)


def new_source(account: str, secret: str, **place: object) -> MailSource:
    """An IMAP source of a mailbox in a tenant of its own; *place* says where the server is."""
    mailbox = new_mailbox()
    source = MailSource.objects.create(
        tenant=mailbox.tenant, mailbox=mailbox, kind="imap", location=f"imaps://{account}", account=account, **place
    )
    credentials.keep(source, secret)
    return source


@contextmanager
def seeing(tenant: Tenant) -> Iterator[None]:
    """Django's ORM sees all mail of *tenant*."""
    mailboxes = frozenset(tenant.mailboxes.values_list("id", flat=True))
    with bound(Binding(tenant.pk, mailboxes, include_quarantined=True)):
        yield


def threads(tenant: Tenant) -> set[frozenset[str]]:
    """The Message-IDs of each thread."""
    found: dict[int, set[str]] = {}
    with seeing(tenant):
        for thread, name in Message.objects.values_list("thread_id", "rfc_message_id"):
            found.setdefault(thread, set()).add(name)
    return {frozenset(names) for names in found.values()}


@dataclass(frozen=True)
class Mails:
    """A source of messages that a test wrote."""

    mails: Sequence[RawMail]
    kind: str = "test"

    @property
    def size(self) -> int:
        return sum(len(one.data) for one in self.mails)

    def messages(self) -> Iterator[RawMail]:
        yield from self.mails


def source(*messages: bytes) -> Mails:
    return Mails([RawMail(one, f"test:{number}") for number, one in enumerate(messages)])


def write(folder: Path, **files: bytes) -> Path:
    """Files by name; `__` in a name is its dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    return folder
