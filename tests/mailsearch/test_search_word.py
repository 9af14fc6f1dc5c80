"""A query of one word goes a way of its own, and says what every other query would say of it."""

from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import async_to_sync
from hypothesis import given
from hypothesis import strategies as st

from mailsearch.hits import SearchRequest, SearchResult
from mailsearch.models import Message
from mailsearch.scope import Scope
from mailsearch.search import engine, keyword
from mailsearch.search.lexemes import CutTerm, cut, expression
from mailsearch.search.narrowing import whole
from mailsearch.search.query import Wanted, parse
from mailsearch.sessions import bound
from tests.mailsearch.posting import START, Letter, Office
from tests.mailsearch.test_search_index import fill

pytestmark = pytest.mark.django_db(transaction=True)


def _page(scope: Scope, text: str) -> SearchResult:
    return async_to_sync(engine.search)(scope, SearchRequest(text, mode="keyword", limit=20))


def _as_any_query(scope: Scope, text: str) -> tuple[list[tuple[str, int]], int]:
    """Public ids with their copies, and how many match, as keyword search by itself ranks them."""

    async def asked() -> keyword.KeywordHits:
        async with scope.reading() as conn:
            plan, _ = await keyword.plan(conn, scope, cut(parse(text, datetime.now(UTC))))
            return await keyword.search(conn, scope, plan, whole(scope), depth=20, folded=True)

    found = async_to_sync(asked)()
    with bound(scope.binding()):
        ids = dict(Message.objects.in_bulk(found.message_ids).items())
    return [
        (ids[one].public_id, copies) for one, copies in zip(found.message_ids, found.copies, strict=True)
    ], found.total


@given(st.text("abcxyzABCXYZ", min_size=1, max_size=12).filter(lambda text: text not in ("OR", "AND")))
def test_a_word_is_cut_as_words_are(text: str) -> None:
    found = cut(parse(text, datetime.now(UTC)))
    whole_term = expression(Wanted(text.lower()), {text.lower(): 1})
    assert found.words == (text.lower(),)
    assert whole_term is not None
    assert found.terms == (CutTerm(whole_term, required=False, alone=1),)


def test_a_word_finds_ranks_and_folds_as_any_query_does(owner_conninfo: str) -> None:
    office = Office()
    copied = [Letter("The harbour plan.", subject=f"copy {number}") for number in range(3)]
    office.post(
        "sales", *copied, Letter("Nothing of it.", quoted="> harbour"), Letter("harbour harbours", folder="Sent")
    )
    office.post("support", Letter("To the harbour", received_at=START + timedelta(days=40)), copied[0])
    office.post("support", Letter("A harbour, locked up", quarantined=True), Letter("harboured"))
    scopes = [
        office.scope("sales", "support"),
        office.scope("support"),
        office.scope("sales", received_until=START + timedelta(days=1)),
        office.scope("sales", received_from=START + timedelta(days=400)),
    ]
    # Few of the store's messages, and most of them.
    fill(owner_conninfo, Office(), "filling")
    for scope in scopes:
        for text in ("harbour", "harbours", "nothing", "zeppelin"):
            page = _page(scope, text)
            assert ([(hit.head.message_id, hit.copies) for hit in page.hits], page.total) == _as_any_query(scope, text)


def test_a_word_of_which_there_is_much_is_looked_for_as_before(owner_conninfo: str) -> None:
    scope = fill(owner_conninfo, Office(), "filling")
    page = _page(scope, "common")
    assert ([(hit.head.message_id, hit.copies) for hit in page.hits], page.total) == _as_any_query(scope, "common")
    assert len(page.hits) == 20


def test_messages_of_a_page_are_made_whole_when_they_are_asked_for() -> None:
    office = Office()
    office.post("sales", Letter("The harbour plan.", subject="Plan", attachments=[("plan.txt", "A harbour")]))
    page = _page(office.scope("sales"), "harbour")
    (text,) = page.texts.values()
    assert page.texts[page.hits[0].head.message_id] is text
    assert [part.name.partition(":")[0] for part in text.parts] == ["subject", "body", "attachment"]
    assert len(page.texts) == 1
