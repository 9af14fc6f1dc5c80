"""Runs with short budgets against delays and faults: `python -m bench._hurrying FOLDER`. See bench/deadline.py."""

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from bench._asking import Quoting, prepared, serving

if TYPE_CHECKING:
    from agentic.callers import Principal
    from agentic.core.ports import Prompt, Reply
    from agentic.records import Record

RUNS = int(os.environ.get("BENCH_RUNS", "1000"))
AT_ONCE = int(os.environ.get("BENCH_AT_ONCE", "12"))
SEED = int(os.environ.get("BENCH_SEED", "7"))
_SECONDS = (1.0, 1.5, 2.0)
_TABLES = ("agentic_traceevent", "agentic_runfinished", "agentic_evidence", "mailsearch_message", "mailsearch_grant")
_LOCKED_AT_MOST, _FREE_AT_MOST = 2.5, 6.0


@dataclass
class Unreliable:
    """A model of which each reply is drawn: in time, late, never, deaf to being cancelled, a fault, or a flood."""

    draw: random.Random
    name: str = "unreliable"
    quoting: Quoting = field(default_factory=Quoting)

    async def reply(self, prompt: "Prompt", deadline: float) -> "Reply":
        """See agentic.core.ports.Model."""
        from agentic.core.ports import ModelFault

        match self.draw.choice(("prompt", "late", "never", "deaf", "fault", "flood")):
            case "late":
                await asyncio.sleep(self.draw.uniform(0, 2.5))
            case "never":
                await asyncio.Event().wait()
            case "deaf":
                await _deaf(self.draw.uniform(0.5, 3))
            case "fault":
                raise ModelFault(self.draw.choice(("server_error", "rate_limited", "hung", "auth")))
            case "flood":
                return _flood(await self.quoting.reply(prompt, deadline), self.draw)
        return await self.quoting.reply(prompt, deadline)


async def _deaf(seconds: float) -> None:
    """A wait that goes on when it is cancelled."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            await asyncio.sleep(until - time.monotonic())
        except asyncio.CancelledError:
            continue


def _flood(reply: "Reply", draw: random.Random) -> "Reply":
    """*reply* with hundreds of sentences and quotes around what it says: work for the verifier."""
    from agentic.core.ports import Reply, ToolCall

    call = reply.tool_calls[0]
    sentences = (call.arguments or {}).get("sentences")
    if not isinstance(sentences, list):
        return reply
    again = [{**sentences[0], "text": f"{sentences[0]['text']} „“ {draw.random()} „" * 3} for _ in range(150)]
    return Reply(reply.model, tool_calls=(ToolCall(call.call_id, call.name, {"sentences": sentences + again}),))


async def _ask(principal: "Principal", question: str, draw: random.Random) -> tuple[float, str]:
    """By how many seconds a run left after its budget (below 0: in time), and what came of it."""
    from agentic import runs

    seconds = draw.choice(_SECONDS)
    began = time.monotonic()
    try:
        started = await runs.begin(
            principal, runs.Ask(question, max_seconds=seconds), runs.Models(Unreliable(draw)), began
        )
        assert isinstance(started, runs.Started)
        record = await runs.wait(started, runs.launch(started))
        came = await runs.in_time(started, _read(principal, started.public_id, record))
    except runs.AuditUnavailable:
        came = "audit-unavailable"
    return time.monotonic() - began - seconds, came


async def _read(principal: "Principal", run: str, record: "Record | None") -> str:
    """What came of a run, by its response as it would be sent."""
    from agentic import records, responses

    record = record or await records.load(principal, run)
    assert record is not None
    json.dumps(responses.build(record), default=str)
    return record.finished.outcome if record.finished else "unfinished"


async def _several(principal: "Principal", questions: Sequence[str], count: int, seed: int) -> list[tuple[float, str]]:
    draw = random.Random(seed)
    return [await _ask(principal, draw.choice(questions), draw) for _ in range(count)]


async def _lock_now_and_then(conninfo: str, draw: random.Random) -> None:
    """Hold a table that runs need, for a while, again and again."""
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        while True:
            await asyncio.sleep(draw.uniform(0.5, _FREE_AT_MOST))
            async with conn.transaction():
                table = sql.Identifier(draw.choice(_TABLES))
                await conn.execute(sql.SQL("LOCK {} IN ACCESS EXCLUSIVE MODE").format(table))
                await asyncio.sleep(draw.uniform(0.1, _LOCKED_AT_MOST))


async def _measure(principal: "Principal", questions: Sequence[str], conninfo: str) -> dict[str, object]:
    from agentic import runs
    from mailsearch.sessions import pool

    async with pool():
        locking = asyncio.create_task(_lock_now_and_then(conninfo, random.Random(SEED)))
        share = -(-RUNS // AT_ONCE)
        done = await asyncio.gather(
            *(_several(principal, questions, share, SEED * 1000 + number) for number in range(AT_ONCE))
        )
        locking.cancel()
        await runs.drain(10)
    left = [one for several in done for one in several]
    over = sorted((seconds for seconds, _ in left), reverse=True)
    return {
        "runs": len(left),
        "at_once": AT_ONCE,
        "late": sum(seconds > 0 for seconds in over),
        "slowest_over_ms": round(1000 * over[0], 1),
        "over_p99_ms": round(1000 * over[len(over) // 100], 1),
        "outcomes": dict(Counter(came for _, came in left)),
    }


def main(folder: str) -> None:
    with serving() as server:
        principal, questions, _ = prepared(Path(folder))
        from django.conf import settings

        figures = asyncio.run(_measure(principal, questions, server.conninfo(settings.PM_DATABASE_NAME)))
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
