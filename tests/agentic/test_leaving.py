"""A plain search ends in the database when whoever asked has gone: over REST and over MCP, in both of its eras."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import httpx
import psycopg
import pytest

from tests.agentic.cast import house
from tests.standins.mcp_client import connected
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
Headers = dict[str, str]
# Searches that wait for the lock below, and nothing else that may wait for it.
SEARCHING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    " AND query ~ 'mailsearch_message|mail_search[.]' AND datname = current_database() AND usename LIKE '%app'"
)


async def _over_rest(service: Service, headers: Headers) -> None:
    async with httpx.AsyncClient(base_url=service.url, headers=headers, timeout=60) as client:
        await client.post("/v1/search", json={"query": "Golf", "mode": "keyword"})


async def _over_mcp(service: Service, headers: Headers, era: str) -> None:
    async with connected(service.url, headers, era) as client:
        await client.call_tool("search", {"query": "Golf"})


WAYS: dict[str, Callable[[Service, Headers], Awaitable[None]]] = {
    "rest": _over_rest,
    "mcp": lambda service, headers: _over_mcp(service, headers, "auto"),
    "mcp-legacy": lambda service, headers: _over_mcp(service, headers, "legacy"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_search_is_stopped_in_the_database_when_its_caller_leaves(
    service: Service, owner_conninfo: str, way: str
) -> None:
    headers = house().jo.headers

    async def leave_while_it_searches() -> float:
        async with await psycopg.AsyncConnection.connect(owner_conninfo) as locking:
            await locking.execute("LOCK mailsearch_message IN ACCESS EXCLUSIVE MODE")
            asking = asyncio.ensure_future(WAYS[way](service, headers))
            await _until(searching=True)
            asking.cancel()
            await asyncio.wait({asking})
            left = time.monotonic()
            await _until(searching=False)
            return time.monotonic() - left

    async def _until(*, searching: bool) -> None:
        async with (
            asyncio.timeout(60),
            await psycopg.AsyncConnection.connect(owner_conninfo, autocommit=True) as looking,
        ):
            while ((await (await looking.execute(SEARCHING)).fetchone()) != (0,)) != searching:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    # Its own deadline would end it only later.
    assert asyncio.run(leave_while_it_searches()) < 8
