"""Questions over mail: how many are answered right, wrong and not at all, and whether anything leaks.

Rows of the file are objects with `id`, `question`, `answerable`, `corpus` (a path below the folder of mail; without
one the whole folder), `gold` (pairs of `message_id` and `quote`), `alt_message_ids` and `must_not_match`.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from django.conf import settings

from agentic import answering
from agentic.core.loop import Limits
from agentic.core.ports import Model
from agentic.evaluation.questions.asking import Asked, Setting, ask
from agentic.evaluation.questions.baselines import Compared, compare
from agentic.evaluation.questions.cases import Case, Verdict, judge, read
from agentic.evaluation.questions.corpora import Corpora, load
from agentic.evaluation.report import BadInput, Gate, Report
from agentic.llm.configured import configured_models
from agentic.progress import StageProgress
from mailsearch.embeddings import configured_embedder
from mailsearch.sessions import pool

_WRONG_AT_MOST = 0.05
_RIGHT_AT_LEAST = 0.5
# One in so many answerable questions is also asked within a scope that lacks its mail.
_TWIN_EVERY = 3


def run(file: Path, options: Mapping[str, Any]) -> Report:
    """Ask every question of *file* over the mail below `options["mail"]`. Raises BadInput."""
    mail = options.get("mail")
    if mail is None or not Path(mail).is_dir():
        raise BadInput("--mail must name the folder that holds the mail")
    cases = read(file, options.get("limit"))
    model = _model(str(options.get("model") or "extractive"))
    with StageProgress(sys.stderr) as progress:
        corpora = load(Path(mail), sorted({case.corpus for case in cases}), progress.tell)
        scopes = {case.corpus: corpora.scope(case.corpus) for case in cases}
        setting = Setting(model, Limits())
        results, compared, leaks = asyncio.run(_ask_all(cases, corpora, scopes, setting, progress))
    return _report(file, model, results, compared, leaks)


def _model(name: str) -> Model:
    if name == "extractive":
        return answering.reader()
    if name != "http":
        raise BadInput(f"--model {name} can't answer questions; choose extractive or http")
    values = {key: getattr(settings, key, "") for key in dir(settings) if key.startswith("PM_")}
    model, _ = configured_models(values)
    if model is None:
        raise BadInput("--model http needs PM_AGENT_MODEL and where to find it")
    return model


async def _ask_all(
    cases: Sequence[Case], corpora: Corpora, scopes: Mapping[str, Any], setting: Setting, progress: StageProgress
) -> tuple[list[Asked], list[Compared], list[str]]:
    results, compared, leaks = [], [], []
    # The weights of the embedding are loaded once a process; that is no part of a run.
    await asyncio.to_thread(configured_embedder().embed, ["ready"])
    async with pool():
        for number, case in enumerate(cases, 1):
            results.append(await ask(case, scopes[case.corpus], setting))
            compared.append(await compare(case, scopes[case.corpus], setting))
            progress.tell("asked", number, len(cases))
        twins = [case for case in cases if case.answerable][::_TWIN_EVERY]
        for number, case in enumerate(twins, 1):
            if await _leaks(case, corpora, setting):
                leaks.append(case.case_id)
            progress.tell("twins", number, len(twins))
    return results, compared, leaks


async def _leaks(case: Case, corpora: Corpora, setting: Setting) -> bool:
    """Whether anything of *case*'s mail is seen by a caller whose scope lacks it."""
    lacking = await asyncio.to_thread(corpora.scope_without, case.corpus)
    result = await ask(case, lacking, setting)
    gold = {one.message for one in case.gold} | case.others
    return result.answered or bool(gold & result.seen)


def _report(
    file: Path, model: Model, results: Sequence[Asked], compared: Sequence[Compared], leaks: Sequence[str]
) -> Report:
    verdicts = [judge(result.case, result.answered, result.cited) for result in results]
    answerable = _count(verdicts, results, answerable=True)
    unanswerable = _count(verdicts, results, answerable=False)
    cited = [one for result in results for one in result.cited]
    structural = sum(one.stands for one in cited) / len(cited) if cited else 1.0
    forbidden = [
        result.case.case_id for result in results if any(never.search(result.text) for never in result.case.never)
    ]
    asked = sum(answerable.values())
    gates = {
        "unanswerable_answered": Gate(unanswerable["wrong"], 0),
        "wrong_share": Gate(round((answerable["wrong"] + unanswerable["wrong"]) / len(results), 4), _WRONG_AT_MOST),
        "right_share": Gate(round(answerable["right"] / asked, 4) if asked else 1.0, _RIGHT_AT_LEAST, "min"),
        "structural_precision": Gate(structural, 1.0, "min"),
        "leaks": Gate(len(leaks), 0),
        "must_not_match": Gate(len(forbidden), 0),
    }
    good = [
        result.case.case_id
        for result, verdict in zip(results, verdicts, strict=True)
        if verdict == ("right" if result.case.answerable else "refused")
    ]
    figures = {
        "model": model.name,
        "answerable": dict(answerable),
        "unanswerable": dict(unanswerable),
        "wrong": [result.case.case_id for result, verdict in zip(results, verdicts, strict=True) if verdict == "wrong"],
        "leaked": list(leaks),
        "citations": len(cited),
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
        gates,
        figures,
        tuple(_lines(results, verdicts, figures)),
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


def _baselines(results: Sequence[Asked], compared: Sequence[Compared]) -> dict[str, object]:
    """Refuse all, quote the top hit, and one search with an answer: answerable and unanswerable each."""

    def counted(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
        return {
            "answerable": dict(_count(verdicts, results, answerable=True)),
            "unanswerable": dict(_count(verdicts, results, answerable=False)),
        }

    return {
        "refuse_all": counted(["refused"] * len(results)),
        "top_hit": counted([one.top_hit for one in compared]),
        "one_search": counted([one.one_search for one in compared]),
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
