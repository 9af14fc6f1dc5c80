"""What the answers to all questions add up to: verdicts, shares with intervals, times, and the baselines beside."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import quantiles

from agentic.evaluation.intervals import clustered
from agentic.evaluation.plots import Plot, Share, Shares, Spread, Stacks
from agentic.evaluation.questions.asking import Asked
from agentic.evaluation.questions.baselines import Compared
from agentic.evaluation.questions.cases import Verdict, judge
from agentic.evaluation.questions.twins import Twins
from agentic.evaluation.report import Gate, Report

_WRONG_AT_MOST = 0.05
_RIGHT_AT_LEAST = 0.5
_VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "refused")


def report(
    file: Path, model: str, results: Sequence[Asked], compared: Sequence[Compared | None], twins: Twins,
    threads: Mapping[str, str], seed: int, not_asked: int,
) -> Report:  # fmt: skip
    """The report on *results*. *threads* names each case's thread, by which the bootstrap with *seed* draws.

    *not_asked* are the questions and twins to which the model said nothing at all.
    """
    verdicts = [judge(result.case, result.answered, result.cited) for result in results]
    answerable = _count(verdicts, results, answerable=True)
    unanswerable = _count(verdicts, results, answerable=False)
    cited = [one for result in results for one in result.cited]
    structural = sum(one.stands for one in cited) / len(cited) if cited else 1.0
    good = [
        result.case.case_id
        for result, verdict in zip(results, verdicts, strict=True)
        if verdict == ("right" if result.case.answerable else "refused")
    ]
    shares = _shares(results, verdicts, threads, seed)
    figures = {
        "model": model,
        "answerable": dict(answerable),
        "unanswerable": dict(unanswerable),
        "wrong": [result.case.case_id for result, verdict in zip(results, verdicts, strict=True) if verdict == "wrong"],
        "leaked": list(twins.leaked),
        "twins": twins.figures(),
        "twins_answered": [*twins.scope_answered, *twins.deletion_answered],
        "citations": len(cited),
        "structural_interval": Share.exactly("", sum(one.stands for one in cited), len(cited)).as_json(),
        "shares": {share.name: share.as_json() for share in shares},
        "removed": dict(Counter(reason for result in results for reason in result.removed)),
        **_times(results),
        "baselines": _baselines(results, compared),
    }
    differ = tuple(result.case.case_id for result in results if result.case.case_id not in set(good))
    return Report(
        "questions",
        str(file),
        len(results),
        len(good),
        differ,
        {**_gates(results, answerable, unanswerable, structural, twins), "not_asked": Gate(not_asked, 0)},
        figures,
        tuple(_lines(results, verdicts, figures)),
        _plots(results, verdicts, shares),
    )


def _gates(
    results: Sequence[Asked], answerable: Counter[str], unanswerable: Counter[str], structural: float, twins: Twins
) -> dict[str, Gate]:
    asked = sum(answerable.values())
    forbidden = sum(any(never.search(result.text) for never in result.case.never) for result in results)
    return {
        "unanswerable_answered": Gate(unanswerable["wrong"], 0),
        "wrong_share": Gate(round(answerable["wrong"] / asked, 4) if asked else 0.0, _WRONG_AT_MOST),
        "right_share": Gate(round(answerable["right"] / asked, 4) if asked else 1.0, _RIGHT_AT_LEAST, "min"),
        "structural_precision": Gate(structural, 1.0, "min"),
        **({"leaks": Gate(len(twins.leaked), 0)} if twins.asked else {}),
        "must_not_match": Gate(forbidden, 0),
    }


def _shares(
    results: Sequence[Asked], verdicts: Sequence[Verdict], threads: Mapping[str, str], seed: int
) -> tuple[Share, ...]:
    """Right and wrong of the answerable drawn by threads, wrong of the unanswerable exactly."""
    found = []
    for wanted in ("right", "wrong"):
        groups: defaultdict[str, list[bool]] = defaultdict(list)
        for result, verdict in zip(results, verdicts, strict=True):
            if result.case.answerable:
                groups[threads.get(result.case.case_id, result.case.case_id)].append(verdict == wanted)
        values = [value for group in groups.values() for value in group]
        if 0 < sum(values) < len(values):
            low, high = clustered(groups, seed=seed)
            found.append(Share(f"answerable, {wanted}", sum(values), len(values), low, high, "bootstrap by thread"))
        else:  # all alike, drawing anew would show no spread at all
            found.append(Share.exactly(f"answerable, {wanted}", sum(values), len(values)))
    none = _count(verdicts, results, answerable=False)
    found.append(Share.exactly("unanswerable, answered", none["wrong"], sum(none.values())))
    return tuple(found)


def _plots(results: Sequence[Asked], verdicts: Sequence[Verdict], shares: tuple[Share, ...]) -> tuple[Plot, ...]:
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    removed: Counter[str] = Counter()
    for result, verdict in zip(results, verdicts, strict=True):
        kinds[result.case.kind or "of no kind"][verdict] += 1
        removed.update(result.removed)
    reasons = tuple((reason, {"removed": n}) for reason, n in removed.most_common())
    cited = [one.stands for result in results for one in result.cited]
    structural = Share.exactly("citations that stand (structural)", sum(cited), len(cited))
    first = [result.first_evidence_ms / 1_000 for result in results if result.first_evidence_ms is not None]
    return (
        Stacks("Verdicts by kind of question", _VERDICTS, tuple(sorted(kinds.items()))),
        Shares("Shares of questions, and precision of citations", (*shares, structural)),
        Spread("Seconds until the end of a run", "s", [result.seconds for result in results]),
        Spread("Seconds until the first evidence", "s", first),
        Stacks("Removed sentences by reason", ("removed",), reasons),
    )


def _count(verdicts: Sequence[Verdict], results: Sequence[Asked], *, answerable: bool) -> Counter[str]:
    counted = Counter({"right": 0, "wrong": 0, "refused": 0})
    counted.update(
        verdict for verdict, result in zip(verdicts, results, strict=True) if result.case.answerable == answerable
    )
    return counted


def _times(results: Sequence[Asked]) -> dict[str, object]:
    seconds = sorted(result.seconds for result in results)
    first = sorted(result.first_evidence_ms for result in results if result.first_evidence_ms is not None)
    return {
        "p50_seconds": round(_quantile(seconds, 50), 3),
        "p95_seconds": round(_quantile(seconds, 95), 3),
        "first_evidence_ms_p50": round(_quantile(first, 50)),
        "model_calls": sum(result.model_calls for result in results),
        "tool_calls": sum(result.tool_calls for result in results),
        "tokens": sum(result.tokens for result in results),
        "by_outcome": _by_outcome(results),
    }


def _by_outcome(results: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """How many runs ended so, and what one of them took on average: calls of the model, and tokens."""
    outcomes: dict[str, list[Asked]] = {}
    for result in results:
        outcomes.setdefault(result.outcome, []).append(result)
    return {
        outcome: {
            "runs": len(ended),
            "model_calls": round(sum(one.model_calls for one in ended) / len(ended), 2),
            "tokens": round(sum(one.tokens for one in ended) / len(ended)),
        }
        for outcome, ended in sorted(outcomes.items())
    }


def _quantile(values: Sequence[float], percent: int) -> float:
    if len(values) < 2:
        return values[0] if values else 0.0
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def _baselines(results: Sequence[Asked], compared: Sequence[Compared | None]) -> dict[str, object]:
    """Refuse all, quote the top hit, and one search with an answer: answerable and unanswerable each."""
    there = [one for one in compared if one is not None]

    def counted(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
        return {
            "answerable": dict(_count(verdicts, results, answerable=True)),
            "unanswerable": dict(_count(verdicts, results, answerable=False)),
        }

    nothing: dict[str, object] = {"refuse_all": counted(["refused"] * len(results))}
    if len(there) < len(results):
        return nothing
    return nothing | {
        "top_hit": counted([one.top_hit for one in there]),
        "one_search": counted([one.one_search for one in there]),
    }


def _lines(results: Sequence[Asked], verdicts: Sequence[Verdict], figures: Mapping[str, object]) -> list[str]:
    lines = []
    for result, verdict in zip(results, verdicts, strict=True):
        expected = "answerable" if result.case.answerable else "unanswerable"
        lines.append(
            f"{verdict:<8} {expected:<12} {result.seconds:5.2f} s  {result.case.case_id}  {result.case.question}"
        )
        if verdict == "wrong":
            lines.append(f"         {result.text}")
    lines.append("")
    lines.append(f"twins, whose mail is missing: {_told(figures['twins'])}")
    lines.append(f"answerable: {_told(figures['answerable'])}; unanswerable: {_told(figures['unanswerable'])}")
    baselines = figures["baselines"]
    if isinstance(baselines, Mapping):
        lines.extend(
            f"  {name.replace('_', ' ')}: answerable {_told(counts['answerable'])};"
            f" unanswerable {_told(counts['unanswerable'])}"
            for name, counts in baselines.items()
        )
    return lines


def _told(counts: object) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) if isinstance(counts, Mapping) else ""
