"""Replies that name nothing are placed by their subject, alike in every order of arrival."""

import itertools
from collections.abc import Sequence

import pytest
from django.db import connection

from mailsearch.ingest import pipeline, subjects
from mailsearch.ingest.limits import Worker
from tests.mailsearch.importing import mail, new_mailbox, seeing, source, threads

pytestmark = pytest.mark.django_db(transaction=True)

_worker = Worker()
ANN, BOB = "ann@abel.example", "bob@shop.example"


def post(name: str, day: int, subject: str, **headers: str) -> bytes:
    """A message of that day of March between Ann and Bob."""
    return mail(
        f"Words of {name}.",
        id_=name,
        subject=subject,
        sender=ANN,
        to=BOB,
        date=f"{day} Mar 2026 10:00:00 +0000",
        **headers,
    )


CONVERSATION = [
    post("a", 1, "Roof"),
    post("b", 2, "Re: Roof", references="<a>"),
    post("c", 4, "Re: Roof", references="<a> <b>"),
    post("lone", 3, "Re: Roof"),
]
# Each month's invoice is its own; what was written of one stays with it.
INVOICES = [
    post("january", 1, "Invoice"),
    post("february", 20, "Invoice"),
    post("lone", 21, "Re: Invoice"),
    post("answer", 22, "Re: Invoice", in_reply_to="<lone>"),
]
LINE = [post("a", 1, "Lunch"), post("b", 2, "AW: Lunch"), post("c", 3, "Re: Lunch"), post("d", 4, "Lunch")]


def arranged(mails: Sequence[bytes], together: bool) -> set[frozenset[str]]:
    mailbox = new_mailbox()
    for some in [mails] if together else [[one] for one in mails]:
        pipeline.ingest(source(*some), mailbox=mailbox, worker=_worker)
    return threads(mailbox.tenant)


def among(*names: str) -> frozenset[str]:
    return frozenset(names)


@pytest.mark.parametrize(
    ("mails", "expected"),
    [
        (CONVERSATION, {among("a", "b", "c", "lone")}),
        (INVOICES, {among("january"), among("february", "lone", "answer")}),
        (LINE, {among("a", "b", "c"), among("d")}),
    ],
    ids=["conversation", "invoices", "line"],
)
def test_the_order_of_arrival_changes_nothing(mails: list[bytes], expected: set[frozenset[str]]) -> None:
    orders = list(itertools.permutations(mails))
    for order in orders[::5]:
        assert arranged(order, together=False) == expected
    for order in orders[::11]:
        assert arranged(order, together=True) == expected


def test_half_of_a_conversation_that_arrives_later_together_finds_the_reply() -> None:
    mailbox = new_mailbox()
    pipeline.ingest(source(CONVERSATION[3]), mailbox=mailbox, worker=_worker)
    pipeline.ingest(source(*CONVERSATION[:3]), mailbox=mailbox, worker=_worker)
    assert threads(mailbox.tenant) == {among("a", "b", "c", "lone")}


def test_a_reply_stays_in_its_thread_when_what_that_spoke_of_arrives() -> None:
    mailbox = new_mailbox()
    for one in (CONVERSATION[1], CONVERSATION[3], CONVERSATION[0]):
        pipeline.ingest(source(one), mailbox=mailbox, worker=_worker)
    assert threads(mailbox.tenant) == {among("a", "b", "lone")}


@pytest.mark.parametrize("query", [subjects.EARLIER, subjects.LATER])
def test_messages_of_a_subject_are_looked_up_by_their_moment(query: str) -> None:
    mailbox = new_mailbox()
    reports = [
        mail(f"{n}.", id_=f"{n}", subject="Report", date=f"04 Mar 2026 {n // 60:02}:{n % 60:02}:00 +0000")
        for n in range(400)
    ]
    pipeline.ingest(source(*reports), mailbox=mailbox, worker=_worker)
    one: list[str | int] = [
        "{0}",
        '{"\\\\x00"}',
        '{"2026-03-04T10:00:00Z"}',
        '{"2026-03-05T10:00:00Z"}',
        mailbox.tenant_id,
        5,
    ]
    with seeing(mailbox.tenant), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {query}", one)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    # Under row-level security, too, which holds back what could tell of hidden rows.
    looked_up = next(line for line in plan.splitlines() if "Index Cond" in line)
    assert "sent_at" in looked_up, plan
