"""Runs, the review queue and widen attempts in a real browser."""

import pytest
from playwright.sync_api import expect

from agentic.models import AdminAct, Note, SampledNote
from mailsearch.models import Message
from mailsearch.sessions import bound
from tests.browser.accessible import poor_in_any_look, serious
from tests.browser.conftest import Site
from tests.pages.scene import QUOTE, Scene, scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def _notes(made: Scene) -> list[tuple[str, str]]:
    with bound(made.audit):
        rows = list(Note.objects.filter(tenant=made.home.office.tenant).order_by("pk"))
        return [(row.verdict, row.text) for row in rows]


def test_a_run_tells_where_its_time_went_and_what_was_kept_and_removed(site: Site) -> None:
    made = scene()
    page = site.page(made.ada)
    page.goto(f"{site.url}/runs")
    page.click("text=Did the insurer accept the Golf claim?")
    expect(page.locator("h1")).to_contain_text("Did the insurer")
    answer = page.locator("section[aria-labelledby=beside]")
    expect(answer.locator("li.kept")).to_contain_text("✓ quoted")
    expect(answer.locator("li.removed s")).to_have_text("The repair was approved for 1,450 EUR.")
    page.locator(".timeline summary", has_text="total 0").last.click()
    expect(page.locator(".timeline details[open]")).to_contain_text("Arguments as sent")
    expect(page.locator(".timeline details[open]")).to_contain_text("workshop")
    page.click(".tabs >> text=Widen attempts")
    expect(answer).to_contain_text("outside_scope")
    assert serious(page) == []
    page.click(".tabs >> text=Evidence")
    answer.locator("a.subject").first.click()
    expect(page.locator("h1")).to_contain_text("Golf")


def test_sentences_are_judged_by_keyboard_alone(site: Site) -> None:
    made = scene()
    page = site.page(made.ada)
    page.goto(f"{site.url}/review?kind=all")
    item = page.locator("[data-item]")
    expect(item).to_have_count(2)
    expect(page.locator(".current")).to_have_count(1)
    expect(page.locator(".current mark.differs").first).to_be_visible()
    assert serious(page) == []
    page.keyboard.press("n")
    page.keyboard.press("p")
    page.keyboard.press("w")
    expect(item).to_have_count(1)
    page.keyboard.press("u")
    expect(page.locator(".empty")).to_contain_text("No sentence fits")
    assert [verdict for verdict, _ in _notes(made)] == ["wrongly", "unsure"]
    page.goto(f"{site.url}/review?kind=all&reviewed=any")
    expect(page.locator("[data-item]").last).to_contain_text("ada")


def test_a_random_sample_is_blind_and_gives_the_rates(site: Site) -> None:
    made = scene()
    page = site.page(made.jo)
    page.goto(f"{site.url}/review")
    page.fill("[name=note]", "jo was here")
    page.click("button[value=wrongly]")
    page = site.page(made.ada)
    page.goto(f"{site.url}/review")
    page.click("main >> text=Draw a random sample")
    expect(page.locator("[data-item]")).to_have_count(1)
    expect(page.locator("main")).not_to_contain_text("jo was here")
    page.click("button[value=rightly]")
    expect(page.locator("[data-item]")).to_contain_text("rightly")
    with bound(made.audit):
        assert SampledNote.objects.filter(tenant=made.home.office.tenant).count() == 1
    page.click("main >> text=Rates")
    # Jo's verdict was none of a sample.
    expect(page.locator("main")).to_contain_text("0 of 1")
    assert serious(page) == []
    page.goto(f"{site.url}/review?reviewed=yes")
    expect(page.locator("[data-item]")).to_contain_text("jo was here")


def test_a_widen_attempt_leads_to_its_message_which_is_quarantined_for_a_reason(site: Site) -> None:
    made = scene()
    page = site.page(made.jo)
    page.goto(f"{site.url}/widen-attempts")
    group = page.locator(".items > li", has_text="claims@nordlicht.example")
    expect(group).to_contain_text("outside_scope")
    group.locator("summary").click()
    group.locator("[name=note]").fill("looked at")
    group.locator("button", has_text="Seen").click()
    expect(page.locator("main")).to_contain_text("No attempt fits")
    page.goto(f"{site.url}/widen-attempts?seen=yes")
    group = page.locator(".items > li", has_text="claims@nordlicht.example")
    group.locator("summary").click()
    expect(group).to_contain_text("looked at")
    assert serious(page) == []
    group.locator("[name=reason]").fill("planted instructions")
    group.locator("button", has_text="Quarantine").click()
    page.wait_for_load_state()
    with bound(made.home.office.binding()):
        assert Message.objects.get(pk=made.home.golf.pk).quarantined
    with bound(made.audit):
        act = AdminAct.objects.filter(tenant=made.home.office.tenant, act="message quarantined").latest("pk")
        assert act.reason == "planted instructions"
    page.goto(f"{site.url}/runs/{made.runs['answered']}")
    expect(page.locator("main")).not_to_contain_text(QUOTE)
    expect(page.locator("main")).to_contain_text("you may not read now")


def test_every_page_can_be_read_in_the_dark_and_on_a_phone(site: Site) -> None:
    made = scene()
    page = site.page(made.jo)
    run, message = made.runs["answered"], made.home.golf.public_id
    for path in (
        "/ask", f"/ask?run={run}", f"/ask?run={made.runs['insufficient']}", "/runs", f"/runs/{run}",
        f"/runs/{run}?tab=events", f"/messages/{message}", "/review?kind=all", "/widen-attempts",
        "/usage", "/audit/acts", "/audit/accesses", "/sign-in",
    ):  # fmt: skip
        page.goto(site.url + path)
        assert poor_in_any_look(page, path.split("?")[0].strip("/").replace("/", "-")) == [], path
