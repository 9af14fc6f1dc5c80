"""Mail as a list: whole, in order, within scope, and undisturbed by what arrives."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailsearch.hits import Filters
from mailsearch.scope import Scope
from mailsearch.search import listing
from mailsearch.search.paging import InvalidCursor
from tests.mailsearch.posting import Letter, Office

pytestmark = pytest.mark.django_db(transaction=True)
DAY = datetime(2026, 3, 1, 8, tzinfo=UTC)


def _page(scope: Scope, limit: int = 20, cursor: str = "", **filters: Any) -> listing.MessagePage:
    return asyncio.run(listing.messages(scope, Filters(**filters), limit, cursor))


def _subjects(page: listing.MessagePage) -> list[str]:
    return [head.subject for head in page.heads]


def test_pages_hold_every_message_once_also_of_one_moment_and_while_mail_arrives() -> None:
    office = Office()
    for number in range(7):
        # Three and three of one moment.
        office.post("in", Letter("x", subject=str(number), received_at=DAY + timedelta(days=number // 3)))
    scope, seen, cursor = office.scope("in"), [], ""
    while True:
        page = _page(scope, 2, cursor)
        seen += _subjects(page)
        office.post("in", Letter("x", subject="new", received_at=DAY + timedelta(days=30 + len(seen))))
        if page.next_cursor is None:
            break
        cursor = page.next_cursor
    assert sorted(seen) == list("0123456")
    assert [int(one) // 3 for one in seen] == [2, 1, 1, 1, 0, 0, 0]


def test_only_the_scope_is_listed_and_a_cursor_carries_no_right() -> None:
    office = Office()
    office.post("mine", *(Letter("x", subject=f"mine {n}") for n in range(3)))
    office.post("theirs", *(Letter("x", subject=f"theirs {n}") for n in range(3)))
    office.post("mine", Letter("x", subject="hidden", quarantined=True))
    theirs = _page(office.scope("theirs"), 1).next_cursor
    assert theirs
    assert not [one for one in _subjects(_page(office.scope("mine"), cursor=theirs)) if not one.startswith("mine")]
    assert len(_subjects(_page(office.scope("mine")))) == 3
    assert _page(office.scope()) == listing.MessagePage((), None)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"senders": ("ann",)}, ["offer"]),
        ({"recipients": ("max",)}, ["bill"]),
        ({"subjects": ("OFF",)}, ["offer"]),
        ({"filenames": ("invoice",)}, ["bill"]),
        ({"folders": ("Archive",)}, ["bill"]),
        ({"has_attachment": False}, ["offer"]),
        ({"unread": True}, ["bill"]),
        ({"larger": 5000}, ["bill"]),
        ({"after": DAY + timedelta(days=1)}, ["offer"]),
        ({"before": DAY + timedelta(days=1)}, ["bill"]),
        ({"senders": ("ann", "bob")}, ["offer", "bill"]),
    ],
)
def test_filters_narrow_as_those_of_a_search_do(filters: dict[str, Any], found: list[str]) -> None:
    office = Office()
    bill = Letter(
        "x", subject="bill", sender="Bob <bob@x.example>", to=("max@x.example",), folder="Archive", received_at=DAY,
        attachments=(("Invoice.txt", "9"),), size=9000,
    )  # fmt: skip
    offer = Letter("x", subject="offer", received_at=DAY + timedelta(days=2), flags=("\\Seen",))
    office.post("in", bill, offer)
    assert _subjects(_page(office.scope("in"), **filters)) == found


def test_a_filter_that_names_nothing_leaves_nothing_and_is_told() -> None:
    office = Office()
    office.post("in", Letter("x"))
    office.post("elsewhere", Letter("x"))
    page = _page(office.scope("in"), mailboxes=("elsewhere",))
    assert page == listing.MessagePage((), None, ("mailbox:elsewhere",))


@pytest.mark.parametrize("cursor", ["x", "é", "W10", "WzEsMl0", "bnVsbA", "WyIyMDI2IiwgMV0", "{" * 900])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        _page(Office().scope(), cursor=cursor)
