"""Lists of the audit: how many queries they take, whose mail they show, and what can't be undone."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentic.models import Note
from agentic.web.pages import asking, rates, record_pages, review_pages, reviewing, run_pages, widening
from agentic.web.pages.readers import Reader
from mailsearch.models import Permission
from mailsearch.sessions import bound
from tests.agentic.asking import asked
from tests.pages.people import person, principal, reader_of, signed_in
from tests.pages.scene import FALSE, TRUE, WIDENS, Scene, scene
from tests.standins.scripted_model import ScriptedModel, answers

pytestmark = pytest.mark.django_db(transaction=True)


def _queries(reader: Reader) -> dict[str, int]:
    counted = {}
    for name, load in (
        ("runs", lambda: run_pages.load(reader, {})),
        ("review", lambda: reviewing.load(reader, {"kind": "all", "reviewed": "any"})),
        ("words", lambda: reviewing.load(reader, {"kind": "all", "reviewed": "any", "q": "repair"})),
        ("sample", lambda: reviewing.load(reader, {"kind": "all", "sample": "abcd:999999999"})),
        ("days", lambda: reviewing.load(reader, {"kind": "all", "since": "2026-01-01", "until": "2036-01-01"})),
        ("unquoted", lambda: run_pages.load(reader, {"outcome": "answered", "quotes": "none"})),
        ("ask", lambda: asking.history(reader.acting)),
        ("acts", lambda: record_pages._acts(reader, {})),
        ("widen", lambda: widening.load(reader, {"seen": "any"})),
    ):
        with CaptureQueriesContext(connection) as queries:
            load()
        counted[name] = len(queries)
    return counted


def test_more_rows_take_no_more_queries() -> None:
    made = scene()
    reader = reader_of(made.ada)
    few = _queries(reader)
    for _ in range(3):
        asked(principal(made.jo), ScriptedModel(WIDENS, answers(TRUE, FALSE)))
    assert _queries(reader) == few
    assert max(few.values()) <= 30


def test_who_may_audit_but_not_read_the_mail_sees_that_something_is_there_and_no_words() -> None:
    made = scene()
    blind = person(made.home.office.tenant, "auditor", (Permission.SEARCH_READ,))
    client = signed_in(blind)
    run = made.runs["answered"]
    tabs = [f"/runs/{run}?tab={tab}" for tab in ("answer", "drafts", "evidence", "widen", "events")]
    for page in (*tabs, "/review?kind=all", "/widen-attempts"):
        shown = client.get(page).content.decode()
        assert "liability" not in shown, page
        assert "1,450" not in shown, page
        assert "nordlicht.example" not in shown, page
        assert "tombstone" in shown or page.endswith("events"), page


def test_words_of_mail_that_one_may_not_read_are_not_even_counted() -> None:
    made = scene()
    blind = person(made.home.office.tenant, "auditor", (Permission.SEARCH_READ,))
    assert reviewing.load(reader_of(made.ada), {"q": "repair 1,450"}).count == 1
    assert reviewing.load(reader_of(made.ada), {"q": "nothing-of-the-kind"}).count == 0
    assert reviewing.load(reader_of(blind), {"q": "repair"}).count == 0


def test_a_sample_is_the_same_for_all_who_draw_it_and_holds_nothing_newer() -> None:
    made = scene()
    reader = reader_of(made.ada)
    newest = reviewing.newest(reader)
    sample = f"{uuid.uuid4().hex[:8]}:{newest}"
    first = [item.sentence.pk for item in reviewing.load(reader, {"kind": "all", "sample": sample}).items]
    asked(principal(made.jo), ScriptedModel(answers(TRUE, FALSE)))
    again = [item.sentence.pk for item in reviewing.load(reader_of(made.jo), {"kind": "all", "sample": sample}).items]
    assert first == again
    assert len(first) == 2


def test_a_verdict_is_added_and_never_takes_another_ones_place() -> None:
    made = scene()
    for user, said in ((made.ada, "rightly"), (made.jo, "wrongly"), (made.ada, "unsure")):
        assert review_pages.add(reader_of(user), made.removed(), said, "", "")
    with bound(made.audit):
        rows = Note.objects.filter(tenant=made.home.office.tenant).order_by("pk")
        assert [(row.author_id, row.verdict) for row in rows] == [
            (made.ada.pk, "rightly"),
            (made.jo.pk, "wrongly"),
            (made.ada.pk, "unsure"),
        ]


def test_the_queue_says_how_far_it_is_judged_and_how_often_removing_was_wrong() -> None:
    made = scene()
    ada = reader_of(made.ada)
    page = signed_in(made.ada).get("/review").content.decode()
    assert "0 reviewed in all" in page
    assert "wrongly removed" not in page
    kept = next(item.sentence.pk for item in reviewing.load(ada, {"kind": "kept"}).items)
    assert review_pages.add(reader_of(made.jo), made.removed(), "rightly", "", "")
    assert review_pages.add(ada, made.removed(), "wrongly", "", f"abcd:{reviewing.newest(ada)}")
    assert review_pages.add(ada, kept, "wrongly", "", f"abcd:{reviewing.newest(ada)}")
    # Verdicts beside a sample, and on what was kept, don't count as wrongly removed. Wilson's interval for 1 of 1.
    told = '2 reviewed in all, <a href="/review/rates">wrongly removed 100.0 % (20.7–100.0)</a> by random samples'
    assert told in signed_in(made.ada).get("/review").content.decode()
    assert "reviewed in all" not in signed_in(made.ada).get("/review?sample=abcd:999999999").content.decode()
    assert reviewing.load(reader_of(made.sue), {}).judging == rates.Judging(0, rates.Rate("all", 0, 0))


def test_a_verdict_is_for_sentences_of_ones_own_tenants_alone() -> None:
    made: Scene = scene()
    assert not review_pages.add(reader_of(made.sue), made.removed(), "wrongly", "", "")
    assert not widening.add_seen(reader_of(made.sue), made.attempt(), "")


def test_a_group_is_new_again_after_another_attempt() -> None:
    made = scene()
    reader = reader_of(made.ada)
    assert widening.add_seen(reader, made.attempt(), "planted")
    assert widening.load(reader, {}).groups == ()
    asked(principal(made.jo), ScriptedModel(WIDENS, answers(TRUE)))
    groups = widening.load(reader, {}).groups
    assert {one.sender for one in groups} >= {"claims@nordlicht.example"}
    assert all(one.count == 2 for one in groups if one.known)
    assert [note.text for note in groups[0].notes] == ["planted"]
