"""`manage.py retain`: delete the words of runs whose time has run out, tenant by tenant."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from agentic import erasure
from agentic.callers import COMMAND_LINE
from agentic.management.commands.create_tenant import tenant_of
from agentic.server.eraser import as_eraser
from mailsearch.models import Tenant


class Command(BaseCommand):
    """For a daily timer. Logs in as the role that may erase; each tenant's deletion is a recorded act."""

    help = (
        "Delete the words of runs (questions, evidence, drafts, sentences, notes) that are older than the tenant's"
        " audit.text_days. That they were, when and how they ended stays on record and still verifies."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default="", metavar="SLUG", help="only this tenant (default: all)")

    def handle(self, *args: Any, **options: Any) -> None:
        tenants = [tenant_of(options["tenant"])] if options["tenant"] else list(Tenant.objects.order_by("slug"))
        try:
            with as_eraser():
                for tenant in tenants:
                    self.stdout.write(f"{tenant.slug}: {_retain(tenant)}")
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error


def _retain(tenant: Tenant) -> str:
    days = erasure.retention_days(tenant)
    if days is None:
        return "words are kept for ever (audit.text_days is not set)"
    try:
        count = erasure.retain(tenant, days, COMMAND_LINE)
    except erasure.OnHold:
        return "under legal hold, nothing is deleted"
    return f"{count} rows older than {days} days lost their words"
