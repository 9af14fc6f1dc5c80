"""Two workers under mixed traffic: `python -m bench._soaking FOLDER SECONDS`, by itself. See bench/soak.py."""

import asyncio
import json
import os
import random
import statistics
import sys
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psycopg

from bench._asking import prepared, serving
from bench._serving import Worker, connections, worker

if TYPE_CHECKING:
    from agentic.callers import Principal
    from agentic.server.embedded import EmbeddedPostgres

_CLIENTS, _SAMPLES = 4, 60
# Shares of the whole time: what belongs to warming up, and what is compared after it.
_WARM, _WINDOW = 0.25, 0.15
_RETRY_SECONDS, _LONGEST_RETRY = 0.5, 120
_QUESTIONS = 12


@dataclass
class _Seen:
    """What came of the traffic."""

    requests: Counter[str] = field(default_factory=Counter)
    runs: dict[str, str] = field(default_factory=dict)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    answers: dict[str, tuple[str, str]] = field(default_factory=dict)
    restarted: float | None = None
    recovered: float | None = None


@dataclass(frozen=True)
class _Sample:
    """One look at the workers: kB of their own, threads, open files; and sessions of the database."""

    at: float
    private_kb: tuple[int, ...]
    threads: tuple[int, ...]
    descriptors: tuple[int, ...]
    sessions: int


class _Traffic:
    """Clients that do what agents do until the time is over."""

    def __init__(self, urls: Sequence[str], token: str, questions: Sequence[str], until: float) -> None:
        self._urls, self._questions, self._until = urls, questions, until
        self._headers = {"Authorization": f"Bearer {token}"}
        self.seen = _Seen()

    async def client(self, number: int) -> None:
        """One caller, who goes from worker to worker."""
        draw = random.Random(number)
        while time.monotonic() < self._until:
            async with httpx.AsyncClient(base_url=draw.choice(self._urls), headers=self._headers, timeout=60) as client:
                await self._visit(client, draw)

    async def _visit(self, client: httpx.AsyncClient, draw: random.Random) -> None:
        """Twenty requests over one connection, with pauses."""
        acts = (self._search, self._search, self._ask, self._stream, self._read, self._verify)
        for _ in range(20):
            if time.monotonic() > self._until:
                return
            await draw.choice(acts)(client, draw)
            await asyncio.sleep(draw.expovariate(2))

    async def _send(
        self, client: httpx.AsyncClient, kind: str, method: str, path: str, **more: Any
    ) -> httpx.Response | None:
        """Repeat until the service answers; None where it does not for two minutes."""
        until = time.monotonic() + _LONGEST_RETRY
        while time.monotonic() < until:
            try:
                response = await client.request(method, path, **more)
            except httpx.TransportError as error:
                self.seen.requests[f"{kind} {type(error).__name__}"] += 1
            else:
                self.seen.requests[f"{kind} {response.status_code}"] += 1
                if response.status_code < httpx.codes.INTERNAL_SERVER_ERROR and response.status_code != 429:
                    self._note_recovery()
                    return response
            await asyncio.sleep(_RETRY_SECONDS)
        self.seen.lost.append(f"{kind} {path}")
        return None

    def _note_recovery(self) -> None:
        if self.seen.restarted is not None and self.seen.recovered is None:
            self.seen.recovered = time.monotonic() - self.seen.restarted

    async def _search(self, client: httpx.AsyncClient, draw: random.Random) -> None:
        words = draw.choice(self._questions).split()
        body = {"query": " ".join(words[-3:]), "mode": draw.choice(("keyword", "semantic", "hybrid"))}
        await self._send(client, "search", "POST", "/v1/search", json=body)

    async def _ask(self, client: httpx.AsyncClient, draw: random.Random) -> None:
        question = draw.choice(self._questions)
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        response = await self._send(
            client, "ask", "POST", "/v1/search", json={"query": question, "mode": "agentic"}, headers=headers
        )
        if response is not None and response.status_code == httpx.codes.OK:
            self._note(question, response.json())

    def _note(self, question: str, body: Any) -> None:
        run, outcome = body["run_id"], body["outcome"]
        if run in self.seen.runs:
            self.seen.doubled.append(run)
        self.seen.runs[run] = outcome
        told = (outcome, json.dumps([one["text"] for one in (body["answer"] or {}).get("sentences", ())]))
        if outcome in ("degraded", "budget_exhausted"):
            return
        if self.seen.answers.setdefault(question, told) != told:
            self.seen.wrong.append(run)

    async def _stream(self, client: httpx.AsyncClient, draw: random.Random) -> None:
        if not self.seen.runs:
            return
        run = draw.choice(list(self.seen.runs))
        response = await self._send(client, "stream", "GET", f"/v1/runs/{run}/events")
        if response is not None and response.status_code == httpx.codes.OK and "event: done" not in response.text:
            self.seen.lost.append(f"done of {run}")

    async def _read(self, client: httpx.AsyncClient, draw: random.Random) -> None:
        if not self.seen.runs:
            return
        run = draw.choice(list(self.seen.runs))
        response = await self._send(client, "read", "GET", f"/v1/runs/{run}")
        if response is None:
            return
        if response.status_code != httpx.codes.OK:
            self.seen.lost.append(run)
        elif response.json()["outcome"] != self.seen.runs[run]:
            self.seen.wrong.append(run)

    async def _verify(self, client: httpx.AsyncClient, draw: random.Random) -> None:
        found = await self._send(client, "list", "GET", "/v1/messages?limit=1")
        if found is None or found.status_code != httpx.codes.OK or not found.json()["messages"]:
            return
        message = found.json()["messages"][0]["message_id"]
        body = {"text": f"The boat leaves at noon [{message}]."}
        await self._send(client, "verify", "POST", "/v1/verify", json=body)


