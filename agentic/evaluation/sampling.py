"""Samples that hold of each kind its share."""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

Row = TypeVar("Row")


def sample(
    rows: Sequence[Row], kind: Callable[[Row], str], name: Callable[[Row], str], limit: int | None, seed: int
) -> list[Row]:
    """*limit* of *rows* in their order, from each kind as near to its share as can be, the same for the same *seed*.

    *name* tells rows apart.
    """
    if limit is None or limit >= len(rows):
        return list(rows)
    by_kind: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[kind(row)].append(row)
    draw = random.Random(seed)  # noqa: S311 - a sample, no secret
    ranked: list[tuple[float, str]] = []
    for members in by_kind.values():
        draw.shuffle(members)
        # The n-th of a kind comes when n of its members are due.
        ranked += [((place + 0.5) / len(members), name(row)) for place, row in enumerate(members)]
    chosen = {one for _, one in sorted(ranked)[:limit]}
    return [row for row in rows if name(row) in chosen]
