"""`manage.py create_tenant SLUG`: make a tenant, or add a mailbox to it."""

from argparse import ArgumentParser
from typing import Any
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_slug

from agentic.models import AgentPolicy
from mailsearch.models import Mailbox, Tenant


class Command(BaseCommand):
    help = "Make a tenant. What is there already stays as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="its name in commands and requests")
        parser.add_argument("--name", default="", help="its name for people")
        parser.add_argument("--timezone", default="UTC", help="IANA name; its days and caps are counted by it")
        parser.add_argument(
            "--may-leave",
            choices=Tenant.MayLeave.values,
            default=Tenant.MayLeave.ANSWERS,
            help="which text of its mail may go to models elsewhere",
        )
        parser.add_argument("--mailbox", action="append", default=[], metavar="SLUG", help="make this mailbox too")

    def handle(self, *args: Any, **options: Any) -> None:
        for slug in (options["slug"], *options["mailbox"]):
            check_slug(slug)
        try:
            ZoneInfo(options["timezone"])
        except (KeyError, ValueError, OSError) as error:
            raise CommandError(f"There is no time zone {options['timezone']!r}; write Europe/Berlin or UTC.") from error
        tenant, made = Tenant.objects.get_or_create(
            slug=options["slug"],
            defaults={
                "name": options["name"] or options["slug"],
                "timezone": options["timezone"],
                "may_leave": options["may_leave"],
            },
        )
        # Rows without values, so that the admin lists the limits of every tenant and the defaults of all.
        for owner in (tenant, None):
            AgentPolicy.objects.get_or_create(tenant=owner)
        self.stdout.write(f"The tenant {tenant.slug} {'was made' if made else 'is there already'}.")
        for slug in options["mailbox"]:
            _, made = Mailbox.objects.get_or_create(tenant=tenant, slug=slug)
            self.stdout.write(f"Its mailbox {slug} {'was made' if made else 'is there already'}.")


def check_slug(slug: str) -> None:
    """Raises CommandError for what is no slug."""
    try:
        validate_slug(slug)
    except ValidationError as error:
        raise CommandError(f"{slug!r} must consist of letters, digits, - and _.") from error


def tenant_of(slug: str) -> Tenant:
    """The tenant of this name. Raises CommandError."""
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise CommandError(f"There is no tenant {slug!r}; make it with: manage.py create_tenant {slug}")
    return tenant