async def _watch(workers: Sequence[Worker], administrator: str, seconds: float, samples: list[_Sample]) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(seconds / _SAMPLES)
        figures = [one.figures() for one in workers]
        try:
            sessions = await asyncio.to_thread(connections, administrator)
        except psycopg.Error:
            sessions = -1
        samples.append(
            _Sample(
                round(time.monotonic() - began, 1),
                tuple(one["private_kb"] for one in figures),
                tuple(one["threads"] for one in figures),
                tuple(one["descriptors"] for one in figures),
                sessions,
            )
        )


async def _restart(server: "EmbeddedPostgres", after: float, seen: _Seen) -> None:
    await asyncio.sleep(after)
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)
    seen.restarted = time.monotonic()


async def _soak(
    workers: Sequence[Worker], server: "EmbeddedPostgres", administrator: str, token: str, questions: Sequence[str],
    seconds: float,
) -> tuple[_Seen, list[_Sample]]:  # fmt: skip
    traffic = _Traffic([one.url for one in workers], token, questions, time.monotonic() + seconds)
    samples: list[_Sample] = []
    watching = asyncio.create_task(_watch(workers, administrator, seconds, samples))
    restarting = asyncio.create_task(_restart(server, seconds / 2, traffic.seen))
    await asyncio.gather(*(traffic.client(number) for number in range(_CLIENTS)))
    await restarting
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await asyncio.gather(*(_read_again(traffic, workers[0].url, token, run) for run in list(traffic.seen.runs)[-200:]))
    return traffic.seen, samples


async def _read_again(traffic: _Traffic, url: str, token: str, run: str) -> None:
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        response = await client.get(f"/v1/runs/{run}")
    if response.status_code != httpx.codes.OK or response.json()["outcome"] != traffic.seen.runs[run]:
        traffic.seen.lost.append(run)


def _growth(samples: Sequence[_Sample], pick: str, place: int) -> float:
    """By how many per cent the last stretch lies above the first one after warming up."""
    values = [getattr(one, pick)[place] for one in samples]
    width = max(1, int(len(values) * _WINDOW))
    start = int(len(values) * _WARM)
    before, after = values[start : start + width], values[-width:]
    growth: float = 100 * (statistics.median(after) / statistics.median(before) - 1)
    return round(growth, 1)


def _stored(principal: "Principal", since: int) -> int:
    from agentic.models import Run
    from mailsearch.sessions import Binding, bound

    with bound(Binding(principal.tenant, audit=frozenset({principal.tenant}))):
        count: int = Run.objects.filter(tenant=principal.tenant).count()
        return count - since


def _forget_connections() -> None:
    """Close those of this process: the server that they lead to is restarted."""
    from django.db import connections as databases
    from django.db.backends.postgresql.base import DatabaseWrapper

    for one in databases.all(initialized_only=True):
        one.close()
        if isinstance(one, DatabaseWrapper):
            one.close_pool()


def main(folder: str, seconds: float) -> None:
    with serving() as server:
        from django.conf import settings

        from agentic.callers import Access, create_key
        from mailsearch.ingest import embedding
        from mailsearch.models import Permission, Tenant

        principal, questions, _ = prepared(Path(folder))
        tenant = Tenant.objects.get(pk=principal.tenant)
        embedding.embed_pending(tenant)
        allowed = (Permission.SEARCH_AGENTIC, Permission.SEARCH_READ, Permission.VERIFY)
        _, token = create_key(tenant, "soak", Access(allowed, all_mailboxes=True))
        before = _stored(principal, 0)
        _forget_connections()
        administrator = server.conninfo(settings.PM_DATABASE_NAME)
        os.environ["PM_LOG_LEVEL"] = "CRITICAL"
        many = "bench._many_runs:application"
        with worker(many) as one, worker(many) as two:
            workers = (one, two)
            seen, samples = asyncio.run(_soak(workers, server, administrator, token, questions[:_QUESTIONS], seconds))
            _forget_connections()
            stored = _stored(principal, before)
    sys.stdout.write(json.dumps(_told(seen, samples, stored)) + "\n")


def _told(seen: _Seen, samples: Sequence[_Sample], stored: int) -> dict[str, object]:
    first = samples[int(len(samples) * _WARM)]
    return {
        "runs": len(seen.runs),
        "stored_runs": stored,
        "lost": len(seen.lost),
        "lost_what": seen.lost[:10],
        "doubled": len(seen.doubled) + max(0, stored - len(seen.runs)),
        "wrong": len(seen.wrong),
        "outcomes": dict(Counter(seen.runs.values())),
        "requests": dict(sorted(seen.requests.items())),
        "recovery_seconds": None if seen.recovered is None else round(seen.recovered, 1),
        "growth_percent": max(_growth(samples, "private_kb", place) for place in (0, 1)),
        "more_threads": max(b - a for a, b in zip(first.threads, samples[-1].threads, strict=True)),
        "more_descriptors": max(b - a for a, b in zip(first.descriptors, samples[-1].descriptors, strict=True)),
        "more_sessions": samples[-1].sessions - first.sessions,
        "curve_seconds": [one.at for one in samples],
        "curve_megabytes_one": [round(one.private_kb[0] / 1024, 1) for one in samples],
        "curve_megabytes_two": [round(one.private_kb[1] / 1024, 1) for one in samples],
        "curve_threads": [sum(one.threads) for one in samples],
        "curve_descriptors": [sum(one.descriptors) for one in samples],
        "curve_sessions": [one.sessions for one in samples],
    }


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
