"""Limits of tenants: who may change them, what is shown before, what is kept after, and whom a change is refused."""

import re
import uuid

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentic.callers import resolve_key
from agentic.limits import BY_NAME, OutOfBounds
from agentic.models import AdminAct, AgentPolicy, DailyUse, Seal
from agentic.policies import effective
from mailsearch.ingest.credentials import Credential, credential_of
from mailsearch.models import Grant, Mailbox, MailSource, Tenant
from mailsearch.sessions import Binding, bound
from tests.pages.ended_runs import ended
from tests.pages.people import joins, person, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


def _tenant(name: str = "Kiln & Co") -> Tenant:
    return Tenant.objects.create(slug=f"t-{uuid.uuid4().hex[:10]}", name=name)


def _root() -> User:
    user: User = get_user_model().objects.create_superuser(f"root-{uuid.uuid4().hex[:8]}", password=None)
    return user


def _hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', page)
    assert found is not None, name
    return found[1]


def _form(client: Client, tenant: Tenant, **values: str) -> dict[str, str]:
    """The tenant's form with other *values*, as a browser would send it."""
    page = client.get(f"/settings/of/{tenant.slug}").content.decode()
    version = _hidden(page, f"version:{tenant.pk}")
    return {"owner": str(tenant.pk), "whole": "1", f"version:{tenant.pk}": version} | {
        f"set:{name}": value for name, value in values.items()
    }


def _acts(tenant: Tenant, about: str = "settings") -> list[AdminAct]:
    with bound(Binding(audit=frozenset({tenant.pk}))):
        return list(AdminAct.objects.filter(tenant=tenant, act__contains=about).order_by("pk"))


def test_a_change_is_shown_before_needs_a_reason_and_is_on_record() -> None:
    tenant = _tenant()
    user = person(tenant, "administrator")
    bob = signed_in(user)
    form = _form(bob, tenant, agentic_max_steps="4", agentic_max_seconds="")
    shown = bob.post("/settings/change", form)
    assert shown.status_code == 200
    assert "<s>inherited</s></td><td><strong>4 steps</strong></td><td>6 steps → 4 steps" in shown.content.decode()
    assert effective(tenant.pk).max_steps == 6
    without = bob.post("/settings/change", {**form, "confirmed": "1", "reason": "  "})
    assert (without.status_code, effective(tenant.pk).max_steps) == (400, 6)
    done = bob.post("/settings/change", {**form, "confirmed": "1", "reason": "Runs loop."})
    assert done.headers["Location"] == f"/settings/of/{tenant.slug}?changed=1"
    assert effective(tenant.pk).max_steps == 4
    (act,) = _acts(tenant)
    assert (act.actor, act.reason) == (f"user:{user.pk}", "Runs loop.")
    assert act.detail == {"before": {"agentic_max_steps": None}, "after": {"agentic_max_steps": 4}}
    assert Seal.objects.filter(tenant=tenant, kind="act", row=act.pk).exists()
    page = bob.get(f"/settings/of/{tenant.slug}").content.decode()
    assert "inherited → <strong>4</strong>" in page
    assert "Runs loop." in page


def test_who_saw_older_settings_changes_nothing() -> None:
    tenant = _tenant()
    bob = signed_in(person(tenant, "administrator"))
    mine, theirs = _form(bob, tenant, agentic_max_steps="4"), _form(bob, tenant, agentic_max_steps="3")
    sure = {"confirmed": "1", "reason": "why not"}
    assert bob.post("/settings/change", mine | sure).status_code == 302
    for late in (theirs, theirs | sure, mine | sure):
        refused = bob.post("/settings/change", late)
        assert refused.status_code == 409
        assert f"/settings/of/{tenant.slug}" in refused.content.decode()
    assert effective(tenant.pk).max_steps == 4
    assert len(_acts(tenant)) == 1


def test_many_tenants_are_changed_at_once_or_none_of_them() -> None:
    boss = _root()
    client = signed_in(boss)
    tenants = [_tenant(f"House {number}") for number in range(3)]
    AgentPolicy.objects.create(tenant=tenants[1], agentic_daily_cap=90, agentic_max_steps=5)
    page = client.get("/settings").content.decode()
    form: dict[str, object] = {f"version:{one.pk}": _hidden(page, f"version:{one.pk}") for one in tenants}
    form |= {"owner": [str(one.pk) for one in tenants], "set:agentic_daily_cap": "90", "inherit:agentic_max_steps": "1"}
    shown = client.post("/settings/change", form).content.decode()
    assert shown.count("90 runs a day</strong>") == 2
    assert "<s>5 steps</s></td><td><strong>inherited" in shown
    form |= {"confirmed": "1", "reason": "All alike."}
    outdated = form | {f"version:{tenants[2].pk}": "0" * 32}
    assert client.post("/settings/change", outdated).status_code == 409
    assert [effective(one.pk).caps.runs for one in tenants] == [500, 90, 500]
    assert client.post("/settings/change", form).status_code == 302
    assert [(effective(one.pk).caps.runs, effective(one.pk).max_steps) for one in tenants] == [(90, 6)] * 3
    assert [len(_acts(one)) for one in tenants] == [1, 1, 1]


