"""Rows of the audit go in together, one statement a table, with any text that mail may hold."""

from typing import Any

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


def test_rows_of_a_table_are_written_in_their_order_by_one_statement_and_their_words_by_another() -> None:
    class Counting:
        statements = 0

        async def execute(self, statement: bytes, values: list[str]) -> None:
            self.statements += 1

    tenant, sheets, counting = Office().tenant, (Sheet(), Sheet()), Counting()
    for sheet in sheets:
        for number in range(50):
            _attempt(sheet, tenant, **({"requested": f"folder {number}"} if number % 2 else {}))
    connection: Any = counting
    run(sheets[0].write(connection))
    assert counting.statements == 2
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
