"""Lists of the audit where rows are many: by words that stand in most of them, by days, and page by page."""

import re
import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now

from agentic.models import Sentence, WidenAttempt
from agentic.web.pages import reviewing, run_pages, widening
from agentic.web.pages.readers import Reader
from agentic.web.pages.reviewing import Queue
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound
from tests.pages.ended_runs import ended
from tests.pages.people import person, reader_of, signed_in

pytestmark = pytest.mark.django_db(transaction=True)
_ALL = {"kind": "all", "reviewed": "any"}


def _tenant() -> tuple[Tenant, User]:
    tenant = Tenant.objects.create(slug=f"t-{uuid.uuid4().hex[:10]}", name="Kiln & Co")
    return tenant, person(tenant, "auditor", ("search:read",))


def _drafted(tenant: Tenant, *texts: str, days: int = 0) -> None:
    """A run of *days* ago whose draft had these sentences, all of them removed."""
    at = now() - timedelta(days=days)
    run = ended(tenant, at=at, outcome="degraded", found_ms=())
    with bound(Binding(audit=frozenset({tenant.pk}))):
        for position, text in enumerate(texts):
            Sentence.objects.create(
                tenant=tenant, run=run, round=1, final=True, position=position, kept=False, reason="quilt",
                drafted=text, at=at,
            )  # fmt: skip


def _pages(reader: Reader, sent: dict[str, str]) -> list[Queue]:
    """The pages of the queue, each led to by the one before."""
    found = [reviewing.load(reader, sent)]
    while found[-1].older and len(found) < 20:
        before = re.search(r"before=(\d+)", found[-1].older)
        assert before is not None
        found.append(reviewing.load(reader, {**sent, "before": before[1]}))
    return found


def _texts(pages: list[Queue]) -> list[str]:
    return [item.sentence.drafted for page in pages for item in page.items]


def test_words_that_are_in_very_many_sentences_are_looked_for_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, ada = _tenant()
    _drafted(tenant, "A lonely fee was paid.", *(f"The fee {number} was paid." for number in range(8)))
    monkeypatch.setattr(reviewing, "COUNTED", 4)
    monkeypatch.setattr(reviewing, "WALKED", 3)
    reader = reader_of(ada)
    pages = _pages(reader, {**_ALL, "q": "fee"})
    assert pages[0].walked
    assert _texts(pages) == [
        *(f"The fee {number} was paid." for number in reversed(range(8))),
        "A lonely fee was paid.",
    ]
    # What is rare is found wherever it stands, and counted.
    rare = reviewing.load(reader, {**_ALL, "q": "lonely"})
    assert (rare.count, rare.walked, _texts([rare])) == (1, False, ["A lonely fee was paid."])
    shown = signed_in(ada).get("/review?kind=all&q=fee").content.decode()
    assert "were looked through" in shown
    assert "Older sentences" in shown


def test_few_sentences_are_looked_through_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, ada = _tenant()
    _drafted(tenant, *(f"The fee {number} was paid." for number in range(5)), "Nothing of the kind.")
    monkeypatch.setattr(reviewing, "COUNTED", 2)
    (page,) = _pages(reader_of(ada), {**_ALL, "q": "fee"})
    assert (len(page.items), page.walked) == (5, False)


def test_a_page_goes_on_where_the_one_before_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, ada = _tenant()
    _drafted(tenant, *(f"Sentence {number}." for number in range(5)))
    monkeypatch.setattr(reviewing, "PAGE", 2)
    pages = _pages(reader_of(ada), {**_ALL, "q": "sentence"})
    assert _texts(pages) == [f"Sentence {number}." for number in (4, 3, 2, 1, 0)]
    assert {page.count for page in pages} == {5}


def test_sentences_are_filtered_by_the_day_that_they_are_of() -> None:
    tenant, ada = _tenant()
    for days in (30, 3, 2, 0):
        _drafted(tenant, f"{days} days ago.", days=days)
    reader, today = reader_of(ada), now().date()

    def of(**days: int) -> list[str]:
        asked = {name: (today - timedelta(days=ago)).isoformat() for name, ago in days.items()}
        return _texts([reviewing.load(reader, {**_ALL, **asked})])

    assert of(since=3) == ["0 days ago.", "2 days ago.", "3 days ago."]
    assert of(until=3) == ["3 days ago.", "30 days ago."]
    assert of(since=3, until=2) == ["2 days ago.", "3 days ago."]
    assert of(since=20, until=10) == []


def test_groups_of_widen_attempts_are_paged(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, ada = _tenant()
    run = ended(tenant)
    with bound(Binding(audit=frozenset({tenant.pk}))):
        for tool in ("search", "contacts", "read_thread"):
            WidenAttempt.objects.create(tenant=tenant, run=run, kind="unseen_id", tool=tool, argument="x")
    monkeypatch.setattr(widening, "PAGE", 2)
    reader = reader_of(ada)
    first, second = (widening.load(reader, {"from": start}) for start in ("", "2"))
    assert [len(page.groups) for page in (first, second)] == [2, 1]
    assert ("from=2" in first.further, second.further, first.count) == (True, "", 3)
    assert {one.tool for page in (first, second) for one in page.groups} == {"search", "contacts", "read_thread"}


def test_runs_go_on_where_the_page_before_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, ada = _tenant()
    made = [ended(tenant).public_id for _ in range(3)]
    monkeypatch.setattr(run_pages, "_PAGE", 2)
    reader = reader_of(ada)
    listed, _, older = run_pages.load(reader, {})
    assert [one.run.public_id for one in listed] == made[:0:-1]
    before = re.search(r"before=(\d+)", older)
    assert before is not None
    rest, _, end = run_pages.load(reader, {"before": before[1]})
    assert ([one.run.public_id for one in rest], end) == (made[:1], "")
