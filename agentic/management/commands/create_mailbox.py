"""`manage.py create_mailbox SLUG --tenant T`: make a mailbox."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agentic.management.commands.create_tenant import check_slug, tenant_of
from mailsearch.models import Mailbox


class Command(BaseCommand):
    help = "Make a mailbox in a tenant. What is there already stays as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="its name in commands and requests")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--name", default="", help="its name for people")
        parser.add_argument("--address", default="", help="its mail address")
        parser.add_argument(
            "--authserv-id", default="", help="whose Authentication-Results count: the mailbox's own border"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        check_slug(options["slug"])
        tenant = tenant_of(options["tenant"])
        names = ("name", "address", "authserv_id")
        _, made = Mailbox.objects.get_or_create(
            tenant=tenant, slug=options["slug"], defaults={name: options[name] for name in names}
        )
        self.stdout.write(f"The mailbox {options['slug']} {'was made' if made else 'is there already'}.")
