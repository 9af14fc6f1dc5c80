"""Under row-level security the database still uses its indexes, and a pooled connection forgets whom it served."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from mailsearch.hits import Mode, SearchRequest, SearchResult
from mailsearch.ingest import counting
from mailsearch.models import Message, TermCount
from mailsearch.scope import Scope
from mailsearch.search import engine, semantic
from mailsearch.search.narrowing import whole
from mailsearch.search.paging import encode, fingerprint
from mailsearch.sessions import bound, dsn, pool
from tests.mailsearch.posting import START, Letter, Office
from tests.mailsearch.test_search_isolation import embed
from tests.mailsearch.test_search_scope import Compass

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 4_000
_FILL = """
INSERT INTO mailsearch_thread (tenant_id, public_id) SELECT %(tenant)s, 'thr_fill_' || %(mailbox)s;
INSERT INTO mailsearch_message (tenant_id, mailbox_id, folder_id, thread_id, quarantined, public_id, content_sha256,
    words_sha256, rfc_message_id, in_reply_to, "references", subject, received_at, date_disputed, language, list_id,
    spf, dkim, dmarc, size, flags, attachment_count, body_text, body_blocks, body_regions, hidden_text,
    alternatives_differ, text_version, defects, extras)
SELECT %(tenant)s, %(mailbox)s, %(folder)s,
    (SELECT id FROM mailsearch_thread WHERE public_id = 'thr_fill_' || %(mailbox)s),
    false, 'msg_fill_' || %(mailbox)s || '_' || n, sha256(n::text::bytea), sha256(n::text::bytea), '', '{}', '{}',
    'Filling ' || n, now() - n * %(apart)s * interval '1 minute', false, 'en', '', 'unknown', 'unknown', 'unknown', 1,
    '{}', 0, 'word' || n || ' common', '[]', '[]', '', false, 1, '[]', '{}'
FROM generate_series(1, %(many)s) AS n;
INSERT INTO mailsearch_searchdocument (tenant_id, mailbox_id, quarantined, message_id, words, length)
SELECT tenant_id, mailbox_id, false, id, array_to_tsvector(string_to_array(body_text, ' ')), 2
FROM mailsearch_message WHERE mailbox_id = %(mailbox)s;
INSERT INTO mailsearch_passage (tenant_id, mailbox_id, quarantined, message_id, start, "end")
SELECT tenant_id, mailbox_id, false, id, 0, length(body_text) FROM mailsearch_message WHERE mailbox_id = %(mailbox)s;
INSERT INTO mailsearch_passagevector (tenant_id, mailbox_id, quarantined, message_id, passage_id, model, embedding)
SELECT tenant_id, mailbox_id, false, message_id, id, 'noise',
    (SELECT array_agg(sin(p.id * 7919.0 * d)) FROM generate_series(1, 512) AS d)::real[]::halfvec
