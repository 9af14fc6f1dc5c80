"""`manage.py setup_database`: make the database, its roles and tables, or bring them up to date."""

import os
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agentic.server.embedded import EmbeddedPostgres
from agentic.server.setup import setup_database


class Command(BaseCommand):
    requires_system_checks = ()
    help = (
        "Make the database with its roles and tables, or bring them up to date. Needs a login that may create roles"
        " and databases, named in PM_ADMIN_DATABASE_URL; without PM_DATABASE_URL it sets up the embedded server."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--database", default="", help="the database's name (default: that of PM_DATABASE_URL)")

    def handle(self, *args: Any, **options: Any) -> None:
        database = options["database"] or str(settings.DATABASES["default"]["NAME"])
        try:
            names = setup_database(self._admin(), database, verbosity=int(options["verbosity"]))
        except psycopg.Error as error:
            raise CommandError(f"The database refused: {str(error).strip()}") from error
        self.stdout.write(
            f"{database} is up to date. The service logs in as {names.app}; give that role a password with"
            f" ALTER ROLE {names.app} PASSWORD '…' where the server asks for one."
        )

    def _admin(self) -> str:
        if settings.PM_EMBEDDED:
            server = EmbeddedPostgres(settings.PM_DATA)
            server.start()
            return server.conninfo()
        admin = os.environ.get("PM_ADMIN_DATABASE_URL", "")
        if not admin:
            raise CommandError("Set PM_ADMIN_DATABASE_URL to a login that may create roles and databases.")
        return admin
