"""Keys in the admin and at the command line: shown once, ended at once, for the tenant's administrators alone."""

import re
import uuid
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from agentic.callers import Access, Unrecognised, add_member, resolve_key, revoke_key, scope_now, state_of
from agentic.models import AdminAct, AgentPolicy
from mailsearch.models import ApiKey
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import asked, insurer_accepts, read
from tests.agentic.cast import House, house

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = re.compile(r"pm_[0-9a-f]{10}_[A-Za-z0-9_-]{43}")
ADD = reverse("admin:mailsearch_apikey_add")
LIST = reverse("admin:mailsearch_apikey_changelist")


def _person(home: House, role: str = "administrator", *, superuser: bool = False) -> Client:
    name = f"{role}-{uuid.uuid4().hex[:8]}"
    user = get_user_model().objects.create_user(name, is_staff=True, is_superuser=superuser)
    if not superuser:
        add_member(home.office.tenant, user, role, Access(()))
    client = Client()
    client.force_login(user)
    return client


def _form(home: House, **more: Any) -> dict[str, Any]:
    given = {"tenant": home.office.tenant.pk, "name": "agent", "permissions": ["search:read"], "reason": "a new agent"}
    return {**given, "mailboxes": [home.office.mailbox("family").pk], **more}


def _recorded(home: House, act: str, key: ApiKey) -> tuple[AdminAct, str]:
    with bound(Binding(audit=frozenset({home.office.tenant.pk}))):
        row = AdminAct.objects.get(tenant=home.office.tenant, act=act, detail__key=key.prefix)
        return row, row.reason


def test_a_key_is_made_on_a_page_that_shows_it_once() -> None:
    home = house()
    bob = _person(home)
    made = bob.post(ADD, _form(home))
    (token,) = TOKEN.findall(made.content.decode())
    assert "no-store" in made.headers["Cache-Control"]
    assert scope_now(resolve_key(token)) == scope_now(home.jo.principal)
    key = ApiKey.objects.get(prefix=token.split("_")[1])
    for page in (LIST, reverse("admin:mailsearch_apikey_change", args=[key.pk])):
        shown = bob.get(page).content.decode()
        assert key.prefix in shown
        assert not TOKEN.search(shown)
    act, reason = _recorded(home, "key created", key)
    assert act.actor.startswith("user:")
    assert reason == "a new agent"


def test_what_is_not_chosen_is_not_granted() -> None:
    home, other = house(), house()
    bob = _person(home)
    refused: list[dict[str, Any]] = [
        {"mailboxes": []},
        {"permissions": []},
        {"permissions": ["search:everything"]},
        {"tenant": other.office.tenant.pk},
        {"mailboxes": [other.office.mailbox("family").pk]},
        {"expires_at": "soon"},
    ]
    for more in refused:
        assert not TOKEN.search(bob.post(ADD, _form(home, **more)).content.decode()), more


def test_a_rotated_key_takes_the_old_ones_place_and_its_runs() -> None:
    home = house()
    jo, bob = home.jo, _person(home)
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=120)
    run = asked(jo.principal, insurer_accepts())["run_id"]
    address = reverse("admin:mailsearch_apikey_rotate", args=[jo.key.pk])
    assert not TOKEN.search(bob.get(address).content.decode())
    (token,) = TOKEN.findall(bob.post(address, {"overlap": "0", "reason": "yearly"}).content.decode())
    with pytest.raises(Unrecognised):
        resolve_key(jo.token)
    mine = read(resolve_key(token), run)
    assert mine is not None
    assert mine["answer"]


def test_a_revoked_key_is_ended_at_once() -> None:
    home = house()
    jo, bob = home.jo, _person(home)
    bob.post(reverse("admin:mailsearch_apikey_revoke", args=[jo.key.pk]), {"reason": "lost"})
    with pytest.raises(Unrecognised):
        resolve_key(jo.token)
    assert _recorded(home, "key revoked", jo.key)[1] == "lost"


def test_keys_are_the_business_of_the_tenants_own_administrators() -> None:
    home = house()
    jo = home.jo
    strangers = [_person(home, "auditor"), _person(house()), _person(home, "root", superuser=True)]
    pages = [reverse(f"admin:mailsearch_apikey_{act}", args=[jo.key.pk]) for act in ("change", "rotate", "revoke")]
    for stranger in strangers:
        for page in pages:
            answered = stranger.post(page, {"reason": "x", "overlap": "0"})
            assert answered.status_code in (302, 403, 404)
        assert jo.key.prefix not in stranger.get(LIST).content.decode()
        assert not TOKEN.search(stranger.post(ADD, _form(home)).content.decode())
    assert resolve_key(jo.token).caller == jo.principal.caller


def _keys(*arguments: str) -> str:
    out = StringIO()
    call_command("keys", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_keys_are_listed_rotated_and_revoked_at_the_command_line() -> None:
    home = house()
    jo, slug = home.jo, home.office.tenant.slug
    assert re.search(rf"{jo.key.prefix}  valid    Jo: .*search:read.*; last used 20", _keys("list", "--tenant", slug))
    token = _keys("rotate", jo.token, "--tenant", slug, "--overlap", "1").strip()
    assert resolve_key(token).caller == resolve_key(jo.token).caller
    assert jo.token not in _keys("revoke", jo.token, "--tenant", slug)
    assert resolve_key(token).caller == jo.principal.caller
    _keys("revoke", token, "--tenant", slug, "--all-rotations")
    assert [state_of(one) for one in ApiKey.objects.filter(tenant=home.office.tenant)] == ["revoked", "revoked"]


def test_commands_on_keys_that_are_none_say_what_to_do() -> None:
    home, other = house(), house()
    revoke_key(home.kim.key)
    slug = home.office.tenant.slug
    ended = ApiKey.objects.get(tenant=home.office.tenant)
    for prefix, told in ((other.jo.key.prefix, "keys list"), (ended.prefix, "create_key")):
        with pytest.raises(CommandError, match=told):
            _keys("rotate", prefix, "--tenant", slug)
