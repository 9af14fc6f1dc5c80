"""`manage.py keys list|rotate|revoke`: look after service keys. `create_key` makes them."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from agentic.callers import revoke_key, rotate_key, state_of
from agentic.management.commands.create_tenant import tenant_of
from mailsearch.models import ApiKey, Tenant


class Command(BaseCommand):
    help = "List service keys, put a new one in an old one's place, or end one. No secret is kept, so none is listed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="list|rotate|revoke")
        listing = acts.add_parser("list", help="all keys of a tenant: what each may do, its state and its last use")
        rotating = acts.add_parser("rotate", help="a new key for the same caller, with the same rights and runs")
        revoking = acts.add_parser("revoke", help="end a key now")
        for one in (listing, rotating, revoking):
            one.add_argument("--tenant", required=True, metavar="SLUG")
        for one in (rotating, revoking):
            one.add_argument("prefix", help="as `list` shows it, or the beginning of the token")
            one.add_argument("--reason", default="", help="kept with the act")
        rotating.add_argument(
            "--overlap", type=float, default=24.0, metavar="HOURS", help="how long the old one goes on"
        )
        revoking.add_argument("--all-rotations", action="store_true", help="and every other key of the same caller")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = tenant_of(options["tenant"])
        match options["act"]:
            case "list":
                self._list(tenant)
            case "rotate":
                self._rotate(_key(tenant, options["prefix"]), options["overlap"], options["reason"])
            case _:
                self._revoke(_key(tenant, options["prefix"]), options["reason"], options["all_rotations"])

    def _list(self, tenant: Tenant) -> None:
        for key in ApiKey.objects.filter(tenant=tenant).order_by("name", "created_at"):
            used = f"last used {key.last_used_at:%Y-%m-%d %H:%M} UTC" if key.last_used_at else "never used"
            ends = f", expires {key.expires_at:%Y-%m-%d %H:%M} UTC" if key.expires_at else ""
            self.stdout.write(f"{key.prefix}  {state_of(key):<8} {key.name}: {' '.join(key.permissions)}; {used}{ends}")

    def _rotate(self, key: ApiKey, hours: float, reason: str) -> None:
        if not 0 <= hours <= 24 * 90:
            raise CommandError("--overlap must be from 0 to 2160 hours.")
        if state_of(key) != "valid":
            raise CommandError(f"The key {key.prefix} is {state_of(key)}; make a new one with create_key.")
        made, token = rotate_key(key, timedelta(hours=hours), reason=reason)
        ends = timezone.now() + timedelta(hours=hours)
        self.stderr.write(f"{made.prefix} takes the place of {key.prefix}, which ends {ends:%Y-%m-%d %H:%M} UTC.")
        self.stderr.write("This is shown once:")
        self.stdout.write(token)

    def _revoke(self, key: ApiKey, reason: str, all_rotations: bool) -> None:
        ended = ApiKey.objects.filter(tenant=key.tenant, lineage=key.lineage) if all_rotations else [key]
        for one in ended:
            revoke_key(one, reason=reason)
            self.stdout.write(f"The key {one.prefix} ({one.name}) has ended.")


def _key(tenant: Tenant, prefix: str) -> ApiKey:
    # Whoever pastes the whole token is told nothing of it again.
    wanted = prefix.removeprefix("pm_").partition("_")[0]
    key = ApiKey.objects.filter(tenant=tenant, prefix=wanted).select_related("tenant").first()
    if key is None:
        raise CommandError(f"{tenant.slug} has no key {wanted[:10]!r}; `keys list` shows those that it has.")
    return key
