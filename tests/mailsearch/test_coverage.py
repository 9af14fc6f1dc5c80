"""How much mail a scope holds: counted anew now and then, and by one search at a time."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from mailsearch.hits import Coverage
from mailsearch.search import coverage
from mailsearch.sessions import pool
from tests.mailsearch.posting import Letter, Office

pytestmark = pytest.mark.django_db(transaction=True)


def test_while_one_counts_others_are_told_what_was_counted_before(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office()
    office.post("sales", Letter("The harbour."))
    scope = office.scope("sales")
    before: Coverage = async_to_sync(coverage.of)(scope)
    assert before.messages_in_scope == 1
    for key, (_, counted) in list(coverage._counted.items()):
        coverage._counted[key] = 0.0, counted
    counting, go_on, count, made = asyncio.Event(), asyncio.Event(), coverage._count, []

    async def slowly(*asked: Any) -> Coverage:
        made.append(asked)
        counting.set()
        await go_on.wait()
        return await count(*asked)

    async def together() -> tuple[Coverage, Coverage]:
        async with pool():
            first = asyncio.create_task(coverage.of(scope))
            await counting.wait()
            second = await coverage.of(scope)
            go_on.set()
            return await first, second

    monkeypatch.setattr(coverage, "_count", slowly)
    assert asyncio.run(together()) == (before, before)
    assert len(made) == 1
