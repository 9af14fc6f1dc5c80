"""`ask_mail`: the whole loop as one call, which tells its steps and gives the response that REST gives."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import jsonschema

from agentic import answering, runs, stream
from agentic.core.fence import clean
from agentic.core.notice import NOTICE
from agentic.mailjson import Json
from agentic.records import Record
from agentic.web.mcp.calls import Call, Said, check_arguments
from agentic.web.mcp.rendering import ROOM, evidence_pieces, said
from agentic.web.mcp.schemas import ASK
from agentic.web.problems import Problem
from agentic.web.runs_api import run_json
from agentic.web.search_api import ask_of
from agentic.web.serializers import SearchSerializer

# Seconds that a client may take, once the response is there, for the steps that it has not heard of yet.
_PATIENCE = 2.0
_ARGUMENTS = jsonschema.Draft202012Validator(ASK)
_WORDS = {
    "called": "calls {tool}",
    "found": "{tool}: {total} found",
    "asked": "asks the model",
    "replied": "has a reply",
    "drafted": "has a draft",
    "verified": "verified: {kept} kept, {removed} removed",
    "cut": "stopped by {limit}",
    "finished": "{outcome}",
}
# What an agent is to do where there is no answer.
_ADVICE = {
    "insufficient_evidence": "The mail in scope does not hold the answer. Say so; do not answer from elsewhere.",
    "budget_exhausted": "The limits ended before an answer. Read the evidence, ask less at once, or ask again.",
    "degraded": "The model gave nothing usable. The evidence is what a plain search found; read it, or ask later.",
}


async def ask_mail(call: Call, *, patience: float = _PATIENCE) -> Said:
    """Ask a question and wait for its response. A caller who leaves does not end the run.

    A client that takes its steps slowly is not told the rest of them: after *patience* seconds it gets its response.
    Raises Problem and what `runs.start` raises.
    """
    began = time.monotonic()
    check_arguments(_ARGUMENTS, call.arguments)
    given = dict(call.arguments)
    key = str(given.pop("idempotency_key", ""))
    body = SearchSerializer(data={**given, "mode": "agentic"})
    body.is_valid(raise_exception=True)
    ask = await ask_of(call.principal, body.validated_data, key)
    models = await answering.models_for(call.principal.tenant, ask.text)
    started = await runs.begin(call.principal, ask, models, began)
    async with _telling(call, started.public_id, patience) as telling:
        if isinstance(started, runs.Started):
            record = await _wait(started, telling)
            trace, said = await runs.in_time(started, _read(call, started.public_id, record))
        else:
            # The same call was made before, and its run may still be under way.
            await telling.follow()
            trace, said = await _read(call, started.public_id)
        # What was not told while the run went on.
        telling.tell(trace)
    return said


async def _read(call: Call, run: str, record: Record | None = None) -> tuple[list[Json], Said]:
    """The run's trace, and what is said of it. Raises Problem."""
    response = await run_json(call.principal, run, record)
    if response is None:
        raise Problem("not-found")
    return response["trace"], _said(response)


class _Telling:
    """Tells the client each event of a run once and in order. Neither the run nor its response waits for the client."""

    def __init__(self, call: Call, run: str) -> None:
        self._call = call
        self._run = run
        self._last = 0
        # Number and words of each step that is still to be sent; None is the end.
        self._unsent: asyncio.Queue[tuple[float, str] | None] = asyncio.Queue()
        self._unsent.put_nowait((0.0, f"run {run}"))

    async def send(self) -> None:
        """Send what there is to tell, until its end."""
        while (step := await self._unsent.get()) is not None:
            await self._call.tell(*step)

    async def follow(self) -> None:
        """Each event as it is written, until the run ends."""
        async for frame in stream.follow(self._call.principal, self._run):
            entry = _entry(frame)
            if entry is not None:
                self.tell([entry])

    def tell(self, trace: Iterable[Json]) -> None:
        for entry in trace:
            if entry["seq"] > self._last:
                self._last = entry["seq"]
                step = f"step {entry['step']}, " if entry["step"] else ""
                words = _WORDS.get(str(entry["event"]), "").format_map(entry)
                self._unsent.put_nowait((float(entry["seq"]), f"{step}{entry['phase']}: {words}"))

    def end(self) -> None:
        self._unsent.put_nowait(None)


@asynccontextmanager
async def _telling(call: Call, run: str, patience: float) -> AsyncIterator[_Telling]:
    """Steps told within this block are sent beside it, and what is left of them for *patience* seconds after it."""
    telling = _Telling(call, run)
    sending = asyncio.create_task(telling.send())
    try:
        yield telling
        telling.end()
        await asyncio.wait({sending}, timeout=patience)
    finally:
        sending.cancel()
        # A client that is gone is told no more; its run is found again by its key.
        await asyncio.gather(sending, return_exceptions=True)


async def _wait(started: runs.Started, telling: _Telling) -> Record | None:
    task = runs.launch(started)
    following = asyncio.create_task(telling.follow())
    try:
        return await runs.wait(started, task)
    finally:
        following.cancel()
        await asyncio.wait({following})


def _entry(frame: str) -> Json | None:
    """The step in a frame of the stream; None for heartbeats, the answer, and the end."""
    lines = dict(line.partition(": ")[::2] for line in frame.splitlines())
    if lines.get("event") not in ("step", "evidence"):
        return None
    entry: Json = json.loads(lines["data"])
    return entry


def _said(response: Json) -> Said:
    answer = response["answer"]
    pieces = [clean(answer["text"])] if answer and answer["text"] else []
    pieces += evidence_pieces(response["evidence"], ROOM - sum(map(len, pieces)))
    return said(_told(response), pieces, response)


def _told(response: Json) -> Iterable[str]:
    usage: dict[str, Any] = response["usage"] or {}
    reason = f" ({response['reason']})" if response["reason"] else ""
    yield f"Outcome: {response['outcome'] or response['status']}{reason}. Run {response['run_id']}."
    yield _ADVICE.get(str(response["outcome"]), NOTICE)
    yield f"Steps used: {usage.get('steps', 0)} of {response['budget']['max_steps']}; model: {response['model']}."
    if response["removed_sentences"]:
        reasons = ", ".join(one["reason"] for one in response["removed_sentences"])
        yield f"{len(response['removed_sentences'])} sentences did not stand and were removed: {reasons}."
    if response["widen_attempts"]:
        yield f"{len(response['widen_attempts'])} attempts to reach beyond the scope had no effect."
