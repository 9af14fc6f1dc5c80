"""kill -9 in the middle of runs: at the next start each is closed as far as it had come, and nothing counts twice.

The day's cap goes on where it was, for all processes together.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import httpx
import pytest

from agentic import runs
from agentic.models import AgentPolicy, CallerUse, DailyUse, Evidence, Run, RunFinished, RunState, TraceEvent
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import QUESTION, insurer_accepts, read
from tests.agentic.cast import Caller, House, house
from tests.standins import model_server
from tests.standins.model_server import ModelServer, message, stream
from tests.standins.server_process import ServerProcess
from tests.standins.service import events

pytestmark = pytest.mark.django_db(transaction=True)
# Words of a question at which the model falls silent, and how: before a byte, after a search, within a reply.
SILENT: Mapping[str, Callable[[Any], None]] = {
    "at first": model_server.hangs,
    "after a search": model_server.hangs_after_head,
    "within a reply": model_server.falls_silent,
}
CLOSING = ["cut", "finished", "done"]
# Runs that the day still has once the killed ones are counted.
LEFT = 2


def _reply(handler: Any) -> None:
    """Searches on and on; or falls silent at the place that the question names."""
    turns = handler.body["messages"]
    told = json.dumps(turns)
    searched = sum(turn["role"] == "assistant" for turn in turns)
    how = next((how for words, how in SILENT.items() if words in told), None)
    if how is not None and (searched > 1 or "Silent at first" in told):
        how(handler)
    else:
        time.sleep(0.05)
        stream(message(None, ("search", json.dumps({"query": f"Golf {searched}"}))), "tool_calls")(handler)


def _begin(stack: ExitStack, client: httpx.Client, question: str) -> str:
    """The id of a run that goes on while *stack* is open."""
    body = {"query": question, "mode": "agentic", "stream": True}
    response = stack.enter_context(client.stream("POST", "/v1/search", json=body))
    assert response.status_code == 200
    return str(next(events(response.iter_lines()))[2]["run_id"])


def _trace(home: House, run: str) -> list[TraceEvent]:
    with bound(Binding(audit=frozenset({home.office.tenant.pk}))):
        return list(TraceEvent.objects.filter(run__public_id=run).order_by("seq"))


def _names(home: House, run: str) -> list[str]:
    return [row.event for row in _trace(home, run)]


def _wait(until: Callable[[], bool]) -> None:
    """Looks until it is so. The bound is for a test that would else hang, not for the service."""
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end
        time.sleep(0.01)


def _is_closed(home: House, names: list[str]) -> bool:
    return not RunState.objects.filter(run_id__in=_ids(home, names), status__in=("queued", "running")).exists()


def _ids(home: House, names: list[str]) -> list[int]:
    with bound(Binding(audit=frozenset({home.office.tenant.pk}))):
        return list(Run.objects.filter(public_id__in=names).values_list("pk", flat=True))


def _let_leases_run_out(home: House) -> None:
    RunState.objects.filter(tenant=home.office.tenant, status__in=("queued", "running")).update(
        leased_until="2020-01-01T00:00:00Z"
    )


@pytest.fixture
def silent_model() -> Iterator[ModelServer]:
    with ModelServer(_reply) as server:
        yield server


def _check(home: House, jo: Caller, run: str, before: list[str]) -> None:
    """The run was closed where it was, the trace goes on without a gap, and evidence belongs to what found it."""
    trace = _trace(home, run)
    assert [row.event for row in trace] == [*before, *CLOSING]
    assert [row.seq for row in trace] == list(range(1, len(trace) + 1))
    response = read(jo.principal, run)
    assert response is not None
    assert (response["status"], response["reason"], response["answer"]) == ("interrupted", "interrupted", None)
    assert response["usage"]["model_calls"] == before.count("asked")
    admitted = {(row.seq, one) for row in trace if row.event == "found" for one in row.data["admitted"]}
    with bound(Binding(audit=frozenset({home.office.tenant.pk}))):
        assert RunFinished.objects.filter(run__public_id=run).count() == 1
        assert set(Evidence.objects.filter(run__public_id=run).values_list("seq", "message_id")) == admitted


def _admitted(client: httpx.Client, jo: Caller) -> int:
    """How many runs are admitted of those that two processes, the server and this one, ask for at the same time."""

    async def here() -> int:
        asked = [runs.start(jo.principal, runs.Ask(QUESTION), runs.Models(insurer_accepts())) for _ in range(LEFT + 1)]
        return sum(isinstance(one, runs.Started) for one in await asyncio.gather(*asked, return_exceptions=True))

    ask = partial(client.post, "/v1/search", json={"query": QUESTION, "mode": "agentic"})
    with ThreadPoolExecutor() as pool:
        there = [pool.submit(ask, headers={"Prefer": "respond-async"}) for _ in range(LEFT + 1)]
        admitted = asyncio.run(here())
        answers = [one.result().status_code for one in there]
    assert set(answers) <= {202, 429}
    return admitted + answers.count(202)


def test_runs_that_a_killed_server_left_are_closed_at_the_next_start(silent_model: ModelServer) -> None:
    home = house()
    ample = {"agentic_max_seconds": 120, "agentic_max_steps": 20, "agentic_daily_tokens": 50_000_000}
    ample |= {"agentic_daily_cap": len(SILENT) + 1 + LEFT}
    AgentPolicy.objects.create(tenant=home.office.tenant, **ample)
    jo = home.jo
    with ServerProcess(silent_model.url) as server, ExitStack() as stack:
        client = stack.enter_context(server.client(jo.headers))
        begun = [_begin(stack, client, f"{QUESTION} Silent {words}.") for words in SILENT]
        # One killed wherever it happens to be among its searches.
        begun.append(_begin(stack, client, QUESTION))
        _wait(lambda: "asked" in _names(home, begun[0]))
        _wait(lambda: all(_names(home, run).count("asked") >= 2 for run in begun[1:]))
        server.kill()
    before = {run: _names(home, run) for run in begun if not _is_closed(home, [run])}
    assert set(begun[:3]) <= set(before)
    _let_leases_run_out(home)
    with ServerProcess(silent_model.url) as server:
        _wait(lambda: _is_closed(home, begun))
        with server.client(jo.headers) as client:
            after = client.get(f"/v1/runs/{begun[0]}").json()
            assert after["status"] == "interrupted"
            for run, names in before.items():
                _check(home, jo, run, names)
            used = DailyUse.objects.get(tenant=home.office.tenant)
            mine = CallerUse.objects.get(tenant=home.office.tenant)
            assert [(one.used, one.reserved_tokens) for one in (used, mine)] == [(len(begun), 0)] * 2
            assert used.tokens == mine.tokens > 0
            assert _admitted(client, jo) == LEFT
    used.refresh_from_db()
    assert used.used == len(begun) + LEFT
