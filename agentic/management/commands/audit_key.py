"""`manage.py audit_key`: the public half of the key that signs the audit, for those who check it from outside."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from agentic import signing


class Command(BaseCommand):
    help = "Print the ids and public keys (Ed25519, base64) by which this service checks the audit's seals."

    def handle(self, *args: Any, **options: Any) -> None:
        for public in (signing.public_key(settings.PM_AUDIT_KEY), *settings.PM_AUDIT_FORMER_KEYS):
            (name,) = signing.public_keys((public,))
            self.stdout.write(f"{name} {public}")
