"""Which messages belong together, whatever order they arrive in."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mailsearch.ingest.threads import (
    Known,
    Letter,
    Link,
    dissolving,
    follows,
    group,
    is_lone_reply,
    link,
    subject_key,
    subject_without_prefixes,
)


class Store:
    """Keeps threads as the store does, without a database."""

    def __init__(self) -> None:
        self.messages: list[tuple[int, Link]] = []
        self.known: dict[str, Known] = {}
        self.next_thread = 1

    def add(self, batch: Sequence[Link]) -> None:
        mentioned = {name for one in batch for name in (one.own, *one.chain)}
        known = {name: self.known[name] for name in mentioned if name in self.known}
        loose = dissolving(known, batch)
        stored = [(thread, one) for thread, one in self.messages if thread in loose]
        mentioned |= {name for _, one in stored for name in (one.own, *one.chain)}
        known = {name: self.known[name] for name in mentioned if name in self.known}
        moves: dict[int, int] = {}
        grouping = group(batch, known, stored=stored)
        for name in grouping.forgotten:
            del self.known[name]
        for found in grouping.groups:
            thread = found.thread
            if thread is None:
                thread, self.next_thread = self.next_thread, self.next_thread + 1
            for name in found.ids:
                self.known[name] = Known(thread, name in self.known and self.known[name].arrived)
            moves |= {id(stored[place][1]): thread for place in found.stored}
            self.messages += [(thread, batch[place]) for place in found.arriving]
            absorbed = set(found.absorbed)
            self.messages = [
                (thread if at in absorbed and id(one) not in moves else at, one) for at, one in self.messages
            ]
            self.known = {
                name: Known(thread if at.thread in absorbed and name not in mentioned else at.thread, at.arrived)
                for name, at in self.known.items()
            }
        self.messages = [(moves.get(id(one), at), one) for at, one in self.messages]
        for one in batch:
            self.known[one.own] = Known(self.known[one.own].thread, True)

    def threads(self) -> set[frozenset[str]]:
        found: dict[int, set[str]] = {}
        for thread, one in self.messages:
            found.setdefault(thread, set()).add(one.own)
        return {frozenset(names) for names in found.values()}


def threads_of(*batches: Iterable[Link]) -> set[frozenset[str]]:
    store = Store()
    for batch in batches:
        store.add(list(batch))
    return store.threads()


def one_by_one(*links: Link) -> set[frozenset[str]]:
    return threads_of(*([one] for one in links))


def sets(*names: str) -> set[frozenset[str]]:
    return {frozenset(one.split()) for one in names}


A, B, C = Link("a"), Link("b", ("a",)), Link("c", ("a", "b"))


@pytest.mark.parametrize("order", [(A, B, C), (C, B, A), (B, C, A), (C, A, B)])
def test_replies_join_their_thread_in_any_order(order: tuple[Link, ...]) -> None:
    assert one_by_one(*order) == sets("a b c")


def test_messages_hang_together_by_one_that_never_arrived() -> None:
    assert one_by_one(Link("b", ("gone",)), Link("c", ("gone",))) == sets("b c")


def test_two_threads_that_turn_out_to_be_one_are_merged() -> None:
    assert one_by_one(Link("d", ("b", "c")), A, B) == sets("a b d")


def test_a_mail_that_names_two_threads_joins_only_the_one_that_it_answers() -> None:
    assert one_by_one(A, Link("x"), Link("y", ("a", "x"))) == sets("a", "x y")


def test_hearsay_ends_when_the_message_speaks_for_itself() -> None:
    # y claims that x answers a; x arrives later and does not.
    assert one_by_one(A, Link("y", ("a", "x")), Link("x")) == sets("a", "x y")


def test_an_id_that_a_denied_claim_brought_in_ties_nothing_together() -> None:
    # a claims that b answers c; b does not, so what answers c has nothing to do with a.
    assert one_by_one(Link("a", ("c", "b")), Link("b"), Link("e", ("c",))) == sets("a b", "e")
    assert one_by_one(Link("e", ("c",)), Link("a", ("c", "b")), Link("b")) == sets("a b", "e")


def test_claims_before_one_that_speaks_for_itself_count_no_more() -> None:
    orders = permutations([Link("x", ("p", "q", "r")), Link("r"), Link("y", ("q",)), Link("z", ("p",))])
    assert all(one_by_one(*order) == sets("x r", "y", "z") for order in orders)


def test_a_squatted_id_moves_nobodys_thread() -> None:
    assert one_by_one(A, B, Link("x"), Link("a", ("x",))) == {frozenset({"a", "b"}), frozenset({"x", "a"})}


def test_a_copy_joins_the_thread_of_its_original() -> None:
    store = Store()
    for one in (A, B, Link("b", ("a",)), Link("a")):
        store.add([one])
    assert len({thread for thread, _ in store.messages}) == 1


def test_loops_end() -> None:
    assert one_by_one(Link("a", ("b",)), Link("b", ("a",)), Link("c", ("c", "a", "b"))) == sets("a b c")


names = st.sampled_from("abcdefgh")
links = st.lists(
    st.builds(lambda own, chain: link(own, chain, (), ""), names, st.lists(names, max_size=4)),
    unique_by=lambda one: one.own,
    max_size=8,
)


@settings(max_examples=250, deadline=None)
@given(links, st.randoms(use_true_random=False), st.integers(1, 8))
def test_the_order_of_arrival_changes_nothing(mail: list[Link], random: object, size: int) -> None:
    shuffled = list(mail)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    batches = [shuffled[start : start + size] for start in range(0, len(shuffled), size)]
    assert threads_of(*batches) == threads_of(mail)


def test_without_references_the_first_in_reply_to_counts() -> None:
    assert link("a", (), ("b", "c"), "").chain == ("b",)
    assert link("a", ("x", "a", "y"), ("b",), "").chain == ("x", "y")
    assert link("", (), (), "hash").own == "hash"


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("Re: Fwd: Invoice", ("invoice", True)),
        ("AW: Antw: Rechnung", ("rechnung", True)),
        ("Re[2]: [list] Re: Hello  World", ("hello world", True)),
        ("[list] Hello", ("hello", False)),
        ("Reply needed", ("reply needed", False)),
        ("回复：你好", ("你好", True)),
    ],
)
def test_prefixes_of_many_languages_are_told_from_the_subject(subject: str, expected: tuple[str, bool]) -> None:
    assert subject_without_prefixes(subject) == expected


def test_a_subject_that_says_too_little_has_no_key() -> None:
    assert subject_key("Re: ?!") is None
    assert subject_key("Re: Offer") == subject_key("offer")


NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def letter(subject: str, *people: str, days: float = 0, alone: bool = True) -> Letter:
    return Letter(subject, frozenset(people), NOON + timedelta(days=days), alone)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (letter("Offer", "ann", "bob", days=-20), True),
        (letter("AW: offer", "ann", "bob", "eve", days=-1, alone=False), True),
        (letter("Offer", "ann", "bob"), True),
        (letter("Fwd: Offer", "ann", "bob"), False),
        (letter("Offer", "eve", "bob", days=-1), False),
        (letter("Offer", days=-1), False),
        (letter("Offer", "ann", "bob", days=-31), False),
        (letter("Offer 2", "ann", "bob", days=-1), False),
        (letter("Offer", "ann", "bob", days=1), False),
    ],
)
def test_a_reply_without_references_follows_an_earlier_message_between_the_same_people(
    other: Letter, expected: bool
) -> None:
    assert follows(letter("Re: Offer", "bob", "ann"), other) is expected


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (letter("Re: Offer", "ann"), True),
        (letter("WG: Offer", "ann"), True),
        (letter("Offer", "ann"), False),
        (letter("Re: Offer", "ann", alone=False), False),
    ],
)
def test_only_a_reply_that_names_nothing_is_placed_by_its_subject(one: Letter, expected: bool) -> None:
    assert is_lone_reply(one) is expected
