"""`manage.py add_member USER --tenant T`: let a person into a tenant, with a role and explicit rights."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from agentic.callers import Access, add_member
from agentic.management.commands.create_key import access_of, add_access_arguments
from agentic.management.commands.create_tenant import tenant_of
from mailsearch.models import Membership


class Command(BaseCommand):
    help = "Make a person a member of a tenant, or change the membership. Superusers too read only what is granted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="the name that the person signs in with")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--role", choices=Membership.Role.values, default=Membership.Role.MEMBER)
        add_access_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = tenant_of(options["tenant"])
        user = get_user_model().objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no user {options['user']!r}; make one with: manage.py createsuperuser")
        # A role alone, such as the operator's, needs no rights on mail.
        access = access_of(tenant, options) if options["permission"] else Access(())
        add_member(tenant, user, options["role"], access)
        self.stdout.write(f"{options['user']} is {options['role']} in {tenant.slug}.")
