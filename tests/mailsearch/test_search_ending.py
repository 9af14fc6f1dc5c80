"""A search that runs out of time ends in the database, too, and leaves its connections to others."""

import asyncio

import psycopg
import pytest
from asgiref.sync import async_to_sync

from mailsearch.hits import SearchRequest
from mailsearch.search import engine
from mailsearch.sessions import pool
from tests.mailsearch.posting import Letter, Office
from tests.mailsearch.test_search_isolation import embed
from tests.mailsearch.test_search_scope import Compass

pytestmark = pytest.mark.django_db(transaction=True)
# Of a search: what else a process does now and then may wait, too.
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    " AND query LIKE '%mail_search.%'"
)


async def waiting(owner_conninfo: str, statements: int) -> None:
    """Return once so many statements wait for a lock. The test's own limit ends it if that never is."""
    async with await psycopg.AsyncConnection.connect(owner_conninfo, autocommit=True) as looking:
        while await (await looking.execute(_WAITING)).fetchone() != (statements,):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def test_both_ways_of_a_search_end_in_the_database_at_the_deadline(owner_conninfo: str) -> None:
    office = Office()
    embed(office, "sales", office.post("sales", Letter("harbour", subject="Found")))
    scope = office.scope("sales")

    async def search() -> list[str]:
        result = await engine.search(scope, SearchRequest("harbour"), embedder=Compass(), patience=60)
        return [hit.head.subject for hit in result.hits]

    async def run_out_of_time() -> None:
        deadline = asyncio.timeout(None)

        async def limited() -> None:
            async with deadline:
                await search()

        async with await psycopg.AsyncConnection.connect(owner_conninfo) as locking:
            await locking.execute("LOCK mailsearch_searchdocument, mailsearch_passagevector IN ACCESS EXCLUSIVE MODE")
            asking = asyncio.create_task(limited())
            await waiting(owner_conninfo, 2)
            deadline.reschedule(asyncio.get_running_loop().time())
            with pytest.raises(TimeoutError):
                await asking
            # The lock still stands, so they did not end by having got it.
            await waiting(owner_conninfo, 0)

    async def check() -> None:
        async with asyncio.timeout(60), pool(size=2):
            await run_out_of_time()
            assert list(await asyncio.gather(search(), search())) == [["Found"], ["Found"]]

    async_to_sync(check)()
