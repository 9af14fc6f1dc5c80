"""The model over HTTP, against a loopback server that speaks the real wire format."""

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agentic.core.ports import ModelFault, Prompt, PromptTurn, Reply, ToolCall, ToolSpec, Usage
from agentic.llm.breaker import FAILURES_TO_OPEN, Breaker
from agentic.llm.http import HttpModel
from agentic.llm.wire import Prices
from tests.standins import model_server as server
from tests.standins.model_server import ModelServer

SEARCH = ToolSpec("search", "Search the mail.", {"type": "object", "properties": {"query": {"type": "string"}}})
PROMPT = Prompt(
    phase="judge",
    turns=(
        PromptTurn("system", "You answer."),
        PromptTurn("user", "Who paid?"),
        PromptTurn("assistant", "", (ToolCall("call_0", "search", {"query": "paid"}),)),
        PromptTurn("tool", "Nothing found.", call_id="call_0"),
        PromptTurn("user", "Go on."),
    ),
    tools=(SEARCH,),
    forced_tool="",
    question="Who paid?",
    shown=(),
    queries=("paid",),
    now=datetime(2026, 3, 20, tzinfo=UTC),
    timezone="UTC",
    session="9f8e7d",
    max_output_tokens=321,
)
FORCED = replace(PROMPT, forced_tool="search")


def with_model(
    mail_server: ModelServer, act: Callable[[HttpModel], Awaitable[Reply]], **more: Any
) -> Reply:  # fmt: skip
    """What *act* gives with a model behind *mail_server*; its connections are closed at the end."""

    async def go() -> Reply:
        async with HttpModel("some-model", mail_server.url, "secret", **more) as model:
            return await act(model)

    return asyncio.run(go())


def ask(mail_server: ModelServer, prompt: Prompt = PROMPT, seconds: float = 5.0, **more: Any) -> Reply:
    return with_model(mail_server, lambda model: model.reply(prompt, time.monotonic() + seconds), **more)


def fault(mail_server: ModelServer, seconds: float = 5.0, **more: Any) -> ModelFault:
    with pytest.raises(ModelFault) as caught:
        ask(mail_server, seconds=seconds, **more)
    return caught.value


@pytest.mark.parametrize("form", [server.stream, server.whole])
def test_text_calls_reasoning_and_usage_arrive_streamed_and_whole(form: Callable[..., server.Exchange]) -> None:
    said = server.message(
        "Zwei Suchen\u2028und „mehr“.",
        ("search", '{"query": "paid"}'),
        ("search", '{"query": "bezahlt"}'),
        reasoning="Let me think.",
    )
    with ModelServer(form(said, "tool_calls")) as there:
        reply = ask(there, prices=Prices(prompt=0.45, cached=0.05, completion=3.20))
    assert reply.text == "Zwei Suchen\u2028und „mehr“."
    assert reply.reasoning == "Let me think."
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("search", {"query": "paid"}),
        ("search", {"query": "bezahlt"}),
    ]
    assert reply.finish_reason == "tool_calls"
    assert replace(reply.usage, cost_usd=0.0) == Usage(1840, 1400, 96)
    assert reply.usage.cost_usd == pytest.approx((440 * 0.45 + 1400 * 0.05 + 96 * 3.20) / 1e6)


