"""How well search finds: MRR@10 and recall@10 of the three modes over questions with known answers.

`python -m bench.search_quality QUESTIONS.jsonl --tenant SLUG` asks each answerable question, and its paraphrase where
there is one, over all mail of a tenant that has been taken in and embedded. A question names the Message-IDs that
answer it (`gold_message_ids`, and `alt_message_ids` with the same words).

Beside all questions those in English are told apart (a file that says no languages is taken for English), and where a
file `across.jsonl` lies beside the questions, those in it: the same asked in a language that the mail is not in.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import django

if TYPE_CHECKING:
    from mailsearch.scope import Scope

Mode = Literal["keyword", "semantic", "hybrid"]
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")


@dataclass(frozen=True)
class Question:
    """What is asked and the Message-IDs that answer it, without angle brackets."""

    name: str
    text: str
    gold: frozenset[str]
    kind: str
    language: str = "en"


def read(path: Path) -> list[Question]:
    """The questions of a file, and those of `across.jsonl` beside it."""
    found = questions(path.read_text("utf-8").splitlines())
    beside = path.with_name("across.jsonl")
    return [*found, *across(beside.read_text("utf-8").splitlines(), found)] if beside.exists() else found


def across(lines: Iterable[str], originals: Iterable[Question]) -> list[Question]:
    """Questions of *originals* (`of`) in another language than they and the mail that answers them."""
    by_name = {one.name: one for one in originals}
    rows = [json.loads(line) for line in lines]
    return [Question(row["id"], row["question"], by_name[row["of"]].gold, "across", row["language"]) for row in rows]


def questions(lines: Iterable[str]) -> list[Question]:
    """The answerable questions, and their paraphrases as questions of their own."""
    found = []
    for line in lines:
        row = json.loads(line)
        if not row.get("answerable"):
            continue
        named = [*(one["message_id"] for one in row["gold"]), *row.get("alt_message_ids", ())]
        gold = frozenset(one.strip("<>") for one in named)
        language = row.get("language", "en")
        found.append(Question(row["id"], row["question"], gold, "question", language))
        if row.get("paraphrase"):
            found.append(Question(f"{row['id']}-p", row["paraphrase"], gold, "paraphrase", language))
    return found


def figures(ranks: Sequence[int | None]) -> Mapping[str, float]:
    """MRR and recall over the rank of the first right hit among the first ten, or None."""
    return {
        "n": len(ranks),
        "mrr_10": round(statistics.fmean(1 / rank if rank else 0.0 for rank in ranks), 3) if ranks else 0.0,
        "recall_10": round(sum(rank is not None for rank in ranks) / len(ranks), 3) if ranks else 0.0,
    }


async def measure(tenant: str, asked: Sequence[Question], *, verbose: bool) -> Mapping[str, object]:
    """Figures by mode and kind of question, with the median of milliseconds."""
    from asgiref.sync import sync_to_async

    from mailsearch.hits import SearchRequest
    from mailsearch.search import engine
    from mailsearch.sessions import pool

    scope = await sync_to_async(_scope)(tenant)
    async with pool():
        # The first query of a process loads the embedding model.
        await engine.search(scope, SearchRequest("warm up"), patience=60)
        return {mode: await measure_mode(scope, mode, asked, verbose=verbose) for mode in MODES}


async def measure_mode(
    scope: "Scope", mode: Mode, asked: Sequence[Question], *, verbose: bool = False
) -> Mapping[str, object]:
    """Figures of one mode by kind of question, with the median of milliseconds."""
    from mailsearch.hits import SearchRequest
    from mailsearch.search import engine

    ranks: dict[str, list[int | None]] = {"question": [], "paraphrase": [], "english": [], "across": []}
    took = []
    for question in asked:
        started = time.perf_counter()
        result = await engine.search(scope, SearchRequest(question.text, mode=mode, limit=10), patience=60)
        took.append((time.perf_counter() - started) * 1000)
        found = [hit.rank for hit in result.hits if hit.head.rfc_message_id in question.gold]
        rank = found[0] if found else None
        ranks[question.kind].append(rank)
        if question.language == "en" and question.kind != "across":
            ranks["english"].append(rank)
        if verbose:
            sys.stderr.write(f"{mode} {question.name} {found[:1]} {question.text[:70]}\n")
    return {kind: figures(some) for kind, some in ranks.items()} | {"median_ms": round(statistics.median(took), 1)}


def _scope(slug: str) -> "Scope":
    from mailsearch.models import Folder, Tenant
    from mailsearch.scope import Scope

    tenant = Tenant.objects.get(slug=slug)
    return Scope(tenant.pk, frozenset(Folder.objects.filter(tenant=tenant).values_list("id", "mailbox_id")))


def run() -> Mapping[str, object]:
    """The figures of the questions that the environment names, if it does."""
    path, tenant = os.environ.get("PM_BENCH_QUESTIONS"), os.environ.get("PM_BENCH_TENANT")
    if not path or not tenant:
        return {"skipped": "name PM_BENCH_QUESTIONS and PM_BENCH_TENANT"}
    return _measured(Path(path), tenant, verbose=False)


def _measured(path: Path, tenant: str, *, verbose: bool) -> Mapping[str, object]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")
    django.setup()
    return asyncio.run(measure(tenant, read(path), verbose=verbose))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    report = _measured(options.questions, options.tenant, verbose=options.verbose)
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
