"""`manage.py serve`: the service on embedded defaults, with the sample mail and people to sign in as."""

import secrets
from dataclasses import dataclass
from typing import Any

import uvicorn
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentic import callers, sample_mail
from agentic.progress import StageProgress
from mailsearch.ingest.embedding import embed_pending
from mailsearch.models import ApiKey, Membership, Permission, Tenant

_KEY_NAME = "sample agent"
_READ = (Permission.SEARCH_READ, Permission.SEARCH_AGENTIC, Permission.MESSAGE_RAW, Permission.VERIFY)


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    role: Membership.Role
    permissions: tuple[str, ...]
    superuser: bool = False


_PEOPLE = (
    _Person("administrator", Membership.Role.ADMINISTRATOR, (*_READ, Permission.AUDIT_READ), superuser=True),
    _Person("auditor", Membership.Role.AUDITOR, (Permission.SEARCH_READ, Permission.AUDIT_READ)),
)


class Command(BaseCommand):
    help = "Serve on this machine with the sample mail, an administrator, an auditor and a service key."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--new-secrets", action="store_true", help="make new passwords and a new key")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.PM_EMBEDDED:
            raise CommandError("serve is for embedded defaults; with PM_DATABASE_URL run uvicorn yourself.")
        with StageProgress(self.stderr) as progress:
            tenant = sample_mail.load(progress.tell)
            embed_pending(
                tenant, progress=lambda stage: progress.tell("vectors", stage.done, stage.done + stage.waiting)
            )
        self._secrets(tenant, renew=bool(options["new_secrets"]))
        port = int(options["port"])
        self.stdout.write(f"http://127.0.0.1:{port}/ for people, /admin/ for settings, /v1/ for programs; until Ctrl-C")
        uvicorn.run(
            "agentic.server.asgi:application",
            host="127.0.0.1",
            port=port,
            log_level="warning",
            timeout_graceful_shutdown=130,
            lifespan="on",
        )

    def _secrets(self, tenant: Tenant, *, renew: bool) -> None:
        made = [line for person in _PEOPLE for line in _make_person(tenant, person, renew=renew)]
        made += _make_key(tenant, renew=renew)
        if made:
            self.stdout.write("Shown once; `--new-secrets` makes new ones.")
        for line in made or ["Passwords and key are those shown at the first start; `--new-secrets` makes new ones."]:
            self.stdout.write(line)


def _make_person(tenant: Tenant, person: _Person, *, renew: bool) -> list[str]:
    users = get_user_model().objects
    user: AbstractBaseUser | None = users.filter(username=person.name).first()
    if user is not None and not renew:
        return []
    password = secrets.token_urlsafe(15)
    if user is None:
        user = users.create_user(person.name, is_staff=True, is_superuser=person.superuser)
    user.set_password(password)
    user.save()
    access = callers.Access(person.permissions, all_mailboxes=True)
    callers.add_member(tenant, user, person.role, access)
    return [f"{person.name}: {password}"]


def _make_key(tenant: Tenant, *, renew: bool) -> list[str]:
    keys = ApiKey.objects.filter(tenant=tenant, name=_KEY_NAME, revoked_at=None)
    if keys and not renew:
        return []
    for key in keys:
        callers.revoke_key(key)
    _, token = callers.create_key(tenant, _KEY_NAME, callers.Access(_READ, all_mailboxes=True))
    return [f"service key: {token}"]
