"""Runs hold no database connection while their models think."""

import asyncio

import pytest

from agentic import runs
from agentic.callers import Principal
from agentic.core.ports import Prompt, Reply
from agentic.models import AgentPolicy
from mailsearch.sessions import pool
from tests.agentic.asking import QUESTION, read
from tests.agentic.cast import house
from tests.standins.scripted_model import ScriptedModel, declares

pytestmark = pytest.mark.django_db(transaction=True)
_TOGETHER = 10


def _callers() -> list[Principal]:
    """Ten, of three tenants: no tenant and no caller may have so many runs at once."""
    found = []
    for count in (4, 4, 2):
        home = house()
        AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=60)
        found += [home.jo.principal] * count
    return found


def test_ten_runs_think_at_the_same_time_over_two_connections() -> None:
    callers = _callers()

    async def all_together() -> list[str]:
        thinking, everybody = 0, asyncio.Event()

        async def wait_for_the_others(prompt: Prompt) -> Reply:
            # Were a connection held by who thinks, the third would never get to think.
            nonlocal thinking
            thinking += 1
            if thinking == _TOGETHER:
                everybody.set()
            await everybody.wait()
            return declares()

        async def one(caller: Principal) -> str:
            model = ScriptedModel(wait_for_the_others, declares())
            started = await runs.start(caller, runs.Ask(QUESTION), runs.Models(model))
            assert isinstance(started, runs.Started)
            await runs.wait(started, runs.launch(started))
            return started.public_id

        async with pool(size=2):
            return await asyncio.gather(*map(one, callers))

    for caller, run in zip(callers, asyncio.run(all_together()), strict=True):
        response = read(caller, run)
        assert response is not None
        assert (response["status"], response["outcome"]) == ("finished", "insufficient_evidence")
