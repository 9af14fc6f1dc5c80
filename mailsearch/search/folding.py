"""From a ranking to what a caller sees of it: copies folded into one hit, and no sender or thread in every place."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

# Hits of one thread, and of one sender whom nothing vouches for, in a result that is spread.
MOST_ALIKE = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """What folding needs to know of a message."""

    message_id: int
    words_sha256: bytes
    thread_id: int
    received_at: datetime
    # None where it was not asked for.
    sender: str | None
    authenticated: bool


@dataclass(frozen=True, slots=True)
class Folded:
    """A hit: the message where the words were written first, the best ranked of its copies, and how many there are."""

    message_id: int
    best: int
    copies: int


def folded(ranking: Iterable[int], candidates: Mapping[int, Candidate]) -> list[Folded]:
    """The messages of *ranking* in its order, each group of copies once, at the place of its best."""
    groups: dict[object, list[Candidate]] = {}
    for message_id in ranking:
        candidate = candidates.get(message_id)
        if candidate is not None:
            # Messages without words have nothing in common.
            key = candidate.words_sha256 or message_id
            groups.setdefault(key, []).append(candidate)
    return [
        Folded(min((one.received_at, one.message_id) for one in group)[1], group[0].message_id, len(group))
        for group in groups.values()
    ]


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
