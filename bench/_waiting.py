"""Clients that wait for answers: `python -m bench._waiting FOLDER`, in a process by itself. See bench/latency.py."""

import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from bench._asking import prepared, serving
from bench._paced_model import paced_model
from bench._serving import worker

if TYPE_CHECKING:
    from agentic.callers import Principal

RUNS = int(os.environ.get("BENCH_RUNS", "400"))
CLIENTS = 10
SEED = 7
_BUDGETS = (8, 60)
# To embed 100,000 messages takes an hour of processor time, and what their vectors mean is not measured.
_EMBEDDED = 1_500


@dataclass(frozen=True)
class _Waited:
    """One question: seconds until the last byte, until evidence with a hit, and the outcome."""

    seconds: float
    first_evidence: float | None
    outcome: str


async def _ask(client: httpx.AsyncClient, question: str, budget: int) -> _Waited:
    body = {"query": question, "mode": "agentic", "stream": True, "budget": {"max_seconds": budget}}
    began, first, outcome, event = time.monotonic(), None, "none", ""
    async with client.stream("POST", "/v1/search", json=body) as response:
        if response.status_code != httpx.codes.OK:
            await response.aread()
            return _Waited(time.monotonic() - began, None, f"http {response.status_code}")
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: ") and event == "evidence" and first is None:
                first = time.monotonic() - began
            elif line.startswith("data: ") and event == "done":
                outcome = json.loads(line.removeprefix("data: "))["outcome"]
    return _Waited(time.monotonic() - began, first, outcome)


async def _wait(url: str, tokens: Sequence[str], questions: Sequence[str], budget: int) -> list[_Waited]:
    """Ten clients that take the next question as soon as they have an answer."""
    # Not for secrets: both budgets are asked the same.
    draw = random.Random(SEED)
    asked = iter([draw.choice(questions) for _ in range(RUNS)])
    waited: list[_Waited] = []

    async def one(token: str) -> None:
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120) as client:
            for question in asked:
                waited.append(await _ask(client, question, budget))

    await asyncio.gather(*(one(tokens[number % len(tokens)]) for number in range(CLIENTS)))
    return waited


def _figures(waited: Sequence[_Waited]) -> dict[str, object]:
    seconds = [one.seconds for one in waited]
    answered = [one.seconds for one in waited if one.outcome == "answered"]
    first = [one.first_evidence for one in waited if one.first_evidence is not None]
    outcomes: dict[str, int] = {}
    for one in waited:
        outcomes[one.outcome] = outcomes.get(one.outcome, 0) + 1
    return {
        "runs": len(waited),
        "p50_seconds": _at(seconds, 50),
        "p95_seconds": _at(seconds, 95),
        "answered_p95_seconds": _at(answered, 95),
        "first_evidence_p50_seconds": _at(first, 50),
        "first_evidence_p95_seconds": _at(first, 95),
        "outcomes": outcomes,
    }


def _at(values: Sequence[float], percent: int) -> float | None:
    return round(statistics.quantiles(values, n=100)[percent - 1], 3) if len(values) > 1 else None


def _tokens(principal: "Principal") -> list[str]:
    """Keys of three callers: what one may run at once is less than ten."""
    from agentic.callers import Access, create_key
    from mailsearch.models import Permission, Tenant

    tenant = Tenant.objects.get(pk=principal.tenant)
    access = Access((Permission.SEARCH_AGENTIC,), all_mailboxes=True)
    return [create_key(tenant, f"bench {number}", access)[1] for number in range(3)]


def _embed(principal: "Principal", owner: str, folder: Path) -> None:
    """Vectors for all passages, once a store: of some as a model makes them, of the others mixtures of these."""
    from bench import _search_store
    from mailsearch.embeddings import configured_embedder
    from mailsearch.ingest import embedding
    from mailsearch.models import Tenant

    if (folder / "embedded").exists():
        return
    tenant = Tenant.objects.get(pk=principal.tenant)
    embedding.embed_pending(tenant, limit=_EMBEDDED)
    _search_store.mix(owner, [tenant], configured_embedder().name, _search_store.of_passages(tenant))
    (folder / "embedded").touch()


def main(folder: str) -> None:
    with serving() as server, paced_model(SEED) as base:
        principal, questions, messages = prepared(Path(folder))
        _embed(principal, server.conninfo(os.environ["PM_DATABASE_NAME"]), Path(folder))
        tokens = _tokens(principal)
        model = {"PM_AGENT_BASE_URL": base, "PM_AGENT_MODEL": "paced", "PM_AGENT_API_TOKEN": "none"}
        os.environ.update(model)
        with worker("bench._many_runs:application") as host:
            cold = asyncio.run(_wait_once(host.url, tokens[0], questions[0]))
            by_budget = {budget: asyncio.run(_wait(host.url, tokens, questions, budget)) for budget in _BUDGETS}
    answered = {budget: sum(one.outcome == "answered" for one in waited) for budget, waited in by_budget.items()}
    short, long = _BUDGETS
    figures = {
        "messages": messages,
        "clients": CLIENTS,
        "cold_seconds": round(cold.seconds, 3),
        "cold_outcome": cold.outcome,
        **{f"within_{budget}_seconds": _figures(waited) for budget, waited in by_budget.items()},
        "kept_share": round(answered[short] / answered[long], 3) if answered[long] else None,
    }
    sys.stdout.write(json.dumps(figures) + "\n")


async def _wait_once(url: str, token: str, question: str) -> _Waited:
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120) as client:
        return await _ask(client, question, max(_BUDGETS))


if __name__ == "__main__":
    main(sys.argv[1])
