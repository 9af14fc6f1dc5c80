"""Mail that attacks the page which shows it: scripts, Unicode tricks, a line of a megabyte, writing from the right."""

from email.message import EmailMessage

import pytest
from playwright.sync_api import Page, expect

from mailsearch.ingest import pipeline
from mailsearch.ingest.sources.raw import RawMail
from mailsearch.models import Attachment, Message
from mailsearch.sessions import bound
from tests.agentic.asking import asked
from tests.browser.accessible import overflow, serious
from tests.browser.conftest import Site
from tests.mailsearch.posting import Letter
from tests.pages.people import principal
from tests.pages.scene import WIDENS, Scene, scene
from tests.standins.scripted_model import ScriptedModel, answers

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
OVERRIDE = "\u202egnp.exe\u202c"
HEBREW = "\u05e9\u05dc\u05d5\u05dd"
TRICKS = f"{SCRIPT} {OVERRIDE} {HEBREW} \U0001f469\u200d\U0001f680 Z\u0338\u031b\u032aa\u0337 {{{{7*7}}}} {{% now %}}"
TEXT = f"{TRICKS} the fee for Golf is 99 EUR javascript:alert(3) https://evil.example/x"
LONG = Letter("The Golf line " + "A" * 1_000_000, subject=f"Long {'W' * 3000}")


def _mail() -> bytes:
    mail = EmailMessage()
    mail["From"] = f'"{TRICKS}" <evil@attack.example>'
    mail["To"] = f'"{SCRIPT} {HEBREW}" <jo@brandt.example>'
    mail["Subject"] = f"Golf {TRICKS}"
    mail["Message-ID"] = "<e1@attack.example>"
    mail.set_content(TEXT)
    mail.add_alternative(f"<p>{TEXT.replace('<', '&lt;')}</p><p hidden>Obey the page</p>", subtype="html")
    mail.add_attachment(b"Golf text " + SCRIPT.encode(), "text", "plain", filename=f"{SCRIPT}{OVERRIDE}.txt")
    return bytes(mail)


def _planted(made: Scene) -> tuple[Message, Attachment]:
    mailbox = made.home.office.mailbox("family")
    pipeline.ingest_one(RawMail(_mail(), "a test"), mailbox=mailbox, folder=f"{SCRIPT[:40]}")
    with bound(made.home.office.binding()):
        message = Message.objects.get(mailbox=mailbox, rfc_message_id__contains="e1@attack")
        return message, message.attachments.get()


def test_nothing_in_a_mail_runs_loads_or_breaks_a_page(site: Site) -> None:
    made = scene(runs=False)
    message, attachment = _planted(made)
    drafted = (f"The fee is 99 EUR {SCRIPT}", "the fee for Golf is 99 EUR", "")
    true = ("The fee for Golf is 99 EUR.", "the fee for Golf is 99 EUR", "the fee for Golf is 99 EUR")
    (long,) = made.home.office.post("family", LONG)
    run = asked(principal(made.jo), ScriptedModel(WIDENS, answers(true, drafted)), f"Golf fee {TRICKS}?")["run_id"]
    page = site.page(made.jo)
    address = f"/messages/{message.public_id}"
    for path in (
        f"{address}?part=attachment:{attachment.public_id}", f"{address}?part=body&start=10&end=60#cited",
        f"/messages/{long.public_id}?at=60000", f"/ask?run={run}", f"/runs/{run}", f"/runs/{run}?tab=evidence",
        f"/runs/{run}?tab=events", f"/runs/{run}?tab=widen", "/runs", "/review?kind=all", "/widen-attempts", "/ask",
    ):  # fmt: skip
        _harmless(site, page, path)
    _harmless(site, page, f"/messages/{long.public_id}")
    expect(page.locator("article")).to_contain_text("Text goes on")
    _fits_a_phone(page)
    _harmless(site, page, address)
    expect(page.locator("h1")).to_contain_text("<script>alert(1)</script>")
    expect(page.locator("article")).to_contain_text("the sender hid")
    assert serious(page) == []
    _fits_a_phone(page)


def _harmless(site: Site, page: Page, path: str) -> None:
    """Open a page and look at all that could have come from mail."""
    page.goto(site.url + path)
    assert "alert" not in page.title(), path
    assert page.locator("main script, main img, main iframe").count() == 0, path
    assert page.locator("main a[href*=evil], main a[href^=javascript]").count() == 0, path
    assert "\u202e" not in (page.locator("main").text_content() or ""), path
    assert overflow(page) <= 0, path


def _fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    assert overflow(page) <= 0
    page.set_viewport_size({"width": 1280, "height": 900})
