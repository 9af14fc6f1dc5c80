"""Asks questions as a caller would, with a model that does what it is told."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from agentic import records, responses, runs, verifiers
from agentic.callers import Principal
from agentic.core.ports import Model
from mailsearch import embeddings
from tests.standins.scripted_model import ScriptedModel, answers

Result = TypeVar("Result")
QUESTION = "Did the insurer accept the Golf claim?"


def insurer_accepts() -> ScriptedModel:
    """Answers the Golf question from the mail, with a true quote."""
    text = "The insurer accepts liability for the damage to the Golf."
    return ScriptedModel(answers((text, "accept liability", "we accept liability for the damage to the Golf")))


async def ask(principal: Principal, model: Model, text: str = QUESTION, **more: Any) -> str:
    """The public id of a run that was driven to its end."""
    # A run's seconds are its own: what a process loads once is loaded before.
    await asyncio.to_thread(verifiers.ready)
    await asyncio.to_thread(embeddings.warm)
    started = await runs.start(principal, runs.Ask(text, **more), runs.Models(model))
    if isinstance(started, runs.Started):
        await runs.wait(started, runs.launch(started))
    return started.public_id


def asked(principal: Principal, model: Model, text: str = QUESTION, **more: Any) -> dict[str, Any]:
    """The response to a question."""
    response = read(principal, asyncio.run(ask(principal, model, text, **more)))
    assert response is not None
    return response


def read(principal: Principal, public_id: str) -> dict[str, Any] | None:
    """The response as this reader gets it now."""
    record = asyncio.run(records.load(principal, public_id))
    return responses.build(record) if record else None


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(coroutine)


@contextmanager
def unwritable(owner: str) -> Iterator[None]:
    """Within this block no run can be written down."""
    with psycopg.connect(owner) as conn:
        conn.execute("LOCK TABLE agentic_run IN EXCLUSIVE MODE")
        yield
        conn.rollback()
