"""Settings of tenants and the overview in a real browser."""

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now
from playwright.sync_api import Page, expect

from agentic.models import AgentPolicy, DailyUse, Sentence, WidenAttempt
from agentic.policies import effective
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound
from tests.browser.accessible import overflow, picture, poor_in_any_look, serious
from tests.browser.conftest import Site
from tests.pages.ended_runs import ended
from tests.pages.people import joins, person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def _houses(count: int) -> tuple[list[Tenant], User]:
    """Tenants with runs of some days, and somebody who administers them all."""
    tenants = [
        Tenant.objects.create(slug=f"t-{uuid.uuid4().hex[:10]}", name=f"House {number}") for number in range(count)
    ]
    boss = person(tenants[0], "administrator", name="boss")
    for tenant in tenants[1:]:
        joins(boss, tenant, "administrator")
    ways = ("answered", "answered", "insufficient_evidence", "budget_exhausted", "degraded")
    for number, tenant in enumerate(tenants[:3]):
        AgentPolicy.objects.create(tenant=tenant, agentic_daily_cap=10 + number)
        DailyUse.objects.create(tenant=tenant, day=now().date(), used=9)
        for day in range(6):
            asks = (("plan", 1, 10, 900 + 50 * day), ("judge", 2, 1000, 2000), ("judge", 3, 2100, 3000 + 400 * day))
            run = ended(
                tenant, outcome=ways[(day + number) % 5], asks=asks, at=now() - timedelta(days=day),
                prompt_tokens=900 * (day + 1), cost_usd=0.02 * day, found_ms=(300, 2050), cites=1,
            )  # fmt: skip
        with bound(Binding(audit=frozenset({tenant.pk}))):
            WidenAttempt.objects.create(tenant=tenant, run=run, kind="unseen_id", tool="search", argument="mailbox")
            for reason in ("quote_not_found", "quote_not_found", "elided"):
                Sentence.objects.create(
                    tenant=tenant, run=run, round=1, final=True, position=2, kept=False, reason=reason
                )
    return tenants, boss


def _readable(page: Page, name: str) -> None:
    assert serious(page) == []
    assert overflow(page) <= 0
    picture(page, name)


def test_a_limit_is_lowered_with_a_reason_after_seeing_what_it_would_have_meant(site: Site) -> None:
    tenants, boss = _houses(3)
    page = site.page(boss)
    page.goto(f"{site.url}/settings")
    _readable(page, "settings")
    page.click("table >> text=House 1")
    page.fill("#s-agentic_max_steps", "2")
    _readable(page, "tenant")
    page.click("text=See what would change")
    expect(page.locator("main")).to_contain_text("would have ended budget_exhausted")
    _readable(page, "confirm")
    assert poor_in_any_look(page, "confirm") == []
    assert effective(tenants[1].pk).max_steps == 6
    page.fill("#reason", "Runs go on for too long.")
    page.click("button >> text=Change")
    expect(page.locator("[role=status]")).to_contain_text("Changed.")
    assert effective(tenants[1].pk).max_steps == 2
    expect(page.locator("table")).to_contain_text("Runs go on for too long.")
    _readable(page, "changed")
    page.click("text=What if limits were lower?")
    page.fill("#w-seconds", "3")
    page.click("button >> text=Tell")
    page.locator("tbody a").first.click()
    expect(page.locator("#runs")).to_be_visible()
    _readable(page, "what-if")


def test_many_tenants_are_chosen_and_changed_together(site: Site) -> None:
    tenants, boss = _houses(42)
    page = site.page(boss)
    page.goto(f"{site.url}/settings")
    for tenant in tenants[5:8]:
        page.check(f"input[name=owner][value='{tenant.pk}']")
    page.fill("#b-agentic_daily_cap", "250")
    page.click("text=See what would change")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.fill("#reason", "The summer's cap.")
    page.click("button >> text=Change")
    expect(page.locator("[role=status]")).to_contain_text("3 tenants were changed")
    assert [effective(one.pk).caps.runs for one in tenants[4:9]] == [500, 250, 250, 250, 500]
    _readable(page, "many")


def test_settings_and_the_overview_can_be_read_in_the_dark_and_on_a_phone(site: Site) -> None:
    tenants, boss = _houses(3)
    page = site.page(boss)
    for way in ("settings", f"settings/of/{tenants[0].slug}", "overview", f"overview?tenant={tenants[0].slug}"):
        page.goto(f"{site.url}/{way}")
        expect(page.locator("h1")).to_be_visible()
        called = way.replace("/", "-").replace("?", "-").replace(tenants[0].slug, "one")
        assert poor_in_any_look(page, called) == [], way


def test_figures_of_the_overview_lead_to_their_runs_and_stand_in_tables_too(site: Site) -> None:
    _, boss = _houses(3)
    page = site.page(boss)
    page.goto(f"{site.url}/overview")
    _readable(page, "overview")
    page.locator(".multiple summary").first.click()
    table = page.locator(".multiple table").first
    expect(table.locator("tbody tr")).to_have_count(14)
    table.locator("tbody a").last.click()
    expect(page.locator("h1")).to_have_text("Runs")
    expect(page.locator("tbody tr")).to_have_count(3)


def test_a_tenant_is_made_with_a_source_and_its_key_is_shown_once(site: Site) -> None:
    root = User.objects.create_superuser(f"root-{uuid.uuid4().hex[:8]}", password=None)
    page = site.page(root)
    page.goto(f"{site.url}/settings/new")
    assert poor_in_any_look(page, "newcomer") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    # Each choice in whole: the longest did not fit into a list that folds.
    page.get_by_text("Text may go to the answering and the embedding model").click()
    picture(page, "newcomer")
    values = {"slug": f"n-{uuid.uuid4().hex[:8]}", "mailbox": "claims", "key": "desk", "reason": "A new customer."}
    for name, value in {**values, "source": "imaps://claims@mail.example", "secret": "cuckoo-clock"}.items():
        page.fill(f"[name={name}]", value)
    page.click("button >> text=Make them")
    expect(page.locator("[role=status]")).to_contain_text("its source and a key were made")
    assert Tenant.objects.get(slug=values["slug"]).may_leave == "all"
    expect(page.locator("pre")).to_contain_text("pm_")
    assert poor_in_any_look(page, "onboarded") == []
