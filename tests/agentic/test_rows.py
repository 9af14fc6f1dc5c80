"""Rows of the audit go in together, by one statement, with any text that mail may hold."""

from collections.abc import Mapping
from typing import Any

import psycopg
import pytest

from agentic.models import CallerAttempt
from agentic.rows import Sheet
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound, session
from tests.agentic.asking import run
from tests.mailsearch.posting import Office

pytestmark = pytest.mark.django_db(transaction=True)


def _attempt(sheet: Sheet, tenant: Tenant, **words: Any) -> None:
    sheet.add(
        CallerAttempt, tenant=tenant.pk, caller="key:jo", kind="quarantine", tool="search", argument="in", **words
    )


def _written(tenant: Tenant, sheet: Sheet) -> list[CallerAttempt]:
    async def write() -> None:
        async with session(Binding(audit=frozenset({tenant.pk}))) as conn:
            await sheet.write(conn)

    run(write())
    with bound(Binding(audit=frozenset({tenant.pk}))):
        return list(CallerAttempt.objects.filter(tenant=tenant).order_by("pk"))


def test_rows_are_written_in_their_order_and_by_one_statement_with_their_words() -> None:
    class Counting:
        statements = 0

        async def execute(self, statement: bytes, values: Mapping[str, str], *, prepare: bool) -> None:
            self.statements += 1

    tenant, sheets, counting = Office().tenant, (Sheet(), Sheet()), Counting()
    for sheet in sheets:
        for number in range(50):
            _attempt(sheet, tenant, **({"requested": f"folder {number}"} if number % 2 else {}))
    connection: Any = counting
    run(sheets[0].write(connection))
    assert counting.statements == 1
    wanted = [f"folder {number}" if number % 2 else "" for number in range(50)]
    assert [row.requested for row in _written(tenant, sheets[1])] == wanted


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a\0b", "a\ufffdb"),
        ("half \ud83d of a pair", "half ? of a pair"),
        ('a backslash \\u0000, "quotes" and\nlines', 'a backslash \\u0000, "quotes" and\nlines'),
        ("für 日本 😀", "für 日本 😀"),
    ],
)
def test_text_of_any_kind_is_kept_as_postgres_can_keep_it(sent: str, kept: str) -> None:
    tenant, sheet = Office().tenant, Sheet()
    _attempt(sheet, tenant, requested=sent, effective=[sent, {sent: 1}])
    (row,) = _written(tenant, sheet)
    assert (row.requested, row.effective) == (kept, [kept, {kept: 1}])


def test_a_sheet_that_was_written_is_empty() -> None:
    tenant, sheet = Office().tenant, Sheet()
    _attempt(sheet, tenant, requested="once")
    assert len(_written(tenant, sheet)) == 1
    assert len(_written(tenant, sheet)) == 1


def test_rows_and_what_is_done_beside_them_stand_or_fall_together() -> None:
    tenant, sheet = Office().tenant, Sheet()
    _attempt(sheet, tenant, requested="kept by nothing")

    async def write(last: bytes) -> list[Any]:
        async with session(Binding(audit=frozenset({tenant.pk}))) as conn:
            return await (await sheet.write(conn, last, {"name": "Renamed", "id": tenant.pk})).fetchall()

    rename = b"UPDATE mailsearch_tenant SET name = %(name)s WHERE id = %(id)s RETURNING name"
    with pytest.raises(psycopg.errors.DivisionByZero):
        run(write(b"WITH wrong AS (SELECT 1 / 0 AS n) " + rename.replace(b"WHERE", b"FROM wrong WHERE n = 0 AND")))
    assert _written(tenant, Sheet()) == []
    _attempt(sheet, tenant, requested="kept")
    assert run(write(rename)) == [("Renamed",)]
    assert [row.requested for row in _written(tenant, Sheet())] == ["kept"]
