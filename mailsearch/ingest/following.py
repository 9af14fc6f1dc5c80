"""A mailbox's source put on record with what opens it, so that `sync` follows it."""

from django.db import transaction

from mailsearch.ingest import credentials
from mailsearch.ingest.addressing import Address
from mailsearch.models import Mailbox, MailSource


def follow(
    mailbox: Mailbox,
    address: Address,
    *,
    secret: str = "",
    secret_env: str = "",
    login: MailSource.Login = MailSource.Login.PASSWORD,
    ca_file: str = "",
    by_hand: bool = False,
) -> MailSource:
    """Have *mailbox* follow what *address* names. Done again, it changes how the same source is opened.

    *secret* (a password, or with XOAUTH2 a command that prints a token) is kept encrypted; *secret_env* names the
    variable that holds it instead. With *by_hand* `sync` passes it over, unless it follows
    it already.
    """
    opened = {
        "tenant": mailbox.tenant,
        "account": address.account,
        "host": address.host,
        "port": address.port,
        "tls": address.tls,
        "ca_file": ca_file,
        "login": login,
        "secret_env": secret_env,
    }
    with transaction.atomic():
        source, _ = MailSource.objects.update_or_create(
            mailbox=mailbox,
            kind=address.kind,
            location=address.location,
            defaults=opened if by_hand else {**opened, "by_hand": False},
            create_defaults={**opened, "by_hand": by_hand},
        )
        if secret:
            credentials.keep(source, secret)
    return source
