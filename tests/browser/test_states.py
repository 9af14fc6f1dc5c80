"""Pages in states that are rarely seen: under way, without a model, out of budget, in a sample, tampered with."""

import asyncio
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from agentic.core.ports import ModelFault, Prompt, Reply
from agentic.web.pages import review_pages
from tests.agentic.asking import asked
from tests.agentic.tampering import tampered
from tests.browser.accessible import picture, poor_in_any_look
from tests.browser.conftest import Site
from tests.pages.people import principal, reader_of
from tests.pages.scene import scene
from tests.standins.model_server import hangs
from tests.standins.scripted_model import ScriptedModel, searches

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
_DESK = {"width": 1280, "height": 900}
_TAMPERED = "UPDATE agentic_traceevent SET at_ms = at_ms + 1 WHERE tenant_id = %(tenant)s AND event = 'found'"


async def _fails(prompt: Prompt) -> Reply:
    # So that what the caller's own words find is there before.
    await asyncio.sleep(0.0 if prompt.shown else 1.0)
    raise ModelFault("circuit_open", "no")


def test_how_a_run_ended_without_an_answer_can_be_read_in_any_look(site: Site) -> None:
    made = scene(runs=False)
    jo = principal(made.jo)
    degraded = asked(jo, ScriptedModel(_fails))["run_id"]
    exhausted = asked(jo, ScriptedModel(searches("Golf"), searches("roses")), max_steps=2)["run_id"]
    page = site.page(made.jo)
    for called, run, outcome in (
        ("degraded", degraded, "The model was unavailable"),
        ("exhausted", exhausted, "Ran out of budget"),
    ):
        page.set_viewport_size(_DESK)  # type: ignore[arg-type]
        page.goto(f"{site.url}/ask?run={run}")
        expect(page.locator("#result .outcome strong")).to_contain_text(outcome)
        picture(page, called)
        assert poor_in_any_look(page, called) == []


def test_a_run_under_way_can_be_read_in_any_look(site: Site, says: Callable[..., None]) -> None:
    made = scene(runs=False)
    says(hangs)
    page = site.page(made.max)
    page.goto(f"{site.url}/ask")
    page.fill("#query", "Did the insurer accept the Golf claim?")
    page.press("#query", "Enter")
    expect(page.locator("[data-steps] li").first).to_be_visible()
    expect(page.locator("[data-evidence] li").first).to_contain_text("14 Mar 2026")
    expect(page.locator("[data-steps]")).to_contain_text("search · 2 found")
    picture(page, "live")
    assert poor_in_any_look(page, "live") == []
    page.keyboard.press("Escape")
    expect(page.locator("#result .outcome strong")).to_contain_text("Ran out of budget")


def test_what_was_tampered_with_can_be_read_in_any_look(site: Site, owner_conninfo: str) -> None:
    made = scene()
    with tampered(owner_conninfo, made.home.office.tenant.pk, _TAMPERED):
        page = site.page(made.ada)
        page.goto(f"{site.url}/runs/{made.runs['answered']}")
        expect(page.locator("main")).to_contain_text("✗ not as it was written")
        picture(page, "tampered")
        assert poor_in_any_look(page, "tampered") == []


def test_a_sample_and_its_rates_can_be_read_in_any_look(site: Site) -> None:
    made = scene()
    assert review_pages.add(reader_of(made.ada), made.removed(), "wrongly", "It was 1,540.", "abcd:999999999")
    page = site.page(made.ada)
    for called, path in (("sample", "/review?kind=all&sample=abcd:999999999"), ("rates", "/review/rates")):
        page.set_viewport_size(_DESK)  # type: ignore[arg-type]
        page.goto(site.url + path)
        expect(page.locator("main")).to_contain_text("wrong")
        picture(page, called)
        assert poor_in_any_look(page, called) == [], path
