"""The built-in reader's weights, fitted anew: `python -m bench._reader_fitting QUESTIONS.jsonl --mail DIR`.

Each question is asked through the loop, and once more without the mail that answers it (its deletion twin; not for
reversed facts, where older mail then answers). Every sentence that the reader compared is a row: its features, and
whether it covers half of a gold quote. What is printed goes into `agentic/llm/extractive/weights.py`: the weights of a
logistic regression over all rows, held back by `--shrink` (the squares of the weights, so many times), and what each
threshold would have given to questions in folds that had no part in their weights. Both rows of a question, and all
questions of one thread, are in one fold.

Several files may be given, each with its own `--mail`, one after the other. The database is the evaluation's own.
"""

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import numpy as np

if TYPE_CHECKING:
    from agentic.core.ports import Model, Prompt, Reply, Toolbox, ToolCall, ToolResult, ToolSpec
    from agentic.evaluation.questions.cases import Case
    from mailsearch.scope import Scope

FOLDS = 6
# Twelve thresholds around where the reader's own stands.
THRESHOLDS = np.arange(-2.2, 0.2, 0.2)


@dataclass(frozen=True)
class Compared:
    """The sentences that one part of a question was compared with."""

    case: str
    group: str
    answerable: bool
    parts: int
    rows: "np.ndarray[Any, Any]"
    gold: "np.ndarray[Any, Any]"


class Recorded:
    """A model that keeps the last prompt that it was shown."""

    def __init__(self, model: "Model") -> None:
        self._model = model
        self.last: Prompt | None = None

    @property
    def name(self) -> str:
        return self._model.name

    async def reply(self, prompt: "Prompt", deadline: float) -> "Reply":
        self.last = prompt
        return await self._model.reply(prompt, deadline)


class Lacking:
    """A toolbox without the mail that answers a case, or that quotes it."""

    def __init__(self, toolbox: "Toolbox", case: "Case") -> None:
        from agentic.evaluation.questions.cases import plain

        self._toolbox, self._plain = toolbox, plain
        self._quotes = [plain(gold.quote) for gold in case.gold]
        self._messages = {gold.message for gold in case.gold} | case.others

    @property
    def specs(self) -> "tuple[ToolSpec, ...]":
        return self._toolbox.specs

    async def call(self, call: "ToolCall", seen: frozenset[str], deadline: float) -> "ToolResult":
        result = await self._toolbox.call(call, seen, deadline)
        return replace(result, messages=tuple(one for one in result.messages if not self._tells(one.message)))

    def _tells(self, message: Any) -> bool:
        if message.head.rfc_message_id in self._messages:
            return True
        return any(quote in self._plain(part.text) for part in message.parts for quote in self._quotes)


async def compared(case: "Case", scope: "Scope", *, twin: bool) -> list[Compared]:
    """What the reader compared when *case* was asked, part by part."""
    from agentic import answering
    from agentic.core.loop import Limits, Loop, Question
    from agentic.evaluation.questions.asking import Setting, tools

    model, limits = Recorded(answering.reader()), Limits(max_seconds=60)
    question = Question(case.question, datetime.now(UTC))
    toolbox: Toolbox = tools(scope, question, Setting(model, limits))
    loop = Loop(question, model, Lacking(toolbox, case) if twin else toolbox, limits)
    async for _ in loop.events():
        pass
    return list(_compare(case, model.last, twin=twin)) if model.last else []


def _compare(case: "Case", prompt: "Prompt", *, twin: bool) -> Iterable[Compared]:
    from agentic.llm.extractive.alignment import Vectors
    from agentic.llm.extractive.people import find_people
    from agentic.llm.extractive.question import read_question
    from agentic.llm.extractive.reading import read_message
    from agentic.llm.extractive.scoring import Scorer, gather
    from mailsearch.embeddings import configured_embedder

    question, readings = read_question(prompt.question), [read_message(shown) for shown in prompt.shown]
    corpus, vectors = gather(readings, find_people(question, readings)), Vectors(configured_embedder().embed)
    gold = () if twin else case.gold
    threads = [one.head.thread_id for one in readings if one.head.rfc_message_id in {it.message for it in case.gold}]
    for ask in question.asks:
        found = Scorer(question, ask, corpus).candidates(vectors)
        if found:
            told = [any(_covers(case, it, one) for it in gold) for one in found]
            rows = np.array([one.features.row() for one in found])
            group = min(threads, default=case.case_id)
            yield Compared(case.case_id, group, bool(gold), len(question.asks), rows, np.array(told, dtype=float))


