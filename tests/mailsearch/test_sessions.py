"""A session sees what it is bound to, whatever the connection was used for before."""

import asyncio
from typing import Any

import psycopg
import pytest

from mailsearch.models import Mailbox
from mailsearch.sessions import Binding, piped, pool, session, trip
from tests.mailsearch.posting import Letter, Office

pytestmark = pytest.mark.django_db(transaction=True)
_SEEN = "SELECT count(*) FROM mailsearch_message"


@pytest.mark.parametrize("kind", [piped, trip])
def test_a_prepared_statement_sees_what_each_transaction_is_bound_to(kind: Any) -> None:
    office = Office()
    office.post("sales", Letter("Brass."))
    mailboxes = frozenset(Mailbox.objects.values_list("pk", flat=True))

    async def seen() -> list[int]:
        counts = []
        # More often than Postgres plans anew.
        async with pool(size=1):
            for binding in 8 * [Binding(office.tenant.pk, mailboxes), Binding(office.tenant.pk), Binding()]:
                async with kind(binding) as conn:
                    counts.append(await (await conn.execute(_SEEN, prepare=True)).fetchone())
        return [count for row in counts if row for count in row]

    assert asyncio.run(seen()) == 8 * [1, 0, 0]


@pytest.mark.parametrize("kind", [piped, trip])
def test_a_binding_ends_with_its_transaction(kind: Any) -> None:
    async def bound() -> list[Any]:
        async with pool(size=1):
            async with kind(Binding(7, frozenset({1}), audit=frozenset({7}), statement_timeout_ms=5_000)) as conn:
                asked = await conn.execute("SELECT current_setting('app.audit'), current_setting('statement_timeout')")
            async with session(Binding()) as conn:
                after = await conn.execute("SELECT current_setting('app.audit'), current_setting('statement_timeout')")
                return [await asked.fetchone(), await after.fetchone()]

    assert asyncio.run(bound()) == [("{7}", "5s"), ("{}", "0")]


def test_what_fails_within_one_trip_leaves_nothing_and_the_connection_to_the_next() -> None:
    office = Office()

    async def fail() -> None:
        async with piped(Binding(office.tenant.pk)) as conn:
            await conn.execute("UPDATE mailsearch_tenant SET name = 'Changed'")
            await conn.execute("SELECT 1 / 0")

    async def fails() -> tuple[Any, ...] | None:
        async with pool(size=1):
            with pytest.raises(psycopg.errors.DivisionByZero):
                await fail()
            async with piped(Binding(office.tenant.pk)) as conn:
                asked = await conn.execute("SELECT name FROM mailsearch_tenant WHERE id = %s", [office.tenant.pk])
            return await asked.fetchone()

    assert asyncio.run(fails()) == (office.tenant.name,)


def test_what_is_read_in_between_is_read_within_the_same_trip() -> None:
    office = Office()
    office.post("sales", Letter("Brass."))
    mailboxes = frozenset(Mailbox.objects.values_list("pk", flat=True))

    async def seen() -> list[Any]:
        async with pool(size=1), trip(Binding(office.tenant.pk, mailboxes)) as conn:
            return [await (await conn.execute(f"SELECT ({_SEEN}), pg_current_xact_id()")).fetchone() for _ in range(3)]

    rows = asyncio.run(seen())
    assert rows[0][0] == 1
    assert len(set(rows)) == 1


class _BrokenOff(Exception):
    pass


@pytest.mark.parametrize("kind", [piped, trip])
@pytest.mark.parametrize("how", ["ended by the server", "cut twice", "an error of one's own"])
def test_a_trip_that_is_broken_off_is_told_once_and_leaves_a_sound_pool(
    how: str, kind: Any, owner_conninfo: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken_off() -> None:
        async with kind(Binding()) as conn:
            await (await conn.execute("SELECT pg_backend_pid()")).fetchone()
            if how == "an error of one's own":
                await conn.execute("SELECT 1 / 0")
                raise _BrokenOff
            if how == "ended by the server":
                async with await psycopg.AsyncConnection.connect(owner_conninfo, autocommit=True) as owner:
                    await owner.execute("SELECT pg_terminate_backend(%s, 5000)", [conn.info.backend_pid])
            await (await conn.execute("SELECT pg_sleep(60)")).fetchone()

    async def cut() -> tuple[Any, ...] | None:
        async with pool(size=1):
            task = asyncio.create_task(broken_off())
            if how == "cut twice":
                await asyncio.sleep(0.05)
                task.cancel()
                await asyncio.sleep(0)
                task.cancel()
            wanted = asyncio.CancelledError if how == "cut twice" else (psycopg.OperationalError, _BrokenOff)
            with pytest.raises(wanted):
                await task
            async with piped(Binding()) as conn:
                asked = await conn.execute("SELECT 1")
            return await asked.fetchone()

    assert asyncio.run(cut()) == (1,)
    assert [one.getMessage() for one in caplog.records if "error ignored" in one.getMessage()] == []


def test_a_session_serves_while_somebody_holds_what_searches_need(owner_conninfo: str) -> None:
    async def served() -> tuple[Any, ...] | None:
        async with await psycopg.AsyncConnection.connect(owner_conninfo) as holding:
            await holding.execute("LOCK mailsearch_searchdocument IN ACCESS EXCLUSIVE MODE")
            async with asyncio.timeout(30), pool(size=1), session(Binding()) as conn:
                asked = await conn.execute("SELECT current_setting('lock_timeout')")
                return await asked.fetchone()

    assert asyncio.run(served()) == ("0",)


def test_after_all_sessions_of_a_pool_were_ended_the_next_is_had_at_once(owner_conninfo: str) -> None:
    async def hold(all_there: asyncio.Barrier) -> None:
        async with session(Binding()):
            await all_there.wait()

    async def served() -> tuple[Any, ...] | None:
        async with pool(size=6):
            all_there = asyncio.Barrier(6)
            await asyncio.gather(*(hold(all_there) for _ in range(6)))
            async with await psycopg.AsyncConnection.connect(owner_conninfo) as conn:
                await conn.execute(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND usename LIKE '%app'"
                )
            # Half a minute is what a pool waits that pauses after each session that it finds ended.
            async with asyncio.timeout(20), session(Binding()) as conn:
                return await (await conn.execute("SELECT 1")).fetchone()

    assert asyncio.run(served()) == (1,)
