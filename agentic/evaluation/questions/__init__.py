"""Questions over mail: how many are answered right, wrong and not at all, and whether anything leaks.

Rows of the file are objects with `id`, `question`, `answerable`, `corpus` (a path below the folder of mail; without
one the whole folder), `gold` (pairs of `message_id` and `quote`), `alt_message_ids` and `must_not_match`.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings

from agentic import answering
from agentic.core.loop import Limits
from agentic.core.ports import Model
from agentic.evaluation.questions.asking import Setting, ask
from agentic.evaluation.questions.baselines import compare
from agentic.evaluation.questions.cases import Case, read
from agentic.evaluation.questions.corpora import Corpora, load
from agentic.evaluation.questions.kept import Kept, Noted
from agentic.evaluation.questions.summing import report
from agentic.evaluation.questions.twins import Gone, Twins, ask_twins
from agentic.evaluation.questions.units import Material, write
from agentic.evaluation.remote import at_work, remote_model
from agentic.evaluation.report import BadInput, Report
from agentic.progress import StageProgress
from agentic.workers import in_worker
from mailsearch.embeddings import configured_embedder

# One in so many answerable questions is also asked where its mail is missing.
_TWIN_EVERY = 3


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The questions, those of them whose twins are asked too, and whether the simpler ways are tried beside."""

    cases: Sequence[Case]
    twins: Sequence[Case]
    compared: bool

    @classmethod
    def of(cls, cases: Sequence[Case], *, alone: bool) -> "_Wanted":
        return cls(cases, [] if alone else [case for case in cases if case.answerable][::_TWIN_EVERY], not alone)


def run(file: Path, options: Mapping[str, Any]) -> Report:
    """Ask the questions of *file*, or a sample by `limit` and `seed`, over the mail below `options["mail"]`.

    `results` is a file of lines to go on from; `units` is written at the end, and where the evaluation is interrupted
    with what there is by then. Raises BadInput.
    """
    mail = options.get("mail")
    if mail is None or not Path(mail).is_dir():
        raise BadInput("--mail must name the folder that holds the mail")
    seed = int(options.get("seed") or 0)
    cases = read(file, options.get("limit"), seed)
    model = _model(str(options.get("model") or "extractive"))
    setting = Setting(model, _limits(options))
    wanted = _Wanted.of(cases, alone=bool(options.get("alone")))
    kept = Kept(Path(options["results"]) if options.get("results") else None, model.name, cases)
    with StageProgress(sys.stderr) as progress:
        corpora = load(Path(mail), sorted({case.corpus for case in cases}), progress.tell)
        try:
            asyncio.run(_ask_all(wanted, corpora, setting, kept, progress))
        finally:
            if options.get("units"):
                _write_units(Path(options["units"]), cases, kept, seed)
        threads = {case.case_id: corpora.thread_of([gold.message for gold in case.gold]) for case in cases}
    return _summed(file, wanted, kept, model.name, {k: v for k, v in threads.items() if v}, seed)


def _summed(
    file: Path, wanted: _Wanted, kept: Kept, model: str, threads: Mapping[str, str], seed: int
) -> Report:  # fmt: skip
    noted = [kept.questions[case.case_id] for case in wanted.cases if case.case_id in kept.questions]
    twins = Twins.of(wanted.twins, kept.twins)
    missing = len(wanted.cases) - len(noted) + len(wanted.twins) - twins.asked
    asked, compared = [one.asked for one in noted], [one.compared for one in noted]
    return report(file, model, asked, compared, twins, threads, seed, missing)


def _write_units(file: Path, cases: Sequence[Case], kept: Kept, seed: int) -> None:
    """What was drafted so far, in the order of the cases, so that it is the same however often one went on."""
    there = [kept.questions[case.case_id].asked.material for case in cases if case.case_id in kept.questions]
    units = [unit for one in there for unit in one.units]
    sentences = [sentence for one in there for sentence in one.sentences]
    write(file, Material(units, sentences), {case.case_id: case.question for case in cases}, seed)


def _limits(options: Mapping[str, Any]) -> Limits:
    usual = Limits(result_characters=settings.PM_AGENT_RESULT_CHARACTERS)
    seconds, steps = options.get("seconds"), options.get("steps")
    return replace(usual, max_seconds=float(seconds or usual.max_seconds), max_steps=int(steps or usual.max_steps))


def _model(name: str) -> Model:
    if name == "extractive":
        return answering.reader()
    if name != "http":
        raise BadInput(f"--model {name} can't answer questions; choose extractive or http")
    return remote_model()


def _is_done(case: Case, wanted: _Wanted, kept: Kept) -> bool:
    """Whether *case* was asked before, with all that is wanted of it: one that was asked alone has no comparison."""
    noted = kept.questions.get(case.case_id)
    return noted is not None and not (wanted.compared and noted.compared is None)


async def _ask_all(wanted: _Wanted, corpora: Corpora, setting: Setting, kept: Kept, progress: StageProgress) -> None:
    # The weights of the embedding are loaded once a process; that is no part of a run.
    await asyncio.to_thread(configured_embedder().embed, ["ready"])
    open_cases = [case for case in wanted.cases if not _is_done(case, wanted, kept)]
    open_twins = [case for case in wanted.twins if case.case_id not in kept.twins]
    gone = Gone(corpora)
    async with at_work(setting.model):
        for number, case in enumerate(open_cases, 1):
            scope = await in_worker(corpora.scope, case.corpus)
            came = await ask(case, scope, setting)
            # A model that never replied has shown nothing: such a question is left open for another time.
            if came.replies:
                compared = await compare(case, scope, setting) if wanted.compared else None
                kept.note_question(Noted(came, compared))
            progress.tell("asked", number, len(open_cases))
        for number, case in enumerate(open_twins, 1):
            twin = await ask_twins(case, corpora, gone, setting)
            if twin is not None:
                kept.note_twin(case, twin)
            progress.tell("twins", number, len(open_twins))