def test_values_out_of_bounds_are_refused_in_one_sentence() -> None:
    tenant = _tenant()
    bob = signed_in(person(tenant, "administrator"))
    for name, value in (("agentic_max_steps", "21"), ("agentic_max_seconds", "ten"), ("verification", "lax")):
        shown = bob.post("/settings/change", _form(bob, tenant, **{name: value}))
        assert shown.status_code == 400
        assert f"{BY_NAME[name].title} takes" in shown.content.decode()
    assert bob.post("/settings/change", _form(bob, tenant, agentic_max_steps="")).status_code == 400
    assert BY_NAME["agentic_daily_cap"].read("1,000") == 1000
    for name, value in (("agentic_daily_cost_usd", "0"), ("agentic_key_share", "101"), ("audit_text_days", "-1")):
        with pytest.raises(OutOfBounds):
            BY_NAME[name].read(value)


def test_only_administrators_change_settings_and_for_all_others_there_are_none() -> None:
    tenant, other = _tenant(), _tenant()
    bob = signed_in(person(tenant, "administrator"))
    form = _form(bob, tenant, agentic_max_steps="4") | {"confirmed": "1", "reason": "because"}
    strangers = [signed_in(person(tenant, role)) for role in ("auditor", "operator", "member")]
    strangers.append(signed_in(person(other, "administrator")))
    unknown = strangers[0].get("/no-such-page").content
    for client in strangers:
        for address in (f"/settings/of/{tenant.slug}", f"/settings/of/{tenant.slug}/what-if", "/settings/defaults"):
            response = client.get(address)
            assert (response.status_code, response.content) == (404, unknown)
        assert client.post("/settings/change", form).status_code == 404
        assert tenant.slug not in client.get("/settings").content.decode()
    assert bob.get("/settings/defaults").status_code == 404
    assert bob.post("/settings/change", {**form, "owner": "0", "version:0": "none"}).status_code == 404
    assert _acts(tenant) == []


def test_who_set_the_service_up_changes_the_defaults_and_each_tenant_is_told() -> None:
    tenant, boss = _tenant(), signed_in(_root())
    AgentPolicy.objects.get_or_create(tenant=None)
    version = _hidden(boss.get("/settings/defaults").content.decode(), "version:0")
    form = {"owner": "0", "version:0": version, "set:audit_text_days": "400", "confirmed": "1", "reason": "The law."}
    try:
        assert boss.post("/settings/change", form).headers["Location"] == "/settings/defaults?changed=1"
        assert effective(tenant.pk).text_days == 400
        page = signed_in(person(tenant, "administrator")).get(f"/settings/of/{tenant.slug}").content.decode()
        assert "empty inherits: 400 days" in page
        assert "in the defaults of all tenants" in page
        assert "The law." in boss.get("/settings/defaults").content.decode()
    finally:
        AgentPolicy.objects.filter(tenant=None).update(audit_text_days=None)


def test_use_stands_beside_its_limit_and_is_marked_from_80_per_cent_on() -> None:
    tenant = _tenant()
    for replied in (1000, 2000, 4880):
        ended(tenant, asks=(("plan", 1, 10, 500), ("answer", 2, 600, replied)))
    today = connection.cursor()
    today.execute("SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date")
    DailyUse.objects.create(tenant=tenant, day=(today.fetchone() or ("",))[0], used=400)
    page = signed_in(person(tenant, "administrator")).get("/settings").content.decode()
    assert "p95 uses 57 %" in page or "p95 uses 58 %" in page
    assert "! near its limit: today 400, 80 %" in page
    assert page.count("! near its limit") == 1


def test_forty_tenants_take_no_more_queries_than_two() -> None:
    user = person(_tenant(), "administrator")
    client = signed_in(user)
    counted = []
    for more in (1, 40):
        for _ in range(more):
            tenant = _tenant()
            joins(user, tenant, "administrator")
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/settings").status_code == 200
        counted.append(len(queries))
    assert counted[0] == counted[1]


def test_what_lower_limits_would_have_meant_is_told_from_traces_and_leads_to_the_runs() -> None:
    tenant = _tenant()
    bob = signed_in(person(tenant, "administrator"))
    three = (("plan", 1, 10, 900), ("judge", 2, 1000, 1900), ("judge", 3, 2000, 2900))
    fits = ended(tenant)
    late = ended(tenant, asks=three, found_ms=(300, 1950), cites=1)
    blind = ended(tenant, asks=three, found_ms=(1950,), outcome="insufficient_evidence")
    address = f"/settings/of/{tenant.slug}/what-if"
    page = bob.get(address, {"agentic_max_steps": "2", "end": "exhausted"}).content.decode()
    assert "Of the last 3 runs <strong>1</strong> would have ended <code>budget_exhausted</code>; 0 did." in page
    assert blind.public_id in page
    assert late.public_id not in page
    assert late.public_id in bob.get(address, {"agentic_max_steps": "2", "end": "less"}).content.decode()
    assert fits.public_id in bob.get(address, {"agentic_max_steps": "2", "end": "same"}).content.decode()
    higher = bob.get(address, {"agentic_max_steps": "9"}).content.decode()
    assert "Traces can&#x27;t tell" in higher or "Traces can't tell" in higher
    assert "budget_exhausted" not in higher
    assert "takes whole numbers" in bob.get(address, {"agentic_max_seconds": "0"}).content.decode()
    confirm = bob.post("/settings/change", _form(bob, tenant, agentic_max_steps="2")).content.decode()
    assert "would have ended <code>budget_exhausted</code>" in confirm


