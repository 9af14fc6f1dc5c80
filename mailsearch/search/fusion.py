"""Several rankings made one: weighted reciprocal rank fusion.

G. V. Cormack, C. L. A. Clarke, S. Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods (SIGIR 2009). Beside a weight for each ranking, a place in it weighs by how well that message fits: the first of
a ranking in which nothing fits is no find. That is what keeps the fusion of two rankings as good as the better one,
where equal weights pull it to the middle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

RRF_K = 60


@dataclass(frozen=True, slots=True)
class Ranking:
    """Message ids, best first, as one way of searching found them. A weight of 0 counts for nothing."""

    name: str
    message_ids: Sequence[int]
    weight: float = 1.0
    # How well each message fits, 0 to 1, in the same order; without it all fit alike.
    fits: Sequence[float] | None = None

    def first(self, count: int) -> "Ranking":
        """Its best *count*."""
        return replace(self, message_ids=self.message_ids[:count], fits=self.fits[:count] if self.fits else self.fits)


class Fused(NamedTuple):
    """A message with its fused score and the names of the rankings that hold it."""

    message_id: int
    score: float
    found_by: tuple[str, ...]


def fuse(rankings: Sequence[Ranking], *, rrf_k: int = RRF_K) -> list[Fused]:
    """The messages of all *rankings*, best first: score = Σ weight · fit / (rrf_k + rank).

    Ties keep the order in which messages first appear, the ranking with the greatest weight first.
    """
    scores: dict[int, float] = {}
    found_by: dict[int, tuple[str, ...]] = {}
    for ranking in sorted(rankings, key=lambda one: -one.weight):
        alone, weight = (ranking.name,), ranking.weight
        fits = ranking.fits if ranking.fits is not None else [1.0] * len(ranking.message_ids)
        for place, (message_id, fit) in enumerate(zip(ranking.message_ids, fits, strict=True), rrf_k + 1):
            before = scores.get(message_id)
            if before is None:
                scores[message_id], found_by[message_id] = weight * fit / place, alone
            else:
                scores[message_id] = before + weight * fit / place
                found_by[message_id] = tuple(sorted((*found_by[message_id], ranking.name)))
    order = sorted(scores, key=scores.__getitem__, reverse=True)
    return [Fused(one, scores[one], found_by[one]) for one in order]


def fuse_in_steps(rankings: Sequence[Ranking], steps: Sequence[Mapping[str, int]]) -> list[Fused]:
    """Like `fuse`, but what is among the first of any ranking comes before all else: step by step, as many of each
    ranking as a step says by its name.

    So the beginning is the same however deep the rankings go, and pages of it fit together.
    """
    fused: dict[int, Fused] = {}
    for step in steps:
        fused = _on_top(fused, fuse([one.first(step[one.name]) for one in rankings]))
        if all(len(one.message_ids) <= step[one.name] for one in rankings):
            # There is nothing beyond it.
            return list(fused.values())
    return list(_on_top(fused, fuse(rankings)).values())


def _on_top(before: Mapping[int, Fused], found: Sequence[Fused]) -> dict[int, Fused]:
    """What was *found* after what was found *before*, in their order."""
    return {**before, **{one.message_id: one for one in found if one.message_id not in before}}