FROM mailsearch_passage p WHERE mailbox_id = %(mailbox)s AND message_id %% %(share)s = 0;
ANALYZE;
"""


def fill(owner_conninfo: str, office: Office, mailbox: str, *, share: int = 1, apart: int = 1) -> Scope:
    """Many messages of two words each, *apart* minutes apart, and a vector for one in *share* of them."""
    folder = office.folder(mailbox)
    values = {
        "tenant": office.tenant.pk,
        "mailbox": folder.mailbox_id,
        "folder": folder.pk,
        "many": MANY,
        "share": share,
        "apart": apart,
    }
    with psycopg.ClientCursor(psycopg.connect(owner_conninfo, autocommit=True)) as cursor:
        cursor.execute(_FILL, values)
        cursor.connection.close()
    return office.scope(mailbox)


def uses(owner_conninfo: str) -> dict[str, int]:
    """How often each index, and each table by itself, was read so far. A session tells what it read when it ends."""
    with psycopg.connect(owner_conninfo, autocommit=True) as conn:
        own = [conn.info.backend_pid, connection.connection.info.backend_pid if connection.connection else 0]
        for _ in range(1_000):
            others = conn.execute(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> ALL (%s)"
                " AND backend_type = 'client backend'",
                [own],
            )
            if not others.rowcount:
                break
            time.sleep(0.01)
        rows = conn.execute(
            "SELECT indexrelname, idx_scan FROM pg_stat_user_indexes"
            " UNION ALL SELECT relname, seq_scan FROM pg_stat_user_tables"
        ).fetchall()
    return {name: count or 0 for name, count in rows}


def find(scope: Scope, text: str, **more: Any) -> SearchResult:
    return async_to_sync(engine.search)(scope, SearchRequest(text, mode="keyword", **more))


def test_keyword_search_uses_the_full_text_index(owner_conninfo: str) -> None:
    scope = fill(owner_conninfo, Office(), "big", share=MANY)
    before = uses(owner_conninfo)
    assert find(scope, "word77").total == 1
    after = uses(owner_conninfo)
    assert after["search_document_words"] > before["search_document_words"]
    assert after["mailsearch_searchdocument"] == before["mailsearch_searchdocument"]


def test_a_common_word_is_capped_and_says_so(owner_conninfo: str) -> None:
    result = find(fill(owner_conninfo, Office(), "big", share=MANY), "common", limit=100)
    assert len(result.hits) == 100
    assert (result.total, result.total_is_exact) == (1_000, False)
    assert result.hits[0].head.subject == "Filling 1"


@pytest.mark.parametrize("apart", [200, 5_000], ids=["by weeks", "by the moment"])
def test_of_a_common_word_the_newest_are_found(owner_conninfo: str, apart: int) -> None:
    """Also in scopes and under filters that leave out most of the newest. In mail of many years weeks cost too much."""
    office = Office()
    scope = fill(owner_conninfo, office, "big", share=MANY, apart=apart)
    counting.count_new(office.mailbox("big"))
    with psycopg.connect(owner_conninfo) as conn:
        conn.execute(
            "UPDATE mailsearch_message SET folder_id = %s WHERE mailbox_id = %s AND subject !~ '[05]$'",
            [office.folder("big", "Elsewhere").pk, office.mailbox("big").pk],
        )
    found = find(scope, "common", limit=100, cursor=encode(700, fingerprint(scope, SearchRequest("common", "keyword"))))
    assert [hit.head.subject for hit in found.hits] == [f"Filling {5 * n}" for n in range(701, 801)]
    assert (found.total, found.total_is_exact) == (800, True)
    until = replace(scope, received_until=datetime.now(UTC) - timedelta(minutes=apart * 1_001))
    assert [hit.head.subject for hit in find(until, "common", limit=2).hits] == ["Filling 1005", "Filling 1010"]
    everywhere = find(office.scope("big"), "common", limit=1)
    assert (everywhere.hits[0].head.subject, everywhere.total_is_exact) == ("Filling 1", False)


def test_of_several_terms_the_newest_are_found_however_they_are_looked_for(owner_conninfo: str) -> None:
    scope = fill(owner_conninfo, Office(), "big", share=MANY, apart=5_000)
    of_scope = scope.binding().settings
    found = {}
    with psycopg.connect(dsn(), autocommit=True) as conn, conn.transaction():
        conn.execute(
            "SELECT set_config('app.tenant', %s, true), set_config('app.mailboxes', %s, true)",
            [of_scope["app.tenant"], of_scope["app.mailboxes"]],
        )
        for expected in (1, MANY, 3 * MANY):
            found[expected] = conn.execute(
                "SELECT message_id, points FROM mail_search.newest(%s, NULL, NULL, '''common''', NULL, '''common''',"
                " '{''common'',''word3''}', '{1,5}', '{1,1}', 2500, %s, false) ORDER BY received_at DESC LIMIT 2500",
                [list(scope.folder_ids), expected],
            ).fetchall()
    assert len(found[1]) == 2_500
    assert found[1] == found[MANY] == found[3 * MANY]


def test_words_follow_their_message() -> None:
    office = Office()
    (message,) = office.post("sales", Letter("harbour"))
    here, there = (office.scope(folders=[("sales", path)]) for path in ("INBOX", "Archive"))

    def change(**values: Any) -> tuple[int, int, int]:
        """How often the word is found here, there, and counted."""
        with bound(office.binding()):
            Message.objects.filter(pk=message.pk).update(**values)
            counted = sum(TermCount.objects.filter(lexeme="harbour").values_list("documents", flat=True))
        return find(here, "harbour").total, find(there, "harbour").total, counted

    assert change(subject="The same") == (1, 0, 1)
    assert change(folder=office.folder("sales", "Archive")) == (0, 1, 1)
    assert change(deleted_at_source=START) == (0, 0, 0)
    assert change(deleted_at_source=None) == (0, 1, 1)
    assert change(quarantined=True) == (0, 0, 0)
    assert change(quarantined=False, folder=office.folder("sales")) == (1, 0, 1)


def test_approximate_search_uses_the_vector_index_and_brings_as_many_as_there_are(owner_conninfo: str) -> None:
    scope = fill(owner_conninfo, Office(), "big", share=4)
    vector = [1.0, *[0.0] * 511]

    async def nearest(depth: int) -> int:
        async with scope.reading() as conn:
            return len(await semantic.search(conn, scope, vector, "noise", whole(scope), depth=depth, exact_up_to=100))

    before = uses(owner_conninfo)
    assert async_to_sync(nearest)(10) == 10
    after = uses(owner_conninfo)
    assert after["vector_near_512"] > before["vector_near_512"]
    assert async_to_sync(nearest)(MANY) == MANY // 4


def test_vectors_of_another_model_are_not_compared() -> None:
    office = Office()
    posted = office.post("sales", Letter("harbour"), Letter("tyres"))
    office.embed("sales", "old", {posted[0].pk: [1.0, 0.0]})
    office.embed("sales", "new", {posted[1].pk: [0.0, 1.0, 0.0]})
    scope = office.scope("sales")

    async def nearest() -> list[int]:
        async with scope.reading() as conn:
            found = await semantic.search(conn, scope, [1.0, 0.0, 0.0], "new", whole(scope), depth=10)
        return [one.message_id for one in found]

    assert async_to_sync(nearest)() == [posted[1].pk]


def test_copies_take_one_place_and_are_counted_on_whatever_page() -> None:
    office = Office()
    copies = office.post("sales", *(Letter("harbour plan, harbour", subject="copy") for _ in range(30)))
    office.post("sales", *(Letter(f"harbour {number}", subject=str(number)) for number in range(3)))
    first = find(office.scope("sales"), "harbour plan", limit=2)
    assert [(hit.head.subject, hit.copies) for hit in first.hits] == [("copy", 30), ("2", 1)]
    assert first.hits[0].head.message_id == copies[0].public_id
    assert first.total == 33
    assert first.next_cursor
    second = find(office.scope("sales"), "harbour plan", limit=2, cursor=first.next_cursor)
    assert [hit.head.subject for hit in second.hits] == ["1", "0"]
    assert second.next_cursor is None


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_two_tenants_at_once_through_one_pool_never_mix(mode: Mode) -> None:
    """Also where some of them are cancelled on their way: whoever takes their connection sees nothing of theirs."""
    offices = [Office(), Office()]
    for number, office in enumerate(offices):
        posted = office.post("sales", *(Letter(f"harbour plan {number}", subject=f"of {number}") for _ in range(3)))
        embed(office, "sales", posted)
    scopes = [office.scope("sales") for office in offices]

    async def ask(number: int) -> tuple[int, set[str]]:
        result = await engine.search(scopes[number], SearchRequest("harbour", mode=mode), embedder=Compass())
        return number, {f"{hit.head.subject}|{hit.excerpts[0].text}|{hit.copies}" for hit in result.hits}

    async def hammer() -> list[tuple[int, set[str]]]:
        async with pool(size=3):
            asked = [asyncio.create_task(ask(one % 2)) for one in range(60)]
            for one in asked[::5]:
                # Each a little later than the one before.
                await asyncio.sleep(0)
                one.cancel()
            found = await asyncio.gather(*asked, return_exceptions=True)
        return [one for one in found if not isinstance(one, BaseException)]

    found = async_to_sync(hammer)()
    assert len(found) == 48
    assert all(seen == {f"of {number}|harbour plan {number}|3"} for number, seen in found)


@pytest.mark.parametrize(
    "call",
    [
        "mail_search.ranked('{\"folders\": [1]}', NULL, NULL, NULL, '{}', '{}', '{10,10}', 10, true)",
        "mail_search.ranked('{\"folders\": [1]}', '''harbour''', NULL, NULL, '{}', '{}', '{10,10}', 10, true)",
        "mail_search.best('{1}', NULL, NULL, '''harbour''', NULL, NULL, '{''harbour''}', '{1}', '{1}', '{10,10}',"
        " '{1,1}', true, 10, true)",
        "mail_search.newest('{1}', NULL, NULL, '''harbour''', NULL, NULL, '{''harbour''}', '{1}', '{1}', 10, 1, true)",
        "mail_search.frequencies('{\"folders\": [1]}', '{''harbour''}')",
        "unnest((SELECT documents || whole FROM mail_search.frequent('{1}', NULL, NULL, '{''harbour''}', 10, 10)))",
        "mail_search.nearest('{\"folders\": [1]}', 'noise', '[1,0]', 10, 10, true)",
        "mail_search.first_bearers_of('{1}', '{1}', NULL, NULL)",
        "mail_search.first_bearers('{Ann Abel}', '{1}', NULL, NULL)",
    ],
)
def test_without_a_scope_in_the_session_the_search_functions_find_nothing(call: str) -> None:
    Office().post("sales", Letter("harbour"))
    with psycopg.connect(dsn(), autocommit=True) as conn:
        rows = conn.execute(f"SELECT * FROM {call}").fetchall()
    assert all(row[-1] == 0 for row in rows)


def test_nobody_else_may_run_the_search_functions(owner_conninfo: str) -> None:
    with psycopg.connect(owner_conninfo) as conn:
        rows = conn.execute(
            "SELECT p.proname, has_function_privilege('public', p.oid, 'EXECUTE'), p.prosecdef, p.proconfig::text"
            " FROM pg_proc p WHERE p.pronamespace = 'mail_search'::regnamespace"
        ).fetchall()
    assert rows
    assert [name for name, public, *_ in rows if public] == []
    assert [name for name, _, definer, settings in rows if definer and "search_path" not in (settings or "")] == []
