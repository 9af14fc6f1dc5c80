"""Several rankings made one: weighted reciprocal rank fusion.

G. V. Cormack, C. L. A. Clarke, S. Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods (SIGIR 2009), with a weight for each ranking.
"""

from collections.abc import Sequence
from dataclasses import dataclass

RRF_K = 60


@dataclass(frozen=True, slots=True)
class Ranking:
    """Message ids, best first, as one way of searching found them. A weight of 0 counts for nothing."""

    name: str
    message_ids: Sequence[int]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Fused:
    """A message with its fused score and the names of the rankings that hold it."""

    message_id: int
    score: float
    found_by: tuple[str, ...]


def fuse(rankings: Sequence[Ranking], *, rrf_k: int = RRF_K) -> list[Fused]:
    """The messages of all *rankings*, best first: score = Σ weight / (rrf_k + rank).

    Ties keep the order in which messages first appear, the ranking with the greatest weight first.
    """
    scores: dict[int, float] = {}
    found_by: dict[int, list[str]] = {}
    for ranking in sorted(rankings, key=lambda one: -one.weight):
        for rank, message_id in enumerate(ranking.message_ids, 1):
            scores[message_id] = scores.get(message_id, 0.0) + ranking.weight / (rrf_k + rank)
            found_by.setdefault(message_id, []).append(ranking.name)
    order = sorted(scores, key=lambda message_id: -scores[message_id])
    return [Fused(one, scores[one], tuple(sorted(found_by[one]))) for one in order]
