"""Give passages their vectors, newest mail first; resumable, and with --watch for as long as it runs."""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from mailsearch.ingest import embedding
from mailsearch.management.commands.ingest import embed
from mailsearch.models import Tenant

_PAUSE = 5.0


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Embed what waits. Keyword search is complete without it; semantic search finds what is embedded."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", metavar="SLUG", help="only this one (default: all)")
        parser.add_argument("--watch", action="store_true", help="go on with what arrives, until interrupted")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._embed(options["tenant"], watch=options["watch"])
        except KeyboardInterrupt:
            if not options["watch"]:
                raise
            self.stdout.write("Stopped.")

    def _embed(self, slug: str | None, *, watch: bool) -> None:
        console = Console(stderr=True)
        while True:
            for tenant in _tenants(slug):
                if embedding.waiting(tenant):
                    embed(tenant, console)
            if not watch:
                return
            time.sleep(_PAUSE)


def _tenants(slug: str | None) -> list[Tenant]:
    tenants = Tenant.objects.order_by("id")
    if slug is None:
        return list(tenants)
    found = list(tenants.filter(slug=slug))
    if not found:
        raise CommandError(f"There is no tenant {slug!r}; make it with: manage.py create_tenant {slug}")
    return found
