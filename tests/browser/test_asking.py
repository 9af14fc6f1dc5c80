"""/ask in a real browser: live with script, whole without, by keyboard, and to the cited words."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import serious
from tests.browser.conftest import Site
from tests.pages.scene import QUOTE, scene
from tests.standins.model_server import hangs, message, slow, stream
from tests.standins.service import ANSWERED, answers_golf

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
QUESTION = "Did the insurer accept the Golf claim?"
Script = Callable[..., None]


def _declares() -> Any:
    return stream(message(None, ("insufficient", '{"missing": "nothing says so"}')), "tool_calls")


def test_a_question_is_followed_live_and_its_citation_opens_the_marked_words(site: Site, says: Script) -> None:
    made = scene(runs=False)
    says(slow(answers_golf(), 0.6))
    page = site.page(made.max)
    page.goto(f"{site.url}/ask")
    page.keyboard.press("/")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator("[data-steps] li").first).to_be_visible()
    expect(page.locator("[data-evidence] li").first).to_contain_text("Golf")
    place = page.locator(".answer-place").bounding_box()
    expect(page.locator("#result .outcome strong")).to_contain_text("Answered")
    after = page.locator(".answer-place").bounding_box()
    assert place is not None
    assert after is not None
    assert after["height"] >= place["height"]
    assert "?run=run_" in page.url
    expect(page.locator(".sentences")).to_contain_text(ANSWERED)
    expect(page.locator(".sentences")).to_contain_text("✓ quoted")
    expect(page.locator(".cited a")).to_have_text("Nordlicht claims desk · 14 Mar 2026 · Golf, claim 77-4410")
    expect(page.locator(".history")).to_contain_text(QUESTION)
    assert serious(page) == []
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page.locator("#cited")).to_have_text(QUOTE)
    expect(page.locator("#cited")).to_be_in_viewport()
    page.go_back()
    expect(page.locator("#result .outcome strong")).to_contain_text("Answered")


def test_without_script_the_same_form_leads_to_the_page_of_its_run(site: Site, says: Script) -> None:
    made = scene(runs=False)
    says(answers_golf())
    page = site.page(made.max, java_script_enabled=False)
    page.goto(f"{site.url}/ask")
    page.fill("#query", QUESTION)
    page.click("button[value=ask]")
    expect(page.locator("#result .outcome strong")).to_contain_text("Answered")
    assert "?run=run_" in page.url
    page.fill("#query", "roses")
    page.click("#ask button[value=search]")
    expect(page.locator("#result")).to_contain_text("Garden")
    # What was asked of the mail is in no address.
    assert "roses" not in page.url


def test_escape_cancels_and_the_page_says_so(site: Site, says: Script) -> None:
    made = scene(runs=False)
    says(hangs)
    page = site.page(made.max)
    page.goto(f"{site.url}/ask")
    page.fill("#query", QUESTION)
    page.press("#query", "Enter")
    expect(page.locator("[data-steps] li").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#result .outcome strong")).to_contain_text("Ran out of budget")
    expect(page.locator("#result")).to_contain_text("It was cancelled.")


def test_what_the_mail_does_not_answer_is_said_with_what_was_searched(site: Site, says: Script) -> None:
    made = scene(runs=False)
    says(_declares())
    page = site.page(made.max)
    page.goto(f"{site.url}/ask")
    page.fill("#query", QUESTION)
    page.click("button[value=ask]")
    result = page.locator("#result")
    expect(result.locator(".outcome strong")).to_contain_text("The mail does not answer this")
    expect(result).to_contain_text("What was searched")
    assert page.input_value("#yourself") == QUESTION
    assert serious(page) == []


def test_the_scope_can_be_narrowed_and_never_emptied_by_mistake(site: Site, says: Script) -> None:
    made = scene(runs=False)
    page = site.page(made.max)
    page.goto(f"{site.url}/ask")
    page.click(".chooser summary")
    page.uncheck("input[name=mailbox]")
    page.fill("#query", "Golf")
    page.click("#ask button[value=search]")
    expect(page.locator("#result")).to_contain_text("Choose at least one mailbox.")
    site.faults.clear()
