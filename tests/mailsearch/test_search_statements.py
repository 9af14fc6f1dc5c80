"""What statements of a search that bind themselves may see, and what they read beside the messages."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone
from psycopg import AsyncCursor
from psycopg.rows import TupleRow

from mailsearch.hits import SearchRequest
from mailsearch.ingest.pipeline import ingest
from mailsearch.ingest.sources import open_source
from mailsearch.models import Mailbox, Message
from mailsearch.scope import Scope
from mailsearch.search import engine, keyword, showing
from mailsearch.search.lexemes import cut
from mailsearch.search.narrowing import whole
from mailsearch.search.query import parse
from mailsearch.search.vocabulary import known
from mailsearch.sessions import bound, dsn, pool, unbound
from mailsearch.terms import dictionaries
from tests.mailsearch.posting import START, Letter, Office
from tests.mailsearch.test_search_index import MANY, fill, uses
from tests.mailsearch.test_search_scope import Compass

pytestmark = pytest.mark.django_db(transaction=True)
_APART = """
SELECT count(*) FROM mailsearch_searchdocument d RIGHT JOIN mailsearch_message m ON m.id = d.message_id
WHERE m.tenant_id = %s
  AND (d.tenant_id, d.mailbox_id, d.quarantined, d.folder_id, d.received_at, d.deleted, d.words_key, d.places)
    IS DISTINCT FROM (m.tenant_id, m.mailbox_id, m.quarantined, m.folder_id, m.received_at,
        m.deleted_at_source IS NOT NULL, mail_search.words_key(m.words_sha256),
        mail_search.word_places(m.mailbox_id, m.received_at))
