"""Runs a loop to its end and gives what happened."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from agentic.core.events import Event, Finished
from agentic.core.loop import Limits, Loop, Question
from agentic.core.ports import Model, Toolbox

NOW = datetime(2026, 3, 20, 10, tzinfo=UTC)


def run(
    model: Model, toolbox: Toolbox, asked: str = "Who accepted the Golf claim?", *, limits: Limits | None = None,
    watch: Callable[[Loop, Event], None] | None = None, **more: Any,
) -> list[Event]:  # fmt: skip
    """All events of one run. *watch* sees each before the next is asked for."""
    question = Question(asked, NOW, "Europe/Berlin")
    loop = Loop(question, model, toolbox, limits or Limits(), **more)

    async def collect() -> list[Event]:
        events = []
        async for event in loop.events():
            events.append(event)
            if watch is not None:
                watch(loop, event)
        return events

    return asyncio.run(collect())


def finished(events: list[Event]) -> Finished:
    """The last event, which must be the only one of its kind."""
    last = events[-1]
    assert isinstance(last, Finished)
    assert sum(isinstance(event, Finished) for event in events) == 1
    return last
