"""Keys and memberships: shown once, hashed, denied by default, ended at once, one caller over rotations."""

import hashlib
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.utils import timezone

from agentic import callers
from agentic.callers import TenantUnclear, Unrecognised, resolve_key, resolve_person, scope_now
from agentic.models import AdminAct
from mailsearch.models import ApiKey, Tenant
from tests.agentic.cast import House, house
from tests.mailsearch.posting import Office

pytestmark = pytest.mark.django_db(transaction=True)


def _create_key(home: House, *arguments: str) -> str:
    out = StringIO()
    call_command(
        "create_key", "--tenant", home.office.tenant.slug, "--name", "agent", *arguments, stdout=out, stderr=StringIO()
    )
    return out.getvalue().strip()


def _granted(home: House, *arguments: str) -> set[tuple[str, str]]:
    scope = scope_now(resolve_key(_create_key(home, "--permission", "search:read", *arguments)))
    names = {
        folder.pk: (folder.mailbox.slug, folder.path)
        for folder in home.office.tenant.folder_set.select_related("mailbox")
    }
    return {names[folder] for folder, _ in scope.folders}


def test_a_token_is_a_prefix_and_32_random_bytes_of_which_only_the_hash_is_kept() -> None:
    token = _create_key(house(), "--permission", "search:read", "--all-mailboxes")
    kind, prefix, secret = token.split("_", 2)
    key = ApiKey.objects.get(prefix=prefix)
    assert (kind, len(secret)) == ("pm", 43)
    assert bytes(key.secret_sha256) == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(ApiKey.objects.filter(pk=key.pk).values()[0])
    assert secret not in str(list(AdminAct.objects.filter(tenant=key.tenant).values()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: token[:-1],
        lambda token: token + "A",
        lambda token: token.swapcase(),
        lambda token: token.replace("pm_", "xx_"),
        lambda token: token.partition("_")[2],
        lambda token: "",
        lambda token: "pm_",
        lambda token: "pm__",
        lambda token: token[:14] + "é" * 43,
        lambda token: token[:14] + "\ud800",
    ],
)
def test_a_token_that_differs_in_anything_is_none(spoil: Any) -> None:
    token = house().jo.token
    assert resolve_key(token).is_key
    with pytest.raises(Unrecognised):
        resolve_key(spoil(token))


def test_a_key_ends_when_it_expires_or_is_revoked() -> None:
    home = house()
    jo, kim = home.jo, home.kim
    ApiKey.objects.filter(pk=jo.key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    callers.revoke_key(kim.key)
    for caller in (jo, kim):
        assert scope_now(caller.principal).empty
        with pytest.raises(Unrecognised):
            resolve_key(caller.token)


def test_a_rotated_key_is_the_same_caller_and_the_old_one_goes_on_for_the_overlap() -> None:
    home = house()
    old = home.jo
    new_key, token = callers.rotate_key(old.key, timedelta(hours=1))
    new = resolve_key(token)
    assert new.caller == resolve_key(old.token).caller
    assert (new.permissions, scope_now(new)) == (old.principal.permissions, scope_now(old.principal))
    callers.revoke_key(new_key)
    assert resolve_key(old.token).caller == old.principal.caller
    callers.rotate_key(old.key, timedelta(0))
    with pytest.raises(Unrecognised):
        resolve_key(old.token)


def test_the_last_use_is_kept() -> None:
    jo = house().jo
    assert ApiKey.objects.get(pk=jo.key.pk).last_used_at is not None


def test_nothing_is_granted_that_was_not_named() -> None:
    home = house()
    home.office.folder("family", "Archive")
    home.office.folder("family", "Archive/2024")
    home.office.folder("family", "Junk")
    family, workshop = {("family", "INBOX"), ("family", "Archive"), ("family", "Archive/2024")}, {("workshop", "INBOX")}
    assert _granted(home, "--mailbox", "family") == family
    assert _granted(home, "--mailbox", "family", "--include-junk") == family | {("family", "Junk")}
    assert _granted(home, "--all-mailboxes") == family | workshop
    assert _granted(home, "--folder", "family/Archive") == {("family", "Archive")}
    assert _granted(home, "--folder", "family/Archive", "--recursive") == family - {("family", "INBOX")}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--permission", "search:read"], "--all-mailboxes"),
        (["--all-mailboxes"], "search:read"),
        (["--permission", "search:read", "--mailbox", "famly"], "family, workshop"),
        (["--permission", "search:read", "--folder", "family/Inbox"], "INBOX"),
        (["--permission", "search:read", "--all-mailboxes", "--expires", "soon"], "2026-12-31"),
    ],
)
def test_a_refused_command_says_what_to_write(arguments: list[str], told: str) -> None:
    home = house()
    with pytest.raises(CommandError, match=told):
        _create_key(home, *arguments)
    assert not ApiKey.objects.filter(tenant=home.office.tenant).exists()


def test_a_mailbox_of_another_tenant_cannot_be_granted() -> None:
    home, other = house(), Office()
    other.mailbox("elsewhere")
    with pytest.raises(CommandError, match="no mailbox"):
        _create_key(home, "--permission", "search:read", "--mailbox", "elsewhere")


def test_a_person_reads_what_the_membership_grants_and_a_superuser_no_more() -> None:
    home = house()
    slug = home.office.tenant.slug
    boss = get_user_model().objects.create_superuser(f"boss-{slug}", password="x" * 12)
    with pytest.raises(Unrecognised):
        resolve_person(boss)
    call_command("add_member", boss.username, "--tenant", slug, "--permission", "search:read", "--mailbox", "family",
                 stdout=StringIO())  # fmt: skip
    boss_now = resolve_person(boss)
    assert boss_now.caller == f"user:{boss.pk}"
    assert scope_now(boss_now) == scope_now(home.jo.principal)
    assert not boss_now.may("search:agentic")


def test_a_person_of_two_tenants_says_in_which_to_act() -> None:
    one, two = Office().tenant, Office().tenant
    person = get_user_model().objects.create_user(f"ann-{one.slug}")
    for tenant in (one, two):
        callers.add_member(tenant, person, "member", callers.Access(("search:read",), all_mailboxes=True))
    with pytest.raises(TenantUnclear):
        resolve_person(person)
    assert resolve_person(person, two.slug).tenant == two.pk
    with pytest.raises(Unrecognised):
        resolve_person(person, Office().tenant.slug)


def test_making_a_tenant_twice_changes_nothing() -> None:
    slug = f"acme-{Office().tenant.slug[-6:]}"
    for name in ("first", "second"):
        call_command("create_tenant", slug, "--name", name, "--mailbox", "sales", "--timezone", "Europe/Berlin",
                     stdout=StringIO())  # fmt: skip
    tenant = Tenant.objects.get(slug=slug)
    assert (tenant.name, tenant.timezone) == ("first", "Europe/Berlin")
    assert [mailbox.slug for mailbox in tenant.mailboxes.all()] == ["sales"]


@pytest.mark.parametrize(
    "arguments", [["no good"], ["good", "--timezone", "Mars/Olympus"], ["good", "--mailbox", "a/b"]]
)
def test_a_tenant_with_a_senseless_name_or_zone_is_refused(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("create_tenant", *arguments, stdout=StringIO())
