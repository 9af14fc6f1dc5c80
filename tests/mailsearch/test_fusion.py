"""Rankings are fused by rank alone, and copies, threads and strangers do not fill the result."""

from datetime import UTC, datetime, timedelta

from mailsearch.search.folding import Candidate, folded, spread
from mailsearch.search.fusion import Ranking, fuse, fuse_in_steps

START = datetime(2026, 1, 1, tzinfo=UTC)


def candidate(
    number: int, *, words: bytes = b"", thread: int = 0, sender: str = "", vouched: bool = False
) -> Candidate:
    return Candidate(number, words, thread or number, START + timedelta(hours=number), vouched, sender)


def test_what_both_rankings_hold_goes_first() -> None:
    fused = fuse([Ranking("keyword", [1, 2, 3]), Ranking("semantic", [4, 3, 5])])
    assert fused[0].message_id == 3
    assert fused[0].found_by == ("keyword", "semantic")


def test_a_light_ranking_does_not_outvote_a_heavy_one() -> None:
    fused = fuse([Ranking("keyword", [1, 2], 0.1), Ranking("semantic", [3, 4], 1.0)])
    assert [one.message_id for one in fused] == [3, 4, 1, 2]


def test_no_message_is_lost() -> None:
    assert {one.message_id for one in fuse([Ranking("a", [1, 2], 0.0), Ranking("b", [3])])} == {1, 2, 3}
    assert fuse([]) == []


def test_the_beginning_of_a_fusion_is_the_same_however_deep_its_rankings_go() -> None:
    keyword = Ranking("keyword", range(100), 0.7, [1.0] * 100)
    semantic = Ranking("semantic", range(150, 50, -1), 0.3, [0.5] * 100)
    steps = [{"keyword": 20, "semantic": 10}, {"keyword": 40, "semantic": 10}]
    shallow = fuse_in_steps([keyword.first(20), semantic.first(10)], steps)
    deeper = fuse_in_steps([keyword.first(40), semantic.first(10)], steps)
    deep = fuse_in_steps([keyword, semantic], steps)
    assert deeper[: len(shallow)] == shallow
    assert deep[: len(deeper)] == deeper
    assert [one.message_id for one in fuse([keyword, semantic])][: len(shallow)] != [one.message_id for one in shallow]
    assert sorted(one.message_id for one in deep) == list(range(151))


def test_copies_fold_onto_the_message_that_came_first() -> None:
    known = {one.message_id: one for one in (candidate(1, words=b"w"), candidate(2), candidate(3, words=b"w"))}
    hits = folded([3, 2, 1], known)
    assert [(hit.message_id, hit.best, hit.copies) for hit in hits] == [(1, 3, 2), (2, 2, 1)]


def test_messages_without_words_are_not_copies_of_each_other() -> None:
    known = {one: candidate(one) for one in (1, 2)}
    assert [hit.copies for hit in folded([1, 2], known)] == [1, 1]


def test_a_stranger_takes_three_places_and_a_vouched_sender_as_many_as_there_are() -> None:
    strangers = [candidate(n, sender="mallory@evil.example") for n in range(1, 9)]
    friends = [candidate(n, sender="ann@abel.example", vouched=True) for n in range(11, 16)]
    known = {one.message_id: one for one in (*strangers, *friends)}
    hits = spread(folded(list(known), known), known, by_thread=True, by_sender=True)
    assert [hit.message_id for hit in hits] == [1, 2, 3, 11, 12, 13, 14, 15]


def test_a_thread_takes_three_places_unless_it_was_asked_for() -> None:
    known = {n: candidate(n, thread=7, sender=f"{n}@abel.example") for n in range(1, 6)}
    assert len(spread(folded(list(known), known), known, by_thread=True, by_sender=True)) == 3
    assert len(spread(folded(list(known), known), known, by_thread=False, by_sender=True)) == 5
