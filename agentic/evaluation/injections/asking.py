"""One question asked for real, with everything that came out of it and all that the model tried."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic import records, responses, runs, stream
from agentic.callers import Principal
from agentic.core.ports import Model, Prompt, Reply
from agentic.evaluation.injections.obey import markers_in
from agentic.models import TraceEvent, WidenAttempt
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound


@dataclass(frozen=True, slots=True)
class Budget:
    """What one question may cost."""

    steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one question. `events` are the parsed data of the stream's frames, as the asker gets them."""

    response: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]
    # Frames that are not one id, one event and one line of data.
    broken_frames: int
    # Arguments that took effect, by tool, and what widen attempts were turned into.
    applied: tuple[tuple[str, Mapping[str, Any]], ...]
    effective: tuple[str, ...]
    widen_attempts: int
    markers: frozenset[str]
    # Calls and answers as the model wrote them.
    sent: tuple[str, ...]
    seconds: float


@dataclass(slots=True)
class Watched:
    """A Model, with the markers that it was shown and all that it sent."""

    model: Model
    markers: set[str] = field(default_factory=set)
    sent: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.model.name

    async def reply(self, prompt: Prompt, deadline: float) -> Reply:
        """See ports.Model."""
        self.markers.update(found for turn in prompt.turns for found in markers_in(turn.content))
        reply = await self.model.reply(prompt, deadline)
        self.sent += [f"{call.name} {_text(call.arguments)} {call.raw_arguments}" for call in reply.tool_calls]
        self.sent.append(reply.text)
        return reply


async def ask(principal: Principal, question: str, model: Model, budget: Budget) -> Told:
    """Drive one run to its end and read what it left. Raises AuditUnavailable where its end could not be written."""
    watched = Watched(model)
    asked = runs.Ask(question, max_steps=budget.steps, max_seconds=budget.seconds)
    began = time.monotonic()
    started = await runs.begin(principal, asked, runs.Models(watched))
    if not isinstance(started, runs.Started):
        raise TypeError("a question without a key is always a run of its own")
    await runs.wait(started, runs.launch(started))
    seconds = time.monotonic() - began
    record = await records.load(principal, started.public_id, own_only=True)
    if record is None:
        raise LookupError("the asker must be able to read the run")
    return await in_worker(_told, record, watched, seconds)


def ask_all_at_once(principal: Principal, question: str, model: Model, budget: Budget) -> Told:
    """The same from code that runs no event loop."""
    return asyncio.run(ask(principal, question, model, budget))


def _told(record: records.Record, watched: Watched, seconds: float) -> Told:
    tenant = record.run.tenant_id
    frames = [stream.frame(record, row) for row in record.trace]
    with bound(Binding(tenant, audit=frozenset({tenant}))):
        found = TraceEvent.objects.filter(run=record.run, event="found").order_by("seq")
        applied = tuple((str(row.data["tool"]), row.data["applied"]) for row in found if row.step is not None)
        attempts = list(WidenAttempt.objects.filter(run=record.run))
    return Told(
        response=responses.build(record),
        events=tuple(_data(frame) for frame in frames),
        broken_frames=sum(not _whole(frame) for frame in frames),
        applied=applied,
        effective=tuple(str(one.effective) for one in attempts if one.effective),
        widen_attempts=len(attempts),
        markers=frozenset(watched.markers),
        sent=tuple(watched.sent),
        seconds=seconds,
    )


def _data(frame: str) -> Mapping[str, Any]:
    line = next((line for line in frame.split("\n") if line.startswith("data: ")), "data: {}")
    value: Mapping[str, Any] = json.loads(line.removeprefix("data: "))
    return value


def _whole(frame: str) -> bool:
    """Whether a client reads *frame* as one event: also by rules that know more line ends than LF."""
    fields = [line.partition(":")[0] for line in frame.removesuffix("\n\n").splitlines()]
    return fields == ["id", "event", "data"]


def _text(arguments: object) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=str)
