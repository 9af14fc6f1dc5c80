"""Say where a mailbox's mail comes from, so that `sync` follows it."""

import getpass
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mailsearch.ingest.addressing import Address, address_of
from mailsearch.ingest.following import follow
from mailsearch.ingest.imap_session import is_loopback
from mailsearch.ingest.sources import NotASource
from mailsearch.management.commands.ingest import mailbox_of
from mailsearch.models import MailSource

Login = MailSource.Login


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Say where a mailbox's mail comes from. Repeat it to give another secret. `sync` then follows the source."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "source", help="imaps://account@host (TLS), imap://account@host (STARTTLS), or a path as for ingest"
        )
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--mailbox", required=True, metavar="SLUG")
        secret = parser.add_mutually_exclusive_group()
        secret.add_argument("--secret-env", metavar="NAME", help="the variable that holds the secret when sync runs")
        secret.add_argument("--secret-stdin", action="store_true", help="read the secret from standard input")
        parser.add_argument(
            "--xoauth2", action="store_true", help="the secret is a command that prints an access token"
        )
        parser.add_argument("--ca-file", default="", metavar="PEM", help="certificates to believe beside the system's")
        parser.add_argument("--plain", action="store_true", help="without TLS; only to this machine itself")

    def handle(self, *args: Any, **options: Any) -> None:
        mailbox = mailbox_of(options["tenant"], options["mailbox"])
        try:
            address = address_of(options["source"], plain=options["plain"])
        except NotASource as error:
            raise CommandError(str(error)) from error
        _check(address, options)
        login = Login.XOAUTH2 if options["xoauth2"] else Login.PASSWORD
        asked_for = address.kind == "imap" and not options["secret_env"]
        source = follow(
            mailbox,
            address,
            secret=_secret(options["secret_stdin"], address, login) if asked_for else "",
            secret_env=options["secret_env"] or "",
            login=login,
            ca_file=os.path.abspath(options["ca_file"]) if options["ca_file"] else "",
        )
        self.stdout.write(
            f"{source} is a source of {mailbox}. Follow it with: manage.py sync --tenant {options['tenant']}"
            f" --mailbox {mailbox}"
        )


def _check(address: Address, options: dict[str, Any]) -> None:
    if address.tls == MailSource.Tls.NONE and not is_loopback(address.host):
        raise CommandError(f"--plain is for this machine alone, and {address.host} is another; leave it out.")
    if (options["secret_env"] or "").startswith("PM_"):
        raise CommandError("Variables that begin with PM_ are this service's own; put the secret in another one.")
    if options["ca_file"] and not os.access(options["ca_file"], os.R_OK):
        raise CommandError(f"{options['ca_file']} can't be read.")


def _secret(from_stdin: bool, address: Address, login: MailSource.Login) -> str:
    wanted = "Command that prints a token" if login == Login.XOAUTH2 else "Password"
    if from_stdin or not sys.stdin.isatty():
        given = sys.stdin.readline().rstrip("\r\n")
    else:
        given = getpass.getpass(f"{wanted} of {address.account}: ")
    if not given:
        raise CommandError("No secret was given; type it when asked, or use --secret-stdin or --secret-env.")
    return given
