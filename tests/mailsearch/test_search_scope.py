"""Search and reading stay within the scope: by rows, counts, excerpts and order.

Ann reads sales@ and her own mail, Bob only his own, Carol nothing. Mallory writes to all of them from outside.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import pytest
from asgiref.sync import async_to_sync

from mailsearch.embeddings import Vectors
from mailsearch.hits import Filters, Mode, SearchRequest, SearchResult
from mailsearch.models import Message
from mailsearch.scope import Scope
from mailsearch.search import contacts, coverage, engine, reading, related
from mailsearch.sessions import bound
from tests.mailsearch.posting import START, Letter, Office

pytestmark = pytest.mark.django_db(transaction=True)
T = TypeVar("T")
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
SECRET = "the harbour contract is worth 4711 crowns"


class Compass:
    """Embeds by counting a few words, so that nearness is plain to see."""

    name = "compass"
    dimensions = 4

    def embed(self, texts: Any) -> Vectors:
        rows = [[text.lower().count(word) for word in ("harbour", "contract", "tyres")] + [1] for text in texts]
        vectors = np.asarray(rows, dtype=np.float32)
        normalised: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised


@dataclass
class Cast:
    office: Office
    ann: Scope
    bob: Scope
    carol: Scope
    messages: dict[str, Message]


@pytest.fixture
def cast() -> Cast:
    office = Office()
    thread = office.thread()
    letters = {
        "sales": ("sales", Letter(f"Dear all, {SECRET}.", subject="Harbour", thread=thread)),
        "ann": ("ann", Letter("The contract for tyres is signed.", subject="Tyres", to=["ann@shop.example"])),
        "bob": (
            "bob",
            Letter(
                f"Keep it quiet: {SECRET}!",
                subject="Re: Harbour",
                thread=thread,
                sender="Boss <boss@shop.example>",
                attachments=[("harbour.txt", "harbour plan")],
            ),
        ),
        "mallory": ("bob", Letter("harbour " * 50, subject="harbour", sender="Ann Abel <mallory@evil.example>")),
        "quarantined": ("sales", Letter(f"Hidden: {SECRET}", subject="Quarantined harbour", quarantined=True)),
        "trash": ("sales", Letter(f"Old: {SECRET}", subject="Thrown away", folder="Trash")),
    }
    messages = {}
    for name, (mailbox, letter) in letters.items():
        (messages[name],) = office.post(mailbox, letter)
    for mailbox in ("sales", "ann", "bob"):
        inside = [one for one in messages.values() if one.mailbox.slug == mailbox]
        vectors = Compass().embed([one.body_text for one in inside])
        office.embed(mailbox, "compass", {one.pk: row.tolist() for one, row in zip(inside, vectors, strict=True)})
    return Cast(office, office.scope("sales", "ann"), office.scope("bob"), office.scope(), messages)


def find(scope: Scope, text: str, mode: Mode = "keyword", **more: Any) -> SearchResult:
    request = SearchRequest(text, mode=mode, now=START, **more)
    return async_to_sync(engine.search)(scope, request, embedder=Compass())


def subjects(result: SearchResult) -> set[str]:
    return {hit.head.subject for hit in result.hits}


def run(call: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
    return async_to_sync(call)(*arguments)


@pytest.mark.parametrize("mode", MODES)
def test_each_finds_the_mail_of_their_own_mailboxes(cast: Cast, mode: Mode) -> None:
    assert "Harbour" in subjects(find(cast.ann, "harbour contract", mode))
    assert subjects(find(cast.ann, "harbour contract", mode)) <= {"Harbour", "Tyres"}
    assert "Re: Harbour" in subjects(find(cast.bob, "harbour contract", mode))
    assert subjects(find(cast.bob, "harbour contract", mode)) <= {"Re: Harbour", "harbour"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["harbour", "", "from:boss", "has:attachment", '"harbour contract"', "-nothing"])
def test_who_may_read_nothing_finds_nothing(cast: Cast, mode: Mode, text: str) -> None:
    result = find(cast.carol, text, mode)
    assert (result.hits, result.total, result.indexed_until) == ((), 0, None)
    assert result.why_empty == "This caller may read no mail."


@pytest.mark.parametrize("mode", MODES)
def test_counts_and_copies_are_those_of_the_scope(cast: Cast, mode: Mode) -> None:
    result = find(cast.ann, "harbour", mode, limit=100)
    assert sum(hit.copies for hit in result.hits) == result.total
    assert result.total <= 2


@pytest.mark.parametrize("name", ["bob", "mallory", "quarantined", "trash"])
def test_what_is_out_of_scope_reads_like_what_never_was(cast: Cast, name: str) -> None:
    message = cast.messages[name]
    for asked in (message.public_id, "msg_0000000000000000000000", "", "a\0b", "x" * 5000):
        assert run(reading.message, cast.ann, asked) is None
        assert run(reading.raw, cast.ann, asked) is None
        assert run(related.find_related, cast.ann, asked) is None
    found = find(cast.ann, f"id:{message.public_id}")
    never = find(cast.ann, "id:msg_0000000000000000000000")
    assert replace(found, text="", parsed={}, applied={}, refused=(), why_empty="", took_ms=0) == replace(
        never, text="", parsed={}, applied={}, refused=(), why_empty="", took_ms=0
    )
    assert found.why_empty == f"Nothing in scope goes by id:{message.public_id}."


def test_attachments_are_read_by_whom_their_message_is_read(cast: Cast) -> None:
    text = run(reading.message, cast.bob, cast.messages["bob"].public_id)
    assert text is not None
    (info,) = text.head.attachments
    found = run(reading.attachment, cast.bob, info.attachment_id)
    assert found is not None
    assert (found[0].message_id, found[1].text) == (text.head.message_id, "harbour plan")
    assert run(reading.attachment, cast.ann, info.attachment_id) is None


def test_a_thread_shows_each_reader_their_own_part_of_it(cast: Cast) -> None:
    thread = cast.messages["sales"].thread.public_id
    ann, bob = run(reading.thread, cast.ann, thread), run(reading.thread, cast.bob, thread)
    assert ann is not None
    assert bob is not None
    assert [one.head.subject for one in ann] == ["Harbour"]
    assert [one.head.subject for one in bob] == ["Re: Harbour"]
    assert run(reading.thread, cast.carol, thread) is None


def test_merged_threads_are_one_under_either_id(cast: Cast) -> None:
    other = cast.messages["ann"].thread
    with bound(cast.office.binding()):
        other.merged_into = cast.messages["sales"].thread
        other.save()
    first = run(reading.thread, cast.ann, cast.messages["sales"].thread.public_id)
    assert first is not None
    assert [one.head.subject for one in first] == ["Harbour", "Tyres"]
    assert run(reading.thread, cast.ann, other.public_id) == first
    assert {one.head.thread_id for one in first} == {cast.messages["sales"].thread.public_id}


@pytest.mark.parametrize("value", ["bob", "bob@shop.example", "Trash", "nowhere", "sales/Trash"])
def test_mailboxes_and_folders_out_of_scope_are_refused_like_unknown_ones(cast: Cast, value: str) -> None:
    for result in (
        find(cast.ann, f"in:{value} harbour"),
        find(cast.ann, "harbour", filters=Filters(folders=(value,))),
    ):
        assert result.hits == ()
        assert result.refused == (f"in:{value}",)
        assert result.why_empty == f"Nothing in scope goes by in:{value}."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in:sales harbour", {"Harbour"}),
        ("in:INBOX harbour", {"Harbour"}),
        ("in:sales/inbox harbour", {"Harbour"}),
        ("in:ann harbour", set()),
        ("from:abel", {"Harbour", "Tyres"}),
        ("from:boss", set()),
        ("to:sales@", {"Harbour"}),
        ("subject:tyre", {"Tyres"}),
        ("filename:harbour", set()),
    ],
)
def test_filters_narrow(cast: Cast, text: str, expected: set[str]) -> None:
    assert subjects(find(cast.ann, text)) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-from:boss", {"harbour"}),
        ("-from:mallory", {"Re: Harbour"}),
        ("-from:boss -from:mallory", set()),
        ("-subject:re", {"harbour"}),
        ("-filename:harbour.t", {"harbour"}),
        ("-filename:plan", {"harbour", "Re: Harbour"}),
        ("-has:attachment", {"harbour"}),
        ("-to:sales@", set()),
        ("-to:carol", {"harbour", "Re: Harbour"}),
        ("-in:INBOX", set()),
        ("-in:bob", set()),
        # What is not in scope, and what is nowhere, takes nothing out.
        ("-in:ann", {"harbour", "Re: Harbour"}),
        ("-in:nowhere", {"harbour", "Re: Harbour"}),
        ("-larger:10", set()),
        ("-larger:1M", {"harbour", "Re: Harbour"}),
    ],
)
def test_a_negated_filter_leaves_out_what_the_filter_would_leave(
    cast: Cast, mode: Mode, text: str, expected: set[str]
) -> None:
    assert subjects(find(cast.bob, f"harbour {text}", mode)) == expected
    assert subjects(find(cast.bob, text, mode)) == expected


def test_a_message_or_thread_can_be_left_out_by_its_id(cast: Cast) -> None:
    boss, mallory = cast.messages["bob"], cast.messages["mallory"]
    assert subjects(find(cast.bob, f"harbour -id:{boss.public_id}")) == {"harbour"}
    assert subjects(find(cast.bob, f"harbour -thread:{boss.thread.public_id}")) == {"harbour"}
    assert subjects(find(cast.bob, f"harbour -id:{cast.messages['sales'].public_id}")) == {"harbour", "Re: Harbour"}
    assert subjects(find(cast.bob, f"harbour -id:{boss.public_id} -id:{mallory.public_id}")) == set()


def test_filters_of_the_request_and_of_the_query_hold_together(cast: Cast) -> None:
    assert subjects(find(cast.ann, "in:sales", filters=Filters(subjects=("harb",)))) == {"Harbour"}
    assert find(cast.ann, "in:sales", filters=Filters(mailboxes=("ann",))).hits == ()


def test_mail_deleted_at_its_source_is_in_no_scope(cast: Cast) -> None:
    message = cast.messages["sales"]
    with bound(cast.office.binding()):
        Message.objects.filter(pk=message.pk).update(deleted_at_source=START)
    assert all("Harbour" not in subjects(find(cast.ann, "harbour", mode)) for mode in MODES)
    assert run(reading.message, cast.ann, message.public_id) is None


def test_a_window_of_arrival_hides_what_came_outside_of_it(cast: Cast) -> None:
    arrived = cast.messages["sales"].received_at
    early = cast.office.scope("sales", received_until=arrived)
    late = cast.office.scope("sales", received_from=arrived, received_until=arrived + timedelta(seconds=1))
    assert all(find(early, "harbour", mode).total == 0 for mode in MODES)
    assert all(subjects(find(late, "harbour", mode)) == {"Harbour"} for mode in MODES)


def test_contacts_are_counted_over_the_scope(cast: Cast) -> None:
    (ann,) = run(contacts.search, cast.ann, "abel")
    assert (ann.address, ann.messages, ann.name_conflict) == ("ann@abel.example", 2, False)
    assert run(contacts.search, cast.ann, "boss") == ()
    assert run(contacts.search, cast.carol, "") == ()


def test_a_known_name_from_another_address_is_a_conflict_only_where_it_is_known(cast: Cast) -> None:
    mallory = cast.messages["mallory"]
    alone = run(reading.message, cast.bob, mallory.public_id)
    both = run(reading.message, cast.office.scope("ann", "bob"), mallory.public_id)
    assert alone is not None
    assert both is not None
    assert not alone.head.sender.name_conflict
    assert both.head.sender.name_conflict


def test_coverage_counts_the_scope(cast: Cast) -> None:
    assert run(coverage.of, cast.ann).messages_in_scope == 2
    assert run(coverage.of, cast.carol).messages_in_scope == 0


def test_related_mail_is_mail_in_scope(cast: Cast) -> None:
    hits = run(related.find_related, cast.ann, cast.messages["sales"].public_id)
    assert hits is not None
    assert {hit.head.subject for hit in hits} == {"Tyres"}
    both = run(related.find_related, cast.office.scope("sales", "bob"), cast.messages["sales"].public_id)
    assert both is not None
    assert [hit.head.subject for hit in both if "thread" in hit.found_by] == ["Re: Harbour"]


def test_who_reads_all_mailboxes_is_told_of_a_name_what_who_reads_some_is_told() -> None:
    office = Office()
    office.post("support", Letter("First.", sender="Bo Bell <bo@bell.example>"))
    office.post("support", Letter("Junk.", sender="Cy Cole <cy@cole.example>", folder="Junk"))
    (bo,) = office.post("sales", Letter("The harbour.", sender="bo bell <bo@other.example>"))
    (cy,) = office.post("sales", Letter("The zeppelin.", sender="Cy Cole <cy@other.example>"))
    some, every = office.scope("sales"), office.scope("sales", "support")
    with_junk = office.scope("sales", "support", include_junk=True)
    conflicts = {
        (message.public_id, scope): found.head.sender.name_conflict
        for message in (bo, cy)
        for scope in (some, every, with_junk)
        if (found := run(reading.message, scope, message.public_id)) is not None
    }
    assert len(conflicts) == 6
    assert {key for key, conflict in conflicts.items() if conflict} == {
        (bo.public_id, every),
        (bo.public_id, with_junk),
        (cy.public_id, with_junk),
    }
