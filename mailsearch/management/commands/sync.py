"""Follow the sources of mailboxes: once, or with --watch for as long as it runs."""

import signal
from argparse import ArgumentParser
from types import FrameType
from typing import Any, NoReturn

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error
from django.db.models import QuerySet

from mailsearch.ingest import syncing
from mailsearch.ingest.intake import Total
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.sync_failures import SyncFailed
from mailsearch.ingest.sync_watch import Watch
from mailsearch.models import MailSource


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Take in what is new at the sources, and follow what moved or was deleted there. Safe to interrupt."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", metavar="SLUG", help="only this one's (default: all)")
        parser.add_argument("--mailbox", metavar="SLUG", help="only this one's (default: all)")
        parser.add_argument("--watch", action="store_true", help="go on until interrupted")
        parser.add_argument("--no-attachments", action="store_true", help="don't read the text of attachments")

    def handle(self, *args: Any, **options: Any) -> None:
        sources = _sources(options["tenant"], options["mailbox"])
        with Worker(models=settings.PM_DATA) as worker:
            if options["watch"]:
                self._watch(sources, worker, not options["no_attachments"])
                return
            if not sources:
                raise CommandError(
                    "There is no such source; name one with: manage.py add_source SOURCE --tenant T --mailbox M"
                )
            failed = [one for one in sources.all() if not self._sync(one, worker, not options["no_attachments"])]
        if failed:
            raise CommandError(f"{len(failed)} of {len(sources)} sources could not be followed; see above.")

    def _watch(self, sources: QuerySet[MailSource], worker: Worker, attachments: bool) -> None:
        signal.signal(signal.SIGTERM, _interrupt)
        watch = Watch()
        try:
            while True:
                # Looked up anew each time: sources are added and change while this runs.
                watch.follow(sources.all())
                for source in watch.due():
                    watch.report(source, ok=self._sync(source, worker, attachments))
                    # Whoever keeps a log of it is not to wait for a full buffer.
                    self.stdout.flush()
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")
        finally:
            watch.close()

    def _sync(self, source: MailSource, worker: Worker, attachments: bool) -> bool:
        """Sync one source and say what came of it; whether it went well."""
        try:
            total = syncing.sync(source, worker=worker, read_attachments=attachments)
        except syncing.AlreadySyncing as busy:
            self.stdout.write(str(busy))
            return True
        except (SyncFailed, ValueError) as failed:
            self.stderr.write(f"{source}: {failed}")
            return False
        except (Error, psycopg.Error) as error:
            raise CommandError(
                f"The database stopped the sync ({type(error).__name__}). Repeat it to go on."
            ) from error
        self.stdout.write(f"{source}: {_told(total)}")
        if source.error:
            self.stderr.write(f"{source}: {source.error}")
        return True


def _interrupt(signal_number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _told(total: Total) -> str:
    counts = (
        (total.known, "known"),
        (total.erased, "erased before and not taken again"),
        (total.with_defects, "with defects"),
        (total.reflagged, "with other flags"),
        (total.moved, "moved"),
        (total.deleted, "deleted there"),
        (total.restored, "back again"),
    )
    return ", ".join([f"{total.new:,} new", *(f"{count:,} {what}" for count, what in counts if count)]) + "."


def _sources(tenant: str | None, mailbox: str | None) -> QuerySet[MailSource]:
    sources = MailSource.objects.select_related("mailbox__tenant").filter(by_hand=False).order_by("pk")
    if tenant:
        sources = sources.filter(tenant__slug=tenant)
    if mailbox:
        sources = sources.filter(mailbox__slug=mailbox)
    return sources
