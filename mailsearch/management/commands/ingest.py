"""Take mail into a mailbox: a file, an mbox, a Maildir, or a folder of any of these."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError
from django.db import Error
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mailsearch.embeddings import EmbeddingUnavailable
from mailsearch.ingest import embedding, pipeline, syncing
from mailsearch.ingest.addressing import address_of
from mailsearch.ingest.following import follow
from mailsearch.ingest.intake import Total
from mailsearch.ingest.sources import NotASource, open_source
from mailsearch.ingest.sync_failures import SyncFailed
from mailsearch.ingest.syncing import AlreadySyncing
from mailsearch.models import Mailbox, Tenant


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Take mail into a mailbox. It can be stopped at any time and repeated: known mail changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", type=Path, help="a message, an mbox, a Maildir, or a folder of these")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--mailbox", required=True, metavar="SLUG")
        parser.add_argument("--folder", help="where the source's top goes; its folders go below (default: INBOX)")
        parser.add_argument("--quarantine", action="store_true", help="quarantine all of it")
        parser.add_argument(
            "--follow-deletions",
            action="store_true",
            help="what an import with this option has seen at the source and is gone there counts as deleted",
        )
        parser.add_argument("--no-attachments", action="store_true", help="don't read the text of attachments")
        parser.add_argument("--embed", action="store_true", help="embed what waits, afterwards")

    def handle(self, *args: Any, **options: Any) -> None:
        mailbox = mailbox_of(options["tenant"], options["mailbox"])
        console = Console(stderr=True)
        try:
            with _bar(console) as bar:
                task = bar.add_task("Taking mail in", total=None, messages=0)

                def show(so_far: pipeline.Summary) -> None:
                    bar.update(task, total=so_far.bytes_total, completed=so_far.bytes_read, messages=f"{so_far.read:,}")

                summary, followed = _ingest(mailbox, options, show)
        except (NotASource, SyncFailed, AlreadySyncing, ValueError) as error:
            raise CommandError(str(error)) from error
        except (Error, psycopg.Error) as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise CommandError(f"The database stopped the import: {said} Repeat the command to go on.") from error
        self._report(summary, followed)
        if options["embed"]:
            embed(mailbox.tenant, console)

    def _report(self, summary: pipeline.Summary, followed: Total) -> None:
        rate = summary.read / summary.seconds if summary.seconds else 0
        self.stdout.write(
            f"{summary.read:,} messages read in {summary.seconds:.1f} s ({rate:,.0f} a second): {summary.new:,} new,"
            f" {summary.known:,} known, {summary.lost:,} lost."
        )
        for count, what in (
            (summary.nested, "messages inside messages"),
            (summary.quarantined, "quarantined"),
            (summary.erased, "erased before and not taken again"),
            (followed.moved, "moved at the source"),
            (followed.deleted, "deleted at the source"),
            (followed.restored, "at the source again"),
            (summary.with_defects, "with defects"),
        ):
            if count:
                self.stdout.write(f"  {count:,} {what}")
        for code, count in summary.defects.most_common():
            self.stdout.write(f"    {count:>7,}  {code}")


def _ingest(mailbox: Mailbox, options: dict[str, Any], show: pipeline.Progress) -> tuple[pipeline.Summary, Total]:
    """Take in what the options name, and follow what went where they ask for it."""
    folder, quarantine = options["folder"], options["quarantine"]
    read_attachments = not options["no_attachments"]
    if not options["follow_deletions"]:
        source = open_source(options["source"])
        summary = pipeline.ingest(
            source,
            mailbox=mailbox,
            folder=folder,
            quarantine=quarantine,
            progress=show,
            read_attachments=read_attachments,
        )
        return summary, Total()
    shown = pipeline.Summary()

    def keep(so_far: pipeline.Summary) -> None:
        nonlocal shown
        shown = so_far
        show(so_far)

    followed = syncing.sync(
        follow(mailbox, address_of(str(options["source"])), by_hand=True),
        read_attachments=read_attachments,
        folder=folder or "",
        quarantine=quarantine,
        show=keep,
    )
    return shown, followed


def embed(tenant: Tenant, console: Console) -> None:
    """Embed what waits of *tenant*, with a bar. Raises CommandError where the model can't be used."""
    try:
        with _bar(console, bytes_=False) as bar:
            task = bar.add_task(f"Embedding {tenant.slug}", total=None, messages=0)

            def show(so_far: embedding.Progress) -> None:
                bar.update(task, total=so_far.done + so_far.waiting, completed=so_far.done, messages=f"{so_far.done:,}")

            embedding.embed_pending(tenant, progress=show)
    except EmbeddingUnavailable as error:
        raise CommandError(f"{error} What was embedded is kept; repeat the command to go on.") from error


def _bar(console: Console, *, bytes_: bool = True) -> Progress:
    unit = "messages" if bytes_ else "passages"
    columns = [DownloadColumn()] if bytes_ else []
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.fields[messages]}} {unit}"),
        *columns,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def mailbox_of(tenant: str, mailbox: str) -> Mailbox:
    """The mailbox of these slugs. Raises CommandError that says how to make it."""
    owner = Tenant.objects.filter(slug=tenant).first()
    if owner is None:
        raise CommandError(
            f"There is no tenant {tenant!r}; make it with: manage.py create_tenant {tenant} --mailbox {mailbox}"
        )
    found = Mailbox.objects.select_related("tenant").filter(tenant=owner, slug=mailbox).first()
    if found is None:
        raise CommandError(
            f"The tenant {tenant!r} has no mailbox {mailbox!r};"
            f" make it with: manage.py create_mailbox {mailbox} --tenant {tenant}"
        )
    return found
