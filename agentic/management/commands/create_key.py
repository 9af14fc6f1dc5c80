"""`manage.py create_key`: make a service key and show its token once; or put a new one in an old one's place."""

from argparse import ArgumentParser
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentic import sandbox
from agentic.callers import Access, create_key, rotate_key
from agentic.management.commands.create_tenant import tenant_of
from agentic.progress import StageProgress
from mailsearch.models import ApiKey, Folder, Mailbox, Permission, Tenant

# Options that a sandbox key does not take.
_FIXED = ("mailbox", "all_mailboxes", "folder", "recursive", "include_junk", "rotate")


class Command(BaseCommand):
    help = "Make a service key. Its token is shown once and kept nowhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--tenant", metavar="SLUG")
        whose.add_argument(
            "--sandbox", action="store_true", help="a key for the sample mail and a model that replies by a script"
        )
        parser.add_argument("--name", default="", help="what the key is for")
        add_access_arguments(parser)
        parser.add_argument("--expires", metavar="DATE", help="2026-12-31, or 2026-12-31T12:00+01:00")
        parser.add_argument("--rotate", metavar="PREFIX", help="a new key for the caller of this one, with its rights")
        parser.add_argument("--overlap", type=float, default=24.0, metavar="HOURS", help="how long the old one goes on")

    def handle(self, *args: Any, **options: Any) -> None:
        key, token = self._sandbox_key(options) if options["sandbox"] else _tenant_key(options)
        self.stderr.write(f"The key {key.prefix} ({key.name}); this is shown once:")
        self.stdout.write(token)

    def _sandbox_key(self, options: dict[str, Any]) -> tuple[ApiKey, str]:
        """A key of the sandbox: what it reads is fixed, and of what a sandbox key may do, less can be named."""
        named = [f"--{name.replace('_', '-')}" for name in _FIXED if options[name]]
        if named:
            raise CommandError(f"What a sandbox key reads is fixed; leave out {', '.join(named)}.")
        permissions = options["permission"] or list(sandbox.PERMISSIONS)
        beyond = sorted(set(permissions) - set(sandbox.PERMISSIONS))
        if beyond:
            raise CommandError(f"A sandbox key only reads; it may not have {', '.join(beyond)}.")
        with StageProgress(self.stderr) as progress:
            try:
                tenant = sandbox.prepare(progress.tell)
            except sandbox.NotASandbox as error:
                raise CommandError(str(error)) from error
        return sandbox.make_key(tenant, _name(options), permissions, _moment(options["expires"]))


def _tenant_key(options: dict[str, Any]) -> tuple[ApiKey, str]:
    tenant = tenant_of(options["tenant"])
    if options["rotate"]:
        return rotate_key(_key(tenant, options["rotate"]), timedelta(hours=options["overlap"]))
    return create_key(tenant, _name(options), access_of(tenant, options), _moment(options["expires"]))


def _name(options: dict[str, Any]) -> str:
    name: str = options["name"]
    if not name:
        raise CommandError("Say what the key is for with --name.")
    return name


def add_access_arguments(parser: ArgumentParser) -> None:
    """The arguments that say what may be done and read. What is not named is denied."""
    parser.add_argument(
        "--permission", action="append", default=[], choices=Permission.values, help="may be given several times"
    )
    parser.add_argument("--mailbox", action="append", default=[], metavar="SLUG", help="a mailbox it may read")
    parser.add_argument("--all-mailboxes", action="store_true", help="all of the tenant's, those to come too")
    parser.add_argument("--folder", action="append", default=[], metavar="MAILBOX/PATH", help="a folder it may read")
    parser.add_argument("--recursive", action="store_true", help="and the folders below those")
    parser.add_argument("--include-junk", action="store_true", help="junk and trash of its mailboxes, too")


def access_of(tenant: Tenant, options: dict[str, Any]) -> Access:
    """What `add_access_arguments` were given. Raises CommandError for mailboxes and folders that do not exist."""
    if not options["permission"]:
        raise CommandError(f"Name at least one --permission: {', '.join(Permission.values)}.")
    reads = bool(options["mailbox"] or options["folder"] or options["all_mailboxes"])
    if not reads and set(options["permission"]) - {Permission.AUDIT_READ}:
        raise CommandError("Say what it may read: --mailbox, --folder or --all-mailboxes. None of them is none.")
    return Access(
        tuple(options["permission"]),
        all_mailboxes=options["all_mailboxes"],
        mailboxes=tuple(_mailbox(tenant, slug) for slug in options["mailbox"]),
        folders=tuple(_folder(tenant, path) for path in options["folder"]),
        recursive=options["recursive"],
        include_junk=options["include_junk"],
    )


def _mailbox(tenant: Tenant, slug: str) -> Mailbox:
    mailbox = Mailbox.objects.filter(tenant=tenant, slug=slug).first()
    if mailbox is None:
        there = ", ".join(tenant.mailboxes.order_by("slug").values_list("slug", flat=True)) or "none"
        raise CommandError(f"{tenant.slug} has no mailbox {slug!r}; it has: {there}.")
    return mailbox


def _folder(tenant: Tenant, path: str) -> Folder:
    slug, _, inside = path.partition("/")
    folder = Folder.objects.filter(mailbox=_mailbox(tenant, slug), path=inside).first()
    if folder is None:
        there = Folder.objects.filter(tenant=tenant, mailbox__slug=slug).order_by("path")
        listed = ", ".join(there.values_list("path", flat=True)[:50]) or "none"
        raise CommandError(f"{slug} has no folder {inside!r}; it has: {listed}.")
    return folder


def _key(tenant: Tenant, prefix: str) -> ApiKey:
    key = ApiKey.objects.filter(tenant=tenant, prefix=prefix.removeprefix("pm_"), revoked_at=None).first()
    if key is None:
        raise CommandError(f"{tenant.slug} has no key {prefix!r} that could be rotated.")
    return key


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"--expires must be a date such as 2026-12-31, not {text!r}.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