def test_the_request_is_openais_with_plain_strings_and_static_parts_first() -> None:
    with ModelServer(server.stream(server.message("x"))) as there:
        ask(there)
        seen = there.seen[0]
    assert seen.path == "/chat/completions"
    assert seen.headers["authorization"] == "Bearer secret"
    assert seen.headers["x-session-affinity"] == "9f8e7d"
    assert all(isinstance(turn["content"], str) for turn in seen.body["messages"])
    assert seen.body["messages"][2]["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"query": "paid"}'}
    assert seen.body["messages"][3] == {"role": "tool", "content": "Nothing found.", "tool_call_id": "call_0"}
    assert seen.body["tools"][0]["function"]["name"] == "search"
    assert seen.body["tool_choice"] == "auto"
    assert seen.body["max_tokens"] == 321
    assert list(seen.body)[:3] == ["model", "tools", "messages"]
    assert "options" not in seen.body
    assert "reasoning_effort" not in seen.body


def test_workers_ai_has_its_own_path_effort_and_rejects_if_busy() -> None:
    with ModelServer(server.stream(server.message("x"))) as there:
        ask(there, FORCED, account_id="acc1", effort="low")
        seen = there.seen[0]
    assert seen.path == "/client/v4/accounts/acc1/ai/v1/chat/completions"
    assert seen.body["options"] == {"rejectIfBusy": True}
    assert seen.body["reasoning_effort"] == "low"
    assert seen.body["tool_choice"] == {"type": "function", "function": {"name": "search"}}


def test_the_native_form_of_workers_ai_is_read_too() -> None:
    body = {"success": True, "errors": [], "result": {"response": None, "usage": {"prompt_tokens": 5},
            "tool_calls": [{"name": "search", "arguments": {"query": "paid"}}]}}  # fmt: skip
    with ModelServer(server.fails(200, body)) as there:
        reply = ask(there)
    assert reply.tool_calls[0].arguments == {"query": "paid"}
    assert reply.usage.prompt == 5


def test_arguments_that_are_no_json_come_as_none_with_their_text() -> None:
    with ModelServer(server.stream(server.message(None, ("search", '{"query": "pa')), "length")) as there:
        reply = ask(there)
    assert reply.tool_calls[0].arguments is None
    assert reply.tool_calls[0].raw_arguments == '{"query": "pa'
    assert reply.finish_reason == "length"


@pytest.mark.parametrize(
    "arguments", ['{"limit": NaN}', '{"limit": -1e999}', '{"query": ' + "[" * 500 + "]" * 500 + "}"]
)
def test_arguments_that_nothing_could_work_on_come_as_none(arguments: str) -> None:
    with ModelServer(server.whole(server.message(None, ("search", arguments)))) as there:
        assert ask(there).tool_calls[0].arguments is None


@pytest.mark.parametrize("nonsense", [-1, 10**30, "many", 1e400, None])
def test_numbers_of_tokens_that_cannot_be_meant_are_estimated(nonsense: object) -> None:
    usage = {"prompt_tokens": nonsense, "completion_tokens": nonsense}
    with ModelServer(server.whole(server.message("x" * 400), usage=usage)) as there:
        reply = ask(there, prices=Prices(prompt=1.0, completion=1.0))
    assert (reply.usage.completion, 10 < reply.usage.prompt < 1_000) == (100, True)


@pytest.mark.parametrize("piece", ["x" * 65_536, "data: {}\n\n" * 4_000, ": still here\n" * 4_000])
def test_a_stream_without_end_is_given_up(piece: str) -> None:
    def endless(handler: Any) -> None:
        handler.start_stream()
        while not handler.released.is_set():
            handler.chunk(piece)

    with ModelServer(endless) as there:
        caught = fault(there, seconds=30)
    assert (caught.code, caught.charged) == ("too_long_reply", True)


@pytest.mark.parametrize("line", ["data: {}\n\n", ": \n", "x"])
def test_the_deadline_ends_a_call_whose_bytes_never_cease(line: str) -> None:
    with ModelServer(server.drips(line)) as there:
        assert fault(there, seconds=0.2).code == "timeout"


def test_half_of_a_surrogate_pair_in_a_reply_does_not_keep_the_next_prompt_from_being_sent() -> None:
    said = PromptTurn("assistant", "", (ToolCall("call_1", "se\ud800arch", {"query": "half \udfff"}),))
    with ModelServer(server.stream(server.message("fine"))) as there:
        assert ask(there, replace(PROMPT, turns=(*PROMPT.turns[:2], said))).text == "fine"
        assert there.seen[0].body["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"query": "half ?"}'


def test_tokens_are_estimated_where_the_server_counts_none() -> None:
    with ModelServer(server.whole(server.message("x" * 400), usage=None)) as there:
        reply = ask(there)
    assert reply.usage.completion == 100
    assert reply.usage.prompt > 10


@pytest.mark.parametrize(
    ("exchange", "code"),
    [
        (server.fails(429), "rate_limited"),
        (server.workers_ai_error(429, 3036, "used up your daily free allocation"), "daily_quota"),
        (server.workers_ai_error(429, 3040, "No more data centers"), "out_of_capacity"),
        (server.fails(429, {"error": {"message": "AiError: AiError: Capacity (3040)"}}), "out_of_capacity"),
        (server.fails(429, {"error": {"code": "insufficient_quota", "message": "x"}}), "daily_quota"),
        (server.fails(408), "timeout"),
        (server.workers_ai_error(408, 3007), "timeout"),
        (server.workers_ai_error(400, 5007, "No such model"), "no_such_model"),
        (server.workers_ai_error(404, 3042), "no_such_model"),
        (server.fails(401), "auth"),
        (server.workers_ai_error(403, 5018), "auth"),
        (server.fails(413), "too_long"),
        (server.workers_ai_error(413, 3006), "too_long"),
        (server.fails(400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}), "too_long"),
        (server.fails(400, {"error": {"message": "JSON Mode couldn't be met"}}), "json_mode_unmet"),
        (server.fails(400, {"error": {"message": "unknown field"}}), "bad_request"),
        (server.fails(422, "<html>no</html>"), "bad_request"),
        (server.fails(500, "boom"), "server_error"),
        (server.fails(502, "<html>"), "server_error"),
        (server.fails(302, location="http://127.0.0.1:1/"), "bad_request"),
        (server.fails(200, {"success": False, "errors": [{"code": 3040, "message": "busy"}]}), "out_of_capacity"),
        (server.streams_text('data: {"error": {"message": "boom", "code": 3040}}\n\n'), "out_of_capacity"),
        (server.fails(200, "not json"), "invalid_json"),
        (server.fails(200, "[1, 2]"), "invalid_json"),
        (server.fails(200, '{"choices": ' + "[" * 900 + "]" * 900 + "}"), "invalid_json"),
        (server.fails(200, '{"n": ' + "9" * 5_000 + "}"), "invalid_json"),
        (server.fails(500, {"error": {"code": "9" * 5_000}}), "server_error"),
        (server.whole(server.message("x" * 400_001)), "too_long_reply"),
        (server.streams_text('data: {"choices": [{"delta"\n\n'), "invalid_json"),
        (server.streams_text(": keep-alive\n\n"), "cut"),
        (server.cuts_stream, "cut"),
        (server.cuts_body, "cut"),
        (server.drops, "unreachable"),
    ],
)
def test_every_fault_of_the_wire_has_its_code(exchange: server.Exchange, code: str) -> None:
    with ModelServer(exchange) as there:
        caught = fault(there, seconds=1.0)
    assert caught.code == code
    assert caught.charged == (code in {"invalid_json", "cut", "too_long_reply"})


@pytest.mark.parametrize("exchange", [server.hangs, server.hangs_after_head])
def test_a_server_that_sends_no_byte_is_noticed_before_the_deadline(exchange: server.Exchange) -> None:
    with ModelServer(exchange) as there:
        caught = fault(there, seconds=30, first_byte_seconds=0.1)
        assert caught.code == "hung"
        assert not caught.charged
        assert len(there.seen) == 1


def test_a_stream_that_falls_silent_is_noticed_and_charged() -> None:
    with ModelServer(server.falls_silent) as there:
        caught = fault(there, seconds=30, silence_seconds=0.1)
    assert caught.code == "hung"
    assert caught.charged
    assert caught.usage.prompt > 0


def test_the_deadline_ends_a_call_that_has_begun() -> None:
    with ModelServer(server.falls_silent) as there:
        caught = fault(there, seconds=0.3)
    assert caught.code == "timeout"


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with ModelServer(server.drops) as there:
        pass
    assert fault(there, seconds=1.0).code == "unreachable"


def test_what_passes_is_tried_again_and_what_does_not_is_not() -> None:
    good = server.stream(server.message("fine"))
    with ModelServer(server.workers_ai_error(429, 3040), server.fails(503), good) as there:
        assert ask(there).text == "fine"
        assert len(there.seen) == 3
    for lasting in (server.fails(401), server.workers_ai_error(429, 3036), server.fails(400), server.cuts_stream):
        with ModelServer(lasting, good) as there:
            fault(there)
            assert len(there.seen) == 1


def test_a_pause_that_the_deadline_does_not_allow_is_not_waited() -> None:
    with ModelServer(server.fails(429, retry_after="30")) as there:
        caught = fault(there, seconds=5)
        assert caught.code == "rate_limited"
        assert len(there.seen) == 1


def test_a_fault_tells_no_word_of_the_servers_body() -> None:
    with ModelServer(server.fails(400, {"error": {"message": "bad prompt: Dear Jo, the claim"}})) as there:
        caught = fault(there)
    assert "Jo" not in str(caught)


def test_the_circuit_opens_after_failures_and_closes_after_a_success() -> None:
    now = 100.0
    breaker = Breaker(lambda: now)
    bad = [server.fails(500)] * FAILURES_TO_OPEN
    with ModelServer(*bad, server.stream(server.message("fine"))) as there:
        for _ in range(FAILURES_TO_OPEN):
            assert fault(there, seconds=0.5, breaker=breaker).code == "server_error"
        assert fault(there, breaker=breaker).code == "circuit_open"
        assert len(there.seen) == FAILURES_TO_OPEN
        now += 11
        assert ask(there, breaker=breaker).text == "fine"
        assert ask(there, breaker=breaker).text == "fine"


def test_a_wrong_key_opens_the_circuit_at_once() -> None:
    breaker = Breaker(lambda: 0.0)
    with ModelServer(server.fails(401)) as there:
        assert fault(there, breaker=breaker).code == "auth"
        assert fault(there, breaker=breaker).code == "circuit_open"


def test_only_one_call_tries_whether_an_open_circuit_may_close() -> None:
    now = 0.0
    breaker = Breaker(lambda: now)
    breaker.failed("auth")
    assert not breaker.admits()
    now = 61.0
    assert [breaker.admits(), breaker.admits()] == [True, False]
    breaker.failed("server_error")
    assert not breaker.admits()
    now = 1000.0
    assert breaker.admits()
    breaker.released()
    assert breaker.admits()
    breaker.succeeded()
    assert [breaker.admits(), breaker.admits()] == [True, True]


def test_a_call_that_is_cancelled_leaves_the_model_usable() -> None:
    arrived = threading.Event()

    def hangs(handler: Any) -> None:
        arrived.set()
        server.hangs(handler)

    async def act(model: HttpModel) -> Reply:
        call = asyncio.create_task(model.reply(PROMPT, time.monotonic() + 30))
        # Only once the first request is there is the next one sure of the next exchange.
        await asyncio.to_thread(arrived.wait, 30)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return await model.reply(PROMPT, time.monotonic() + 30)

    with ModelServer(hangs, server.stream(server.message("fine"))) as there:
        assert with_model(there, act).text == "fine"


def test_one_model_serves_several_event_loops() -> None:
    with ModelServer(server.stream(server.message("fine"))) as there:
        model = HttpModel("some-model", there.url)

        async def once() -> str:
            async with model:
                return (await model.reply(PROMPT, time.monotonic() + 5)).text

        assert [asyncio.run(once()), asyncio.run(once())] == ["fine", "fine"]


def test_a_reply_without_an_end_of_stream_mark_counts_if_the_model_said_why_it_stopped() -> None:
    choice = {"index": 0, "delta": {"content": "fine"}, "finish_reason": "stop"}
    with ModelServer(server.streams_text(f"data: {json.dumps({'choices': [choice]})}")) as there:
        assert ask(there).text == "fine"
