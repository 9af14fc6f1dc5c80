"""`manage.py erase_message ID --tenant T --reason …`: take a message out of the store and out of every run's words."""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from agentic import erasure
from agentic.callers import COMMAND_LINE
from agentic.management.commands.create_tenant import tenant_of
from agentic.server.eraser import as_eraser
from mailsearch.ingest import erasing
from mailsearch.ingest.erasing import Erased
from mailsearch.models import Tenant

# A run may last two minutes.
_PATIENCE = 130.0


class Command(BaseCommand):
    """Logs in as the role that may erase. The act is recorded; what it leaves is a hash that blocks a new import."""

    help = (
        "Erase a message for good, with its copies of the same content and what is attached to it, and what runs have"
        " kept of its words. The same mail is not taken in again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("message", nargs="?", default="", metavar="ID", help="the message's id: msg_…")
        which.add_argument("--message-id", default="", metavar="MESSAGE-ID", help="all messages with this Message-ID")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--reason", required=True, help="why; it is kept with the record, so name no contents")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = tenant_of(options["tenant"])
        if not options["reason"].strip():
            raise CommandError("Say why with --reason.")
        try:
            with as_eraser():
                self._erase_all(tenant, options["message"], options["message_id"], options["reason"])
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        except erasure.OnHold as error:
            raise CommandError(f"{tenant.slug} is under legal hold; nothing of it may be erased.") from error

    def _erase_all(self, tenant: Tenant, public_id: str, rfc_message_id: str, reason: str) -> None:
        messages = [public_id] if public_id else erasing.find(tenant, rfc_message_id)
        gone: list[Erased] = []
        for message in messages:
            # A copy may have gone with an earlier one.
            found = erasure.erase(tenant, message, COMMAND_LINE, reason)
            if found is not None:
                done, erased = found
                gone.append(erased)
                self.stdout.write(f"{len(done.messages)} messages erased; {done.texts} rows of runs lost their words.")
        if not gone:
            raise CommandError(f"{tenant.slug} has no such message.")
        self._sweep(tenant, gone, reason)

    def _sweep(self, tenant: Tenant, gone: list[Erased], reason: str) -> None:
        """A run that read the message before may write its words after: wait for its end, and look again."""
        until = time.monotonic() + _PATIENCE
        waited = False
        while erasure.under_way(tenant) and time.monotonic() < until:
            waited = True
            time.sleep(0.5)
        for erased in gone if waited else ():
            if texts := erasure.sweep(tenant, erased, COMMAND_LINE, reason):
                self.stdout.write(f"{texts} more rows of runs that were under way lost their words.")
        if waited and erasure.under_way(tenant):
            self.stderr.write("Runs are still under way that may have read the message; run this again later.")