def _covers(case: "Case", gold: Any, candidate: Any) -> bool:
    from agentic.evaluation.questions.cases import plain, shared

    wanted = plain(gold.quote)
    there = candidate.reading.head.rfc_message_id in {gold.message, *case.others}
    return there and shared(wanted, plain(candidate.sentence.text)) >= len(wanted) / 2


def fitted(found: Sequence[Compared], used: Sequence[int], shrink: float) -> "np.ndarray[Any, Any]":
    """Weights of a logistic regression and, last, its bias; the parts of a question share its weight."""
    rows = np.vstack([one.rows[:, used] for one in found])
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    gold = np.concatenate([one.gold for one in found])
    share = np.concatenate([np.full(len(one.gold), 1 / one.parts) for one in found])
    penalty = np.eye(rows.shape[1]) * shrink
    penalty[-1, -1] = 1e-6
    weights = np.zeros(rows.shape[1])
    for _ in range(60):
        likely = 1 / (1 + np.exp(-rows @ weights))
        curve = (rows * (share * likely * (1 - likely) + 1e-9)[:, None]).T @ rows + penalty
        step = np.linalg.solve(curve, rows.T @ (share * (gold - likely)) - penalty @ weights)
        weights += step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def told(found: Sequence[Compared], used: Sequence[int], shrink: float) -> list[tuple[float, bool, bool]]:
    """For each question in one part: the best score in a fold apart, whether it is gold, whether it is answerable."""
    groups = sorted({one.group for one in found})
    fold = {group: at % FOLDS for at, group in enumerate(np.random.default_rng(0).permutation(groups))}
    scores = []
    for apart in range(FOLDS):
        weights = fitted([one for one in found if fold[one.group] != apart], used, shrink)
        for one in found:
            if fold[one.group] == apart and one.parts == 1:
                each = one.rows[:, used] @ weights[:-1] + weights[-1]
                scores.append((float(each.max()), bool(one.gold[each.argmax()]), one.answerable))
    return scores


def report(found: Sequence[Compared], shrink: float) -> str:
    """The lines for `weights.py`, and a row for each threshold."""
    from agentic.llm.extractive.scoring import Features
    from agentic.llm.extractive.weights import WEIGHTS

    names = list(Features.__slots__)
    used = [at for at, name in enumerate(names) if getattr(WEIGHTS, name)]
    weights = fitted(found, used, shrink)
    lines = [f"BIAS = {weights[-1]:.2f}", "WEIGHTS = Features("]
    lines += [f"    {names[at]}={weight:.2f}," for at, weight in zip(used, weights, strict=False)]
    lines += [")", "threshold: the best sentence is gold, is another, or answers what nothing answers"]
    scores = told(found, used, shrink)
    for least in THRESHOLDS:
        passing = [one for one in scores if one[0] >= least]
        right, unanswerable = sum(one[1] for one in passing), sum(not one[2] for one in passing)
        lines.append(f"{least:.1f}: {right}, {len(passing) - right - unanswerable}, {unanswerable}")
    return "\n".join(lines)


async def _all(cases: Sequence["Case"], scopes: "Mapping[str, Scope]") -> list[Compared]:
    from mailsearch.embeddings import configured_embedder
    from mailsearch.sessions import pool

    await asyncio.to_thread(configured_embedder().embed, ["ready"])
    found: list[Compared] = []
    async with pool():
        for case in cases:
            found += await compared(case, scopes[case.corpus], twin=False)
            if case.answerable and not case.kind.startswith("reversal"):
                found += await compared(case, scopes[case.corpus], twin=True)
            sys.stderr.write(f"{case.case_id} ")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, fit, print."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--mail", type=Path, action="append", required=True)
    parser.add_argument("--split", help="only questions whose row says so")
    parser.add_argument("--shrink", type=float, default=15.0)
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")
    django.setup()
    from django.core.management import call_command

    from agentic.evaluation.questions import cases, corpora
    from agentic.server.start import start_database

    start_database()
    call_command("migrate", verbosity=0)
    found: list[Compared] = []
    for file, mail in zip(chosen.questions, chosen.mail, strict=True):
        lines = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]
        kept = {str(row.get("id")) for row in lines if not chosen.split or row.get("split") == chosen.split}
        asked = [case for case in cases.read(file) if case.case_id in kept]
        store = corpora.load(mail, sorted({case.corpus for case in asked}), lambda *_: None)
        scopes = {name: store.scope(name) for name in {case.corpus for case in asked}}
        found += asyncio.run(_all(asked, scopes))
    print(report(found, chosen.shrink))


if __name__ == "__main__":
    main()
