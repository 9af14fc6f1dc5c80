"""Questions over mail: how many are answered right, wrong and not at all, and whether anything leaks.

Rows of the file are objects with `id`, `question`, `answerable`, `corpus` (a path below the folder of mail; without
one the whole folder), `gold` (pairs of `message_id` and `quote`), `alt_message_ids` and `must_not_match`.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentic import answering
from agentic.core.loop import Limits
from agentic.core.ports import Model
from agentic.evaluation.questions.asking import Asked, Setting, ask
from agentic.evaluation.questions.baselines import Compared, compare
from agentic.evaluation.questions.cases import Case, read
from agentic.evaluation.questions.corpora import Corpora, load
from agentic.evaluation.questions.summing import report
from agentic.evaluation.questions.twins import Twins, ask_twins
from agentic.evaluation.questions.units import Material, write
from agentic.evaluation.remote import at_work, remote_model
from agentic.evaluation.report import BadInput, Report
from agentic.progress import StageProgress
from mailsearch.embeddings import configured_embedder

# One in so many answerable questions is also asked where its mail is missing.
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
        seconds = options.get("seconds")
        setting = Setting(model, Limits(max_seconds=float(seconds)) if seconds else Limits())
        results, compared, twins = asyncio.run(_ask_all(cases, corpora, scopes, setting, progress))
        threads = {case.case_id: corpora.thread_of([gold.message for gold in case.gold]) for case in cases}
    seed = int(options.get("seed") or 0)
    if options.get("units"):
        _write_units(Path(options["units"]), results, seed)
    return report(file, model.name, results, compared, twins, {k: v for k, v in threads.items() if v}, seed)


def _write_units(file: Path, results: Sequence[Asked], seed: int) -> None:
    material = Material()
    for result in results:
        material.add(result.case.case_id, result.verification, result.evidence)
    write(file, material, seed)


def _model(name: str) -> Model:
    if name == "extractive":
        return answering.reader()
    if name != "http":
        raise BadInput(f"--model {name} can't answer questions; choose extractive or http")
    return remote_model()


async def _ask_all(
    cases: Sequence[Case], corpora: Corpora, scopes: Mapping[str, Any], setting: Setting, progress: StageProgress
) -> tuple[list[Asked], list[Compared], Twins]:
    results: list[Asked] = []
    compared: list[Compared] = []
    # The weights of the embedding are loaded once a process; that is no part of a run.
    await asyncio.to_thread(configured_embedder().embed, ["ready"])
    async with at_work(setting.model):
        for number, case in enumerate(cases, 1):
            results.append(await ask(case, scopes[case.corpus], setting))
            compared.append(await compare(case, scopes[case.corpus], setting))
            progress.tell("asked", number, len(cases))
        chosen = [case for case in cases if case.answerable][::_TWIN_EVERY]
        twins = await ask_twins(chosen, corpora, setting, lambda done: progress.tell("twins", done, len(chosen)))
    return results, compared, twins
