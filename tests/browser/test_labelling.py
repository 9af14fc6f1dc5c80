"""Units labelled on their page, up to the figures that come of the labels."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agentic.core.evidence import EvidenceItem
from agentic.evaluation import support
from agentic.evaluation.questions.units import Material, key_of, write
from tests.browser.accessible import poor_in_any_look
from tests.browser.conftest import Site
from tests.core.verify_setup import decide, messages

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

_MAIL = "The crane of the harbour office costs 120 euros.\nThe slip of the harbour office is closed until spring."
_DRAFT = "“The crane of the harbour office costs 120 euros” [m1]. The slip costs 900 euros [m1]."


def _units(file: Path) -> dict[str, dict[str, Any]]:
    """Units of one draft, a kept one and a removed one, and two plants; the key to them."""
    evidence = {label: EvidenceItem(label, message, (), (), "") for label, message in messages(_MAIL).items()}
    material = Material()
    material.add("q1", [decide(_DRAFT, _MAIL)], evidence, answered=True)
    write(file, material, {"q1": "What does the crane cost?"}, seed=0)
    return {row["unit"]: row for row in map(json.loads, key_of(file).read_text(encoding="utf-8").splitlines())}


def _opened(site: Site, file: Path) -> Page:
    """The page of *file* under an address of the service, so that the browser keeps what is typed there."""
    page, address = site.page(), f"{site.url}/sheet"
    text = file.with_suffix(".html").read_text(encoding="utf-8")
    page.route(address, lambda route: route.fulfill(body=text, content_type="text/html; charset=utf-8"))
    page.goto(address)
    return page


def test_labels_are_kept_over_a_reload_and_saved_as_what_support_reads(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    key = _units(file)
    page = _opened(site, file)
    assert poor_in_any_look(page, "labelling") == []
    for number, (unit, one) in enumerate(key.items(), 1):
        borne = one["verdict"] in ("kept", "true")
        page.locator(f"#{unit}").get_by_label("Supported" if borne else "Not").check()
        expect(page.get_by_role("status")).to_have_text(f"{number} of {len(key)}")
    page.reload()
    expect(page.get_by_role("status")).to_have_text(f"{len(key)} of {len(key)}")
    page.get_by_role("button", name="Save labels").click()
    expect(page.get_by_role("status")).to_have_text("Your name is needed for the file.")
    for name in ("Ann B.", "Ben"):
        page.get_by_label("Your name").fill(name)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save labels").click()
        saved.value.save_as(tmp_path / saved.value.suggested_filename)
    report = support.run(file, {})
    assert report.ok
    assert set(report.figures["readers"]) == {"ann-b-", "ben"}  # type: ignore[call-overload]
    assert (report.n, report.agree) == (2, 2)
