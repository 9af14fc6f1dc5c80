"""From a ranking to what a caller sees of it: copies folded into one hit, and no sender or thread in every place."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

# Hits of one thread, and of one sender whom nothing vouches for, in a result that is spread.
MOST_ALIKE = 3


class Candidate(NamedTuple):
    """What folding needs to know of a message."""

    message_id: int
    words_sha256: bytes
    thread_id: int
    received_at: datetime
    authenticated: bool
    # None where it was not asked for.
    sender: str | None


class Folded(NamedTuple):
    """A hit: the message where the words were written first, the best ranked of its copies, and how many there are."""

    message_id: int
    best: int
    copies: int


def folded(ranking: Iterable[int], candidates: Mapping[int, Candidate]) -> list[Folded]:
    """The messages of *ranking* in its order, each group of copies once, at the place of its best."""
    groups: dict[object, tuple[Candidate, int, int]] = {}
    for message_id in ranking:
        candidate = candidates.get(message_id)
        if candidate is None:
            continue
        # Messages without words have nothing in common.
        key = candidate.words_sha256 or message_id
        first, best, copies = groups.get(key) or (candidate, message_id, 0)
        if copies and _written(candidate) < _written(first):
            first = candidate
        groups[key] = first, best, copies + 1
    return [Folded(first.message_id, best, copies) for first, best, copies in groups.values()]


def _written(candidate: Candidate) -> tuple[datetime, int]:
    """What decides which of several copies was written first."""
    return candidate.received_at, candidate.message_id


def spread(
    hits: Iterable[Folded], candidates: Mapping[int, Candidate], *, by_thread: bool, by_sender: bool
) -> list[Folded]:
    """*hits* without those that would be the fourth of a thread, or of a sender without passed authentication.

    *candidates* holds their messages by id; a hit that is not among them is none.
    """
    threads: Counter[int] = Counter()
    senders: Counter[str | None] = Counter()
    kept = []
    for hit in hits:
        candidate = candidates.get(hit.message_id)
        if candidate is None:
            continue
        counted = by_sender and not candidate.authenticated
        if by_thread and threads[candidate.thread_id] >= MOST_ALIKE:
            continue
        if counted and senders[candidate.sender] >= MOST_ALIKE:
            continue
        threads[candidate.thread_id] += 1
        senders[candidate.sender] += counted
        kept.append(hit)
    return kept
