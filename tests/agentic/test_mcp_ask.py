"""Asking over MCP: every outcome as REST gives it, with its steps told, and a run that outlives who asked."""

import asyncio
import re
import threading
from typing import Any

import anyio
import pytest

from agentic.models import AgentPolicy, Run, RunState
from agentic.web.mcp.asking import ask_mail
from agentic.web.mcp.calls import Call
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import QUESTION, unwritable
from tests.agentic.cast import House, house
from tests.standins.mcp_client import ERAS, call, connected, text_of
from tests.standins.model_server import Exchange, stream
from tests.standins.model_server import message as says
from tests.standins.server_process import ServerProcess
from tests.standins.service import QUOTED, Service, answers_golf, configured

pytestmark = pytest.mark.django_db(transaction=True)
FENCE = re.compile(r"--- mail ([0-9a-f]{32}) ---\n(.*)\n--- end \1 ---", re.DOTALL)


def calls(tool: str, arguments: str) -> Exchange:
    return stream(says(None, (tool, arguments)), "tool_calls")


def broken(handler: Any) -> None:
    handler.send(400, "{}", connection="close")


@pytest.mark.parametrize(
    ("outcome", "script", "era"),
    [
        ("answered", [answers_golf()], "legacy"),
        ("answered", [answers_golf()], "auto"),
        ("insufficient_evidence", [calls("search", '{"query": "hail"}'), calls("insufficient", "{}")], "auto"),
        ("budget_exhausted", [calls("search", '{"query": "Golf"}')], "auto"),
        ("degraded", [broken], "auto"),
    ],
)
def test_each_outcome_is_the_response_of_rest_and_its_steps_were_told(
    service: Service, settings: Any, outcome: str, script: list[Exchange], era: str
) -> None:
    headers = house().jo.headers
    told: list[tuple[float, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def ask() -> Any:
        async with connected(service.url, headers, era) as client:
            return await client.call_tool("ask_mail", {"query": QUESTION}, progress_callback=tell)

    with configured(settings, *script), service.client(headers) as client:
        result = asyncio.run(ask())
        body = result.structured_content
        assert client.get(f"/v1/runs/{body['run_id']}").json() == body
    assert not result.is_error
    assert body["outcome"] == outcome
    text = text_of(result)
    assert text.startswith(f"Outcome: {outcome}")
    fenced = FENCE.search(text)
    assert fenced is not None
    assert QUOTED in fenced[2]
    assert QUOTED not in text.replace(fenced[0], "")
    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers))
    assert told[0][1] == f"run {body['run_id']}"
    assert str(told[-1][1]).endswith(f": {outcome}")
    assert [number for number in numbers if number] == [entry["seq"] for entry in body["trace"]]
    assert QUOTED not in str(told)


def test_a_run_that_ends_while_a_step_is_being_told_loses_no_step(settings: Any) -> None:
    """The model replies once the second step is on its way to a client who takes it only after the run's end."""
    home, begun = house(), threading.Event()
    told: list[float] = []

    async def tell(number: float, words: str) -> None:
        if number == 2:
            begun.set()
            while await in_worker(_states, home) != ["finished"]:  # noqa: ASYNC110 - of another task
                await asyncio.sleep(0.01)
            # Whoever waits for the run learns of its end a little after it was written.
            await asyncio.sleep(0.2)
        told.append(number)

    def waits(handler: Any) -> None:
        begun.wait(30)
        answers_golf()(handler)

    with configured(settings, waits):
        said = asyncio.run(ask_mail(Call(home.jo.principal, {"query": QUESTION}, tell), patience=60))
    assert told == [0, *(entry["seq"] for entry in said.data["trace"])]


