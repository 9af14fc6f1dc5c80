"""Whatever a model's server sends, a run ends in its time with a right outcome and a whole trace."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from agentic.callers import Principal
from agentic.chain import state
from agentic.llm.http import HttpModel
from agentic.models import AgentPolicy, Evidence, Run
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import asked
from tests.agentic.cast import house
from tests.standins import model_server as server
from tests.standins.model_server import Exchange, ModelServer
from tests.standins.service import QUOTED, answers_golf

Calls = list[tuple[str, str]]


@dataclass
class Asker:
    """Somebody who asks with plenty of time, however busy the machine."""

    jo: Principal

    def ask(self, *script: Exchange, **more: Any) -> dict[str, Any]:
        with ModelServer(*script) as there:
            response = asked(self.jo, HttpModel("hostile", there.url), **{"max_seconds": 60.0, **more})
        with bound(Binding(self.jo.tenant, audit=frozenset({self.jo.tenant}))):
            assert state(Run.objects.get(public_id=response["run_id"])).status == "sealed"
        assert [one["seq"] for one in response["trace"]] == list(range(1, len(response["trace"]) + 1))
        assert [one["event"] for one in response["trace"]].count("finished") == 1
        assert (response["answer"] is not None) == (response["outcome"] == "answered")
        return response


@pytest.fixture(scope="module")
def asker(django_db_setup: None, django_db_blocker: Any) -> Iterator[Asker]:
    with django_db_blocker.unblock():
        home = house()
        AgentPolicy.objects.update_or_create(tenant=home.office.tenant, defaults={"agentic_max_seconds": 60})
        yield Asker(home.jo.principal)


def sends(*calls: tuple[str, str]) -> Exchange:
    said = {"index": 0, "message": server.message(None, *calls), "finish_reason": "tool_calls"}
    # Else the connection is kept for a next request, and the server waits for that before it ends.
    return server.fails(200, {"choices": [said], "usage": server.USAGE}, connection="close")


def nested(layers: int) -> str:
    return "[" * layers + "]" * layers


@pytest.mark.parametrize(
    "bad",
    [
        sends(("search", '{"query": "golf", "limit": NaN}')),
        sends(("search", '{"query": "golf", "offset": -1e999}')),
        sends(("search", '{"query": ' + "9" * 4_000 + "}")),
        sends(("search", f'{{"query": "golf", "from": {nested(300)}}}')),
        sends(("search", f'{{"query": {nested(30)}}}')),
        sends(("search", '{"query": "golf", "query": 1, "query": {"a": "b"}}')),
        sends(("search", '{"query": "golf \\u0000 \\ud800", "\\u0000\\udfff": "\\udfff"}')),
        sends(("se\ud800\0arch", '{"query": "golf"}')),
        sends(("search", json.dumps({"query": "g" + "\u0338\u200d\U000e0041" * 50_000}))),
        sends(("search", json.dumps({"q" * 200_000: "golf"}))),
        sends(*(("search", json.dumps({"query": f"golf {number}"})) for number in range(3_000))),
        sends(*((f"tool_{number}" * 20, "{}") for number in range(500))),
        sends(("answer", '{"sentences": [{"text": 1, "citations": 2, "quotes": 3}, null, [], "x"], "missing": []}')),
        server.whole(server.message("<think>" * 2_000 + '{"name": "search", "arguments": ' + nested(400))),
        server.fails(200, '{"choices": ' + nested(900) + "}"),
        server.fails(200, '{"choices": [{"message": {"tool_calls": "' + "x" * 9_000 + '"}}]}'),
        server.streams_text("data: [1]\n\n", "data: null\n\n", "data: [DONE]\n\n"),
    ],
)
def test_a_broken_reply_costs_a_step_and_the_next_one_answers(asker: Asker, bad: Exchange) -> None:
    response = asker.ask(bad, answers_golf())
    assert response["outcome"] == "answered"
    assert 1 < response["usage"]["steps"] <= response["budget"]["max_steps"]


@pytest.mark.parametrize("usage", [10**30, -5, 1e300, "all"])
def test_what_a_server_says_of_its_tokens_does_not_keep_the_end_from_being_written(asker: Asker, usage: object) -> None:
    counted = {"prompt_tokens": usage, "completion_tokens": usage}
    searches = server.whole(server.message(None, ("search", '{"query": "golf"}')), "tool_calls", usage=counted)
    response = asker.ask(searches, answers_golf())
    assert response["outcome"] == "answered"
    assert 0 < response["usage"]["tokens"]["prompt"] < 100_000


def test_a_label_of_another_run_cites_nothing(asker: Asker) -> None:
    before = asker.ask(answers_golf())
    with bound(Binding(asker.jo.tenant, audit=frozenset({asker.jo.tenant}))):
        labels = list(Evidence.objects.filter(run__public_id=before["run_id"]).values_list("label", flat=True))
    sentence = {
        "text": QUOTED,
        "citations": labels[:1],
        "quotes": [{"label": label, "text": QUOTED} for label in labels[:4]],
    }
    answer = sends(("answer", json.dumps({"sentences": [sentence]})))
    response = asker.ask(
        sends(("search", '{"query": "golf liability"}')), answer, server.fails(401, connection="close")
    )
    assert (response["outcome"], response["reason"]) == ("insufficient_evidence", "all_removed")
    assert {one["reason"] for one in response["removed_sentences"]} == {"unknown_label"}


def test_calls_beside_and_after_a_final_answer_are_not_made(asker: Asker) -> None:
    sentence = {"text": "x", "citations": ["abc123"], "quotes": []}
    final = ("answer", json.dumps({"sentences": [sentence]}))
    more: Calls = [("search", json.dumps({"query": f"golf {number}"})) for number in range(20)]
    first = sends(("search", '{"query": "golf liability"}'))
    response = asker.ask(first, sends(*more, final, *more, final), sends(*more, final))
    assert (response["outcome"], response["reason"]) == ("insufficient_evidence", "all_removed")
    assert response["usage"]["tool_calls"] == 2


def test_a_reply_that_never_ends_is_given_up_in_time(asker: Asker) -> None:
    response = asker.ask(server.drips("data: {}\n\n"), max_seconds=4.0)
    assert response["outcome"] in ("degraded", "budget_exhausted")
    assert response["evidence"]
    assert response["usage"]["seconds"] <= 4.0