"""


@contextmanager
def _bound_to(scope: Scope) -> Iterator["psycopg.Connection[TupleRow]"]:
    with psycopg.connect(dsn()) as conn:
        for statement in scope.binding().statements():
            conn.execute(statement)
        yield conn


def _total(scope: Scope) -> int:
    return async_to_sync(engine.search)(scope, SearchRequest("harbour", mode="keyword")).total


def test_what_a_statement_binds_itself_to_ends_with_it() -> None:
    office = Office()
    office.post("sales", Letter("The harbour."))
    scope = office.scope("sales")

    async def seen() -> list[Any]:
        async with pool(size=1), unbound() as conn:
            asked = cut(parse("harbour", START))
            plan, _ = await keyword.plan(conn, scope, asked)
            page = await showing.page(conn, scope, asked, whole(scope), 0, 10)
            after = await conn.execute(
                "SELECT count(*), current_setting('app.tenant'), current_setting('app.mailboxes')"
                " FROM mailsearch_message"
            )
            return [plan.expected, page.total, await after.fetchone()]

    assert asyncio.run(seen()) == [[1, 1], 1, (0, "", "")]


def test_in_a_window_words_are_as_rare_as_the_mail_in_it_says() -> None:
    office = Office()
    common = (Letter(f"harbour n{number}", received_at=START + timedelta(2, number)) for number in range(9))
    office.post("sales", *common, Letter("zeppelin n9", received_at=START + timedelta(1)))
    # Before it, the other way round.
    office.post("sales", *(Letter(f"zeppelin number {number}", received_at=START) for number in range(40)))
    scope = office.scope("sales", received_from=START + timedelta(1))
    (hit,) = async_to_sync(engine.search)(scope, SearchRequest("harbour zeppelin", mode="keyword", limit=1)).hits
    assert hit.excerpts[0].text == "zeppelin n9"


def test_reading_messages_by_number_shows_none_beyond_the_session_or_the_scope() -> None:
    office = Office()
    (mine, old), (theirs,) = (
        office.post("sales", Letter("Mine.", received_at=START + timedelta(9)), Letter("Old.", received_at=START)),
        office.post("boss", Letter("Theirs.", received_at=START + timedelta(9))),
    )
    scope, both = office.scope("sales"), office.scope("sales", "boss")
    values = [[mine.pk, theirs.pk, old.pk], both.folder_ids, START + timedelta(1), None]
    with _bound_to(scope) as conn:
        rows = conn.execute("SELECT * FROM mail_search.heads(%s, %s, %s, %s, false, true)", values).fetchall()
    assert [row[1] for row in rows] == [mine.pk]
    with psycopg.connect(dsn()) as conn:
        assert conn.execute("SELECT * FROM mail_search.heads(%s, %s, %s, %s, false, true)", values).fetchall() == []


def test_a_session_that_served_a_small_tenant_reads_a_large_one_by_its_indexes(owner_conninfo: str) -> None:
    """Plans are made once a session, so they must suit whoever comes later."""
    small, large = Office(), Office()
    scope = fill(owner_conninfo, large, "big", share=MANY, apart=20)
    small.post("sales", Letter("word77"))
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        conn.execute("ANALYZE mailsearch_message, mailsearch_participant, mailsearch_thread")

    async def both() -> list[int]:
        request = SearchRequest("word77", mode="keyword")
        async with pool(size=1):
            return [len((await engine.search(one, request)).hits) for one in scopes]

    scopes = [small.scope("sales"), scope]
    before = uses(owner_conninfo)
    assert asyncio.run(both())[0] == 1
    after = uses(owner_conninfo)
    assert after["participant_by_message"] > before["participant_by_message"]
    assert after["participant_by_address"] == before["participant_by_address"]


def test_folding_for_a_small_tenant_plans_nothing_that_a_large_one_waits_for(owner_conninfo: str) -> None:
    """Postgres keeps the plan of a prepared statement from its sixth run on."""
    small, large = Office(), Office()
    scope = fill(owner_conninfo, large, "big", share=MANY, apart=20)
    small.post("sales", Letter("word77"))
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        conn.execute("ANALYZE mailsearch_message, mailsearch_participant, mailsearch_thread")

    async def both() -> list[int]:
        request = SearchRequest("word77", mode="keyword", spread=True)
        async with pool(size=1):
            return [len((await engine.search(one, request)).hits) for one in scopes]

    scopes = [*[small.scope("sales")] * 8, scope, scope]
    before = uses(owner_conninfo)
    *few, many, again = asyncio.run(both())
    assert few == [1] * 8
    assert many == again == 1
    after = uses(owner_conninfo)
    assert after["participant_by_address"] == before["participant_by_address"]
    assert after["message_by_time"] == before["message_by_time"]


def test_a_word_that_says_nothing_in_one_language_is_counted_in_another() -> None:
    office = Office()
    office.post("sales", Letter("The harbour of Quelle is with them."))
    # Of the second search only this word is known then, which says nothing in Italian.
    for query in ("quelle", "is quelle the harbour"):
        found = async_to_sync(engine.search)(office.scope("sales"), SearchRequest(query, mode="keyword"))
        assert found.total == 1


def test_words_are_stemmed_by_every_dictionary_that_mail_may_be_stemmed_by() -> None:
    scope = Office().scope("sales")
    words = ["harbours", "versicherungen", "the", "der", "avions", "книги", "kirjat", "x"]

    async def asked() -> keyword.KeywordPlan:
        async with unbound() as conn:
            plan, _ = await keyword.plan(conn, scope, cut(parse(" ".join(words), START)))
            return plan

    plan = asyncio.run(asked())
    with psycopg.connect(dsn()) as conn:
        expected: dict[str, set[str]] = {word: {word} for word in words}
        for name in dictionaries():
            for word in words:
                row = conn.execute("SELECT ts_lexize(%s::regdictionary, %s)", [name, word]).fetchone()
                expected[word].update(one for one in (row or ([],))[0] if len(one) >= 3)
    forms, _ = known(words)
    assert {word: set((made or "").split()) for word, made in zip(words, forms, strict=True)} == expected
    # As many of them say nothing in German as in English, which goes first: there "der" is a word like any.
    assert set(plan.lexemes) == {one for word, made in expected.items() if word != "the" for one in made}


def test_facts_beside_the_words_are_those_of_the_message_whatever_happens_to_it(
    owner_conninfo: str, tmp_path: Path
) -> None:
    """Ranking counts by them alone, so counts would tell of mail out of scope if they were not."""
    office = Office()
    posted = office.post("sales", *(Letter(f"The harbour {number}.") for number in range(4)))
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "ann@abel.example", "Imported"
    mail.set_content("The harbour again.")
    (tmp_path / "one.eml").write_bytes(mail.as_bytes())
    ingest(open_source(tmp_path), mailbox=Mailbox.objects.get(tenant=office.tenant, slug="sales"))
    scope, archive = office.scope("sales"), office.folder("sales", "Archive")
    changes: list[tuple[dict[str, object], int]] = [
        ({"folder": archive}, 4), ({"deleted_at_source": timezone.now()}, 4), ({"folder": office.folder("sales")}, 4),
        ({"deleted_at_source": None}, 5), ({"quarantined": True}, 4), ({"quarantined": False}, 5),
    ]  # fmt: skip
    assert _total(scope) == 5
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        for change, left in changes:
            with bound(office.binding()):
                Message.objects.filter(pk=posted[0].pk).update(**change)
            assert conn.execute(_APART, [office.tenant.pk]).fetchone() == (0,)
            assert _total(scope) == left


def test_a_deeper_look_does_not_ask_for_the_words_again(owner_conninfo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where mail of one thread fills what is looked at first."""
    office = Office()
    fill(owner_conninfo, office, "big", share=MANY)
    # A word among so many is worth less, so it is not among the first hundreds.
    long = "common " + "filling " * 3_000
    (rest,) = office.post("big", Letter(long, received_at=timezone.now() - timedelta(minutes=700)))
    asked, execute = list[str](), AsyncCursor.execute

    async def noting(cursor: Any, query: Any, *values: Any, **named: Any) -> Any:
        asked.append(query if isinstance(query, str) else "")
        return await execute(cursor, query, *values, **named)

    monkeypatch.setattr(AsyncCursor, "execute", noting)
    request = SearchRequest("common", spread=True, limit=10)
    found = async_to_sync(engine.search)(office.scope("big"), request, embedder=Compass())
    assert [hit.head.subject for hit in found.hits][:3] == ["Filling 1", "Filling 2", "Filling 3"]
    assert found.hits[3].head.message_id == rest.public_id
    assert sum("mail_search.best(" in one for one in asked) == 1