@pytest.mark.parametrize("taken", [0, 2])
def test_a_client_that_stops_reading_delays_neither_its_run_nor_its_result(settings: Any, taken: int) -> None:
    told: list[float] = []

    async def tell(number: float, words: str) -> None:
        if len(told) == taken:
            await asyncio.Event().wait()
        told.append(number)

    arguments = {"query": QUESTION, "idempotency_key": "once", "now": "2026-03-20T10:00:00Z"}
    asking = Call(house().jo.principal, arguments, tell)
    with configured(settings, answers_golf()):
        first = asyncio.run(ask_mail(asking, patience=0.01))
        # What was answered already is answered once more, and told no further.
        again = asyncio.run(ask_mail(asking, patience=0.01))
    assert first.data["outcome"] == "answered"
    assert again.data == first.data
    assert told == [0, 1][:taken]


def test_a_run_that_cannot_be_written_down_is_refused_with_what_to_do(service: Service, owner_conninfo: str) -> None:
    headers = house().jo.headers
    with unwritable(owner_conninfo):
        refused = call(service.url, headers, "ask_mail", query=QUESTION, budget={"max_seconds": 1})
    assert refused.is_error
    assert refused.structured_content["type"].endswith("/audit-unavailable")
    assert refused.structured_content["status"] == 503
    assert "Try again in 1 s" in text_of(refused)


def test_a_budget_only_lowers(service: Service, settings: Any) -> None:
    headers = house().jo.headers
    with configured(settings, answers_golf()):
        low = call(service.url, headers, "ask_mail", query=QUESTION, budget={"max_steps": 2, "max_seconds": 5})
        high = call(service.url, headers, "ask_mail", query=QUESTION, budget={"max_steps": 20, "max_seconds": 120})
    assert low.structured_content["budget"] == {"max_steps": 2, "max_seconds": 5}
    assert high.structured_content["budget"] == {"max_steps": 6, "max_seconds": 8}


def _states(home: House) -> list[str]:
    with bound(Binding(audit=frozenset({home.office.tenant.pk}))):
        runs = Run.objects.filter(tenant=home.office.tenant).values_list("pk", flat=True)
        return list(RunState.objects.filter(pk__in=list(runs)).values_list("status", flat=True))


@pytest.mark.parametrize("era", ERAS)
def test_a_run_goes_on_when_its_caller_leaves_and_is_found_again_by_its_key(
    service: Service, settings: Any, era: str
) -> None:
    home = house()
    headers = home.jo.headers
    arguments = {"query": QUESTION, "idempotency_key": "once", "now": "2026-03-20T10:00:00Z"}

    async def ask_and_leave(released: Any) -> None:
        begun = anyio.Event()

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        async with connected(service.url, headers, era) as client, anyio.create_task_group() as group:

            async def ask() -> None:
                await client.call_tool("ask_mail", arguments, progress_callback=tell)

            group.start_soon(ask)
            await begun.wait()
            group.cancel_scope.cancel()
        released.set()

    def waits(handler: Any) -> None:
        handler.released.wait(30)
        answers_golf()(handler)

    with configured(settings, waits) as model:
        asyncio.run(ask_and_leave(model.released))
        again = call(service.url, headers, "ask_mail", era, **arguments)
    assert again.structured_content["outcome"] == "answered"
    assert again.structured_content["status"] == "finished"
    assert _states(home) == ["finished"]


def test_two_workers_serve_one_client(settings: Any) -> None:
    home = house()
    # Processes that have just begun may be slow.
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=60)
    headers = home.jo.headers
    with configured(settings, answers_golf()) as model, ServerProcess(model.url, workers=2) as server:

        async def use(client: Any) -> tuple[bool, str]:
            found = await client.call_tool("search", {"query": "Golf"})
            asked = await client.call_tool("ask_mail", {"query": QUESTION})
            return found.is_error, asked.structured_content["outcome"]

        async def many() -> list[tuple[bool, str]]:
            results: list[tuple[bool, str]] = []

            async def one(era: str) -> None:
                async with connected(server.url, headers, era) as client:
                    results.append(await use(client))

            async with anyio.create_task_group() as group:
                for era in ERAS:
                    group.start_soon(one, era)
            return results

        assert asyncio.run(many()) == [(False, "answered")] * 2
