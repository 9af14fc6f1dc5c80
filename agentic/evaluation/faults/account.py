"""An empty account to take mail into: a tenant of its own that is gone afterwards."""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from asgiref.sync import async_to_sync
from django.db import connection

from mailsearch.hits import SearchRequest
from mailsearch.ingest import pipeline
from mailsearch.ingest.drafts import content_hash
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.sources import open_source
from mailsearch.models import Grant, Mailbox, Message, Tenant, Thread
from mailsearch.scope import Scope, resolve
from mailsearch.search import engine
from mailsearch.sessions import Binding, bound


class Account:
    """A tenant with one mailbox, marked as an evaluation's. Its mail is removed at the end of the `with`."""

    def __init__(self, worker: Worker | None = None) -> None:
        self._worker = worker
        slug = f"evaluation-{secrets.token_hex(6)}"
        self.tenant = Tenant.objects.create(slug=slug, name="Evaluation", evaluation=True)
        self.mailbox = Mailbox.objects.create(tenant=self.tenant, slug="all")
        self.summary = pipeline.Summary()
        self.seconds = 0.0
        # Files that hold one message each, by name.
        self._files: dict[str, bytes] = {}

    def __enter__(self) -> "Account":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.seeing():
            Message.objects.filter(tenant=self.tenant).delete()
            Thread.objects.filter(tenant=self.tenant).delete()
        with self.seeing():
            # What a run has written down stays, and with it the tenant that it names.
            kept = _has_runs(self.tenant)
            if not kept:
                self.tenant.delete()

    @contextmanager
    def seeing(self) -> Iterator[None]:
        """Django's ORM sees all of this account."""
        audit = frozenset({self.tenant.pk})
        with bound(Binding(self.tenant.pk, frozenset({self.mailbox.pk}), include_quarantined=True, audit=audit)):
            yield

    def take_in(self, inputs: Sequence[Path]) -> int:
        """Take in each file or folder of *inputs*; returns how many messages were new."""
        started = time.monotonic()
        new = 0
        for path in inputs:
            folder = "INBOX" if path.is_file() else None
            self.summary = pipeline.ingest(open_source(path), mailbox=self.mailbox, folder=folder, worker=self._worker)
            new += self.summary.new
            if path.is_file():
                self._files[path.name] = content_hash(path.read_bytes())
        self.seconds = time.monotonic() - started
        return new

    def message(self, name: str) -> Message | None:
        """The message with the Message-ID or from the file *name*; call it within `seeing`."""
        own = Message.objects.filter(tenant=self.tenant, container=None)
        if name in self._files:
            return own.filter(content_sha256=self._files[name]).first() or (own.first() if own.count() == 1 else None)
        return own.filter(rfc_message_id=name.strip("<>")).first()

    def scope(self) -> Scope:
        """Everything in the account."""
        grant = Grant.objects.create(tenant=self.tenant, all_mailboxes=True, include_junk=True)
        return resolve(grant)

    def found_by(self, query: str) -> list[str]:
        """Message-IDs, in angle brackets, that a keyword search brings; a message inside another brings that one."""
        result = async_to_sync(engine.search)(self.scope(), SearchRequest(query, mode="keyword"))
        with self.seeing():
            rows = {row.public_id: row for row in Message.objects.filter(tenant=self.tenant)}
            by_id = {row.pk: row for row in rows.values()}
            return [_outermost(rows[hit.head.message_id], by_id) for hit in result.hits]


def _outermost(row: Message, by_id: dict[int, Message]) -> str:
    while row.container_id is not None:
        row = by_id[row.container_id]
    return f"<{row.rfc_message_id}>"


def _has_runs(tenant: Tenant) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM agentic_run WHERE tenant_id = %s)", [tenant.pk])
        return bool((cursor.fetchone() or (False,))[0])
