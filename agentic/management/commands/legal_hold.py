"""`manage.py legal_hold set|lift --tenant T --reason …`: stop erasure and retention of a tenant, or let them go on."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from agentic import erasure
from agentic.callers import COMMAND_LINE
from agentic.management.commands.create_tenant import tenant_of
from agentic.server.eraser import as_eraser


class Command(BaseCommand):
    help = "While a tenant is under legal hold, erase_message and retain delete nothing of it. Both acts are recorded."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=("set", "lift", "show"))
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--reason", default="", help="why; needed to set and to lift")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant, what = tenant_of(options["tenant"]), options["what"]
        if what != "show":
            if not options["reason"].strip():
                raise CommandError("Say why with --reason.")
            try:
                with as_eraser():
                    erasure.hold(tenant, COMMAND_LINE, options["reason"], held=what == "set")
            except ImproperlyConfigured as error:
                raise CommandError(str(error)) from error
        self.stdout.write(f"{tenant.slug} is {'' if erasure.on_hold(tenant) else 'not '}under legal hold.")
