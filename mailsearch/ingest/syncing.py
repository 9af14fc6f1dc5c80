"""A source followed: what is new there is taken in, what moved or went there moves or goes out of every scope here.

One sync of a source at a time; it can be interrupted at any moment and repeated. How it went is kept on the source.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import psycopg
from django.conf import settings
from django.db.models.functions import Now

from mailsearch.ingest import pipeline, syncing_files, syncing_imap
from mailsearch.ingest.intake import Intake, Progress, Total
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.rules import parse_rules
from mailsearch.ingest.sync_failures import SyncFailed
from mailsearch.models import MailSource
from mailsearch.sessions import dsn

State = MailSource.State
# The class of the advisory locks of sources ("sync"); the number in it is the source's.
_LOCK = 0x73796E63


class AlreadySyncing(Exception):
    """Another process is reading this source just now; what it finds is found by it."""


def sync(
    source: MailSource,
    *,
    worker: Worker | None = None,
    progress: Progress | None = None,
    read_attachments: bool = True,
    folder: str = "",
    quarantine: bool = False,
    show: pipeline.Progress | None = None,
) -> Total:
    """Bring *source*'s mailbox in step with it. Raises AlreadySyncing, and SyncFailed, which the source then shows.

    The top of files goes to *folder*. With *quarantine* what is new is quarantined. *show* is called after each batch.
    Also raises django.db.Error where the database can't be used, and ValueError where the tenant's quarantine rules
    make no sense.
    """
    parse_rules(source.tenant.quarantine_rules)
    with _alone(source), _lent(worker) as parser:
        _note(source, State.SYNCING, source.error)
        intake = Intake(source, parser, progress, read_attachments, folder, quarantine, show)
        try:
            follow = syncing_imap.follow if source.kind == "imap" else syncing_files.follow
            unread = follow(intake)
        except SyncFailed as failed:
            _note(source, failed.state, str(failed))
            raise
        except BaseException:
            # Interrupted, or no database: it is not being synced any more, and not in step.
            _note(source, State.NEW if source.last_sync_at is None else State.PARTIAL, "The last sync was interrupted.")
            raise
        _note(source, State.PARTIAL if unread else State.OK, _told(unread), last_sync_at=Now())
    return intake.total


def _lent(worker: Worker | None) -> AbstractContextManager[Worker]:
    return Worker(models=settings.PM_DATA) if worker is None else nullcontext(worker)


def _told(unread: list[str]) -> str:
    if not unread:
        return ""
    return f"{len(unread)} folders could not be read and are tried again: {', '.join(unread[:5])}"


def _note(source: MailSource, state: MailSource.State, error: str, **more: object) -> None:
    MailSource.objects.filter(pk=source.pk).update(state=state, error=error, **more)
    source.refresh_from_db()


@contextmanager
def _alone(source: MailSource) -> Iterator[None]:
    """Hold the source's lock on a connection of its own: it ends with the process, however that ends."""
    with psycopg.connect(dsn()) as conn:
        row = conn.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_LOCK, source.pk % 2**31]).fetchone()
        if not row or not row[0]:
            raise AlreadySyncing(f"{source} is being synced by another process already.")
        yield