def test_many_runs_are_rehearsed_with_as_many_queries_as_one() -> None:
    tenant = _tenant()
    bob = signed_in(person(tenant, "administrator"))
    counted = []
    for _ in range(2):
        ended(tenant)
        with CaptureQueriesContext(connection) as queries:
            bob.get(f"/settings/of/{tenant.slug}/what-if", {"agentic_max_steps": "2"})
        counted.append(len(queries))
    assert counted[0] == counted[1]


def _newcomer(**more: object) -> dict[str, object]:
    return {
        "slug": f"new-{uuid.uuid4().hex[:8]}", "name": "New & Co", "timezone": "Europe/Berlin", "may_leave": "nothing",
        "mailbox": "claims", "key": "desk", "permissions": ["search:read"], "reason": "A new customer.", **more,
    }  # fmt: skip


def test_a_tenant_is_made_with_its_mailbox_and_key_or_not_at_all() -> None:
    boss, admin = signed_in(_root()), person(_tenant(), "administrator")
    form = _newcomer(administrator=admin.username)
    slug = form["slug"]
    assert boss.get("/settings/new").status_code == 200
    for wrong in (
        {"timezone": "Mars/Base"},
        {"mailbox": "no good"},
        {"administrator": "nobody-at-all"},
        {"reason": ""},
    ):
        assert boss.post("/settings/new", form | wrong).status_code == 400
    assert not Tenant.objects.filter(slug=slug).exists()
    page = boss.post("/settings/new", form).content.decode()
    token = re.search(r"pm_[0-9a-f]{10}_[\w-]{40,}", page)
    assert token is not None
    key = resolve_key(token[0])
    tenant = Tenant.objects.get(slug=slug)
    assert (key.tenant, key.permissions) == (tenant.pk, frozenset({"search:read"}))
    assert list(Grant.objects.get(pk=key.grant).mailboxes.all()) == [Mailbox.objects.get(tenant=tenant, slug="claims")]
    assert [one.act for one in _acts(tenant, "")] == ["tenant created", "member set", "key created"]
    assert not MailSource.objects.filter(tenant=tenant).exists()
    assert signed_in(admin).get(f"/settings/of/{slug}").status_code == 200
    assert boss.post("/settings/new", form).status_code == 400
    assert signed_in(admin).get("/settings/new").status_code == 404


def test_a_new_mailbox_follows_an_account_whose_password_is_kept_encrypted() -> None:
    secret = " a password with ends "
    form = _newcomer(source="imaps://claims@mail.example", secret=secret)
    page = signed_in(_root()).post("/settings/new", form).content.decode()
    source = MailSource.objects.get(tenant__slug=form["slug"])
    assert (source.mailbox.slug, source.kind, source.host, source.port, source.tls, source.login, source.state) == (
        "claims", "imap", "mail.example", 993, "implicit", "password", "new",
    )  # fmt: skip
    assert credential_of(source) == Credential(secret, is_token=False)
    acts = _acts(source.tenant, "")
    assert [one.act for one in acts] == ["tenant created", "source added", "key created"]
    assert acts[1].detail == {"mailbox": "claims", "source": "imaps://claims@mail.example:993"}
    assert "imaps://claims@mail.example:993" in page
    assert secret.strip() not in page + str([one.detail for one in acts])


@pytest.mark.parametrize(
    ("source", "secret", "advice"),
    [
        ("/etc", "cuckoo-clock", "imaps://account@host"),
        ("file:///etc/passwd", "cuckoo-clock", "file:// is no source"),
        ("imaps://claims:cuckoo@mail.example", "cuckoo-clock", "leave it out"),
        ("imaps://claims@[::1", "cuckoo-clock", "An IMAP account is written"),
        ("imaps://claims%00@mail.example", "cuckoo-clock", "An IMAP account is written"),
        ("imaps://claims@mail.example", "", "Give the password"),
        ("", "cuckoo-clock", "Say which account"),
    ],
)
def test_a_source_that_makes_no_sense_is_explained_and_nothing_is_made(source: str, secret: str, advice: str) -> None:
    form = _newcomer(source=source, secret=secret)
    refused = signed_in(_root()).post("/settings/new", form)
    assert refused.status_code == 400
    assert advice in refused.content.decode()
    assert "cuckoo-clock" not in refused.content.decode()
    assert not Tenant.objects.filter(slug=form["slug"]).exists()
