"""How often the verifier was wrong, estimated from verdicts on random samples, with intervals."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agentic.models import Note, SampledNote
from mailsearch.sessions import Binding, bound

# Verdicts that are looked at, the newest; people make them, so there are never very many.
MOST = 20_000
_Z = 1.959964
MONTHS = 12


@dataclass(frozen=True, slots=True)
class Judged:
    """What a reader of samples said of one sentence, the last time that it was drawn."""

    kept: bool
    rightly: bool
    reason: str
    model: str
    version: str
    month: str


@dataclass(frozen=True, slots=True)
class Rate:
    """*hits* of *n* with the 95 % interval of Wilson (1927), in per cent."""

    name: str
    hits: int
    n: int

    @property
    def share(self) -> float:
        return 100 * self.hits / self.n if self.n else 0.0

    @property
    def low(self) -> float:
        return wilson(self.hits, self.n)[0]

    @property
    def high(self) -> float:
        return wilson(self.hits, self.n)[1]


@dataclass(frozen=True, slots=True)
class Point:
    """A rate on the chart: places in units of its drawing."""

    rate: Rate
    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Chart:
    """One reason (or all) over time."""

    name: str
    points: tuple[Point, ...]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Rates:
    """All that the samples tell."""

    wrongly_removed: Rate
    supported: Rate
    by_reason: tuple[Rate, ...]
    by_model: tuple[Rate, ...]
    by_version: tuple[Rate, ...]
    by_month: tuple[Rate, ...]
    charts: tuple[Chart, ...]
    twice: int
    agreed: int


@dataclass(frozen=True, slots=True)
class Judging:
    """How far people have come: sentences that somebody judged, and what random samples say of the removed ones."""

    reviewed: int
    wrongly_removed: Rate
    # Whether there are more verdicts than were looked at.
    more: bool = False

    @property
    def reviewed_words(self) -> str:
        return f"{'more than ' if self.more else ''}{self.reviewed:,}"


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The interval, in per cent, that holds the true share in 95 of 100 such samples."""
    if not n:
        return 0.0, 100.0
    share = hits / n
    middle = share + _Z * _Z / (2 * n)
    spread = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    whole = 1 + _Z * _Z / n
    return max(0.0, 100 * (middle - spread) / whole), min(100.0, 100 * (middle + spread) / whole)


def load(audits: frozenset[int]) -> Rates:
    """The rates over the tenants *audits*."""
    with bound(Binding(audit=audits)):
        sampled = SampledNote.objects.filter(tenant__in=audits, note__verdict__in=("rightly", "wrongly"))
        rows = list(
            sampled.order_by("-note_id").values_list(
                "note__sentence_id", "note__author_id", "note__verdict", "note__sentence__kept",
                "note__sentence__reason", "note__sentence__run__model", "note__sentence__run__verifier_version",
                "note__sentence__at",
            )[:MOST]
        )  # fmt: skip
    newest: dict[int, Judged] = {}
    readers: dict[int, dict[int, str]] = defaultdict(dict)
    for sentence, author, verdict, kept, reason, model, version, at in rows:
        judged = Judged(kept, verdict == "rightly", reason, model, version, f"{at:%Y-%m}")
        newest.setdefault(sentence, judged)
        readers[sentence].setdefault(author, verdict)
    pairs = [list(said.values()) for said in readers.values() if len(said) > 1]
    return _rates(list(newest.values()), len(pairs), sum(len(set(said)) == 1 for said in pairs))


def judging(tenants: frozenset[int]) -> Judging:
    """How far the sentences of *tenants* are judged, within a binding that sees their audit. One query."""
    notes = Note.objects.filter(tenant__in=tenants, sentence__isnull=False).order_by("-pk")
    rows = list(notes.values_list("sentence_id", "verdict", "sentence__kept", "sampled__tenant_id")[: MOST + 1])
    newest: dict[int, str] = {}
    for sentence, verdict, kept, sampled in rows:
        if sampled is not None and not kept and verdict in ("rightly", "wrongly"):
            newest.setdefault(sentence, verdict)
    wrong = Rate("all", sum(verdict == "wrongly" for verdict in newest.values()), len(newest))
    return Judging(len({sentence for sentence, *_ in rows}), wrong, len(rows) > MOST)


def _rates(judged: Sequence[Judged], twice: int, agreed: int) -> Rates:
    removed = [one for one in judged if not one.kept]
    kept = [one for one in judged if one.kept]
    reasons = _by(removed, lambda one: one.reason)
    charts = [_chart("all reasons", removed), *(_chart(rate.name, _of(removed, rate.name)) for rate in reasons[:7])]
    return Rates(
        wrongly_removed=_wrong("all", removed),
        supported=Rate("all", sum(one.rightly for one in kept), len(kept)),
        by_reason=reasons,
        by_model=_by(removed, lambda one: one.model),
        by_version=_by(removed, lambda one: one.version),
        by_month=tuple(sorted(_by(removed, lambda one: one.month), key=lambda rate: rate.name)),
        charts=tuple(chart for chart in charts if chart.points),
        twice=twice,
        agreed=agreed,
    )


def _of(judged: Iterable[Judged], reason: str) -> list[Judged]:
    return [one for one in judged if one.reason == reason]


def _wrong(name: str, judged: Sequence[Judged]) -> Rate:
    return Rate(name, sum(not one.rightly for one in judged), len(judged))


def _by(judged: Sequence[Judged], key: Callable[[Judged], str]) -> tuple[Rate, ...]:
    """Wrong removals by whatever *key* tells, those with most verdicts first."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        groups[key(one)].append(one)
    made = (_wrong(name, group) for name, group in groups.items())
    return tuple(sorted(made, key=lambda rate: (-rate.n, rate.name)))


def _chart(name: str, judged: Sequence[Judged]) -> Chart:
    """Months from left to right, 0 % at the bottom, 100 % at the top."""
    months = sorted(_by(judged, lambda one: one.month), key=lambda rate: rate.name)[-MONTHS:]
    width, height, left, top, tall = 220, 120, 32, 8, 88

    def place(percent: float) -> float:
        return top + tall * (1 - percent / 100)

    step = (width - left - 16) / max(1, len(months) - 1)
    points = tuple(
        Point(rate, left + 8 + number * step, place(rate.share), place(rate.low), place(rate.high))
        for number, rate in enumerate(months)
    )
    return Chart(name, points, width, height)
