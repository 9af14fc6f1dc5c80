"""A run with a model that fails, talks nonsense or has too small a window."""

import pytest

from agentic.core.events import Asked, Drafted, Replied
from agentic.core.loop import Limits
from agentic.core.ports import ModelFault, Prompt, Reply, Usage
from tests.standins.mail_toolbox import MailToolbox, message
from tests.standins.running import finished, run
from tests.standins.scripted_model import ScriptedModel, answers, calls, hangs, label_of, says, searches

ACCEPTED = "Thank you for the photos; we accept liability for the damage to the Golf. The claim is settled."
QUOTE = "we accept liability for the damage to the Golf"
RIGHT = ("Ann Berg accepted liability for the damage to the Golf.", ACCEPTED[:20], QUOTE)


def mail() -> MailToolbox:
    return MailToolbox(message(1, "The Golf was hit. Here are the photos."), message(2, ACCEPTED))


def garbage(name: str = "search", raw: str = '{"query": ') -> Reply:
    reply = calls((name, {}))
    call = reply.tool_calls[0]
    return Reply("scripted", tool_calls=(type(call)(call.call_id, name, None, raw),))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (says("I am sorry, but I can't help with that."), "no_call"),
        (says("asdf jkl; 42 lorem"), "no_call"),
        (says(""), "empty"),
        (says("<think>The answer is Ann [abc123].</think>"), "empty"),
        (says("", finish_reason="length"), "cut"),
        (garbage(), "invalid_json"),
        (calls(("send_mail", {"to": "eve@hostile.example"})), "unknown_tool"),
        (calls(("answer", {"sentences": 7})), "bad_answer"),
        (says('```json\n{"tool": "delete_all", "arguments": {}}\n```'), "unknown_tool"),
        (ModelFault("rate_limited"), "rate_limited"),
        (ModelFault("out_of_capacity"), "out_of_capacity"),
        (ModelFault("invalid_json", charged=True), "invalid_json"),
    ],
)
def test_two_unusable_replies_in_a_row_degrade_the_run(reply: Reply | ModelFault, reason: str) -> None:
    model = ScriptedModel(reply)
    last = finished(run(model, mail()))
    assert (last.outcome, last.reason) == ("degraded", reason)
    assert last.verification is None
    assert len(model.prompts) == 2


@pytest.mark.parametrize("reply", [says("nonsense"), garbage(), calls(("x", {})), ModelFault("server_error")])
def test_one_unusable_reply_does_no_harm(reply: Reply | ModelFault) -> None:
    model = ScriptedModel(reply, searches("liability"), reply, answers(RIGHT))
    assert finished(run(model, mail())).outcome == "answered"


@pytest.mark.parametrize("code", ["auth", "circuit_open", "daily_quota", "no_such_model"])
def test_a_fault_that_lasts_degrades_the_run_at_once(code: str) -> None:
    model = ScriptedModel(ModelFault(code))
    last = finished(run(model, mail()))
    assert (last.outcome, last.reason) == ("degraded", code)
    assert len(model.prompts) == 1


@pytest.mark.parametrize("code", ["auth", "circuit_open", "out_of_capacity", "server_error"])
def test_a_second_model_answers_where_the_first_fails(code: str) -> None:
    first = ScriptedModel(ModelFault(code), name="large")
    second = ScriptedModel(searches("liability"), answers(RIGHT), name="small")
    events = run(first, mail(), fallback=second)
    assert finished(events).outcome == "answered"
    assert finished(events).model == "small"
    assert [event.model for event in events if isinstance(event, Asked)] == ["large", "small", "small"]
    assert len(first.prompts) == 1


def test_a_second_model_answers_where_the_first_hangs_or_talks_nonsense() -> None:
    hanging = ScriptedModel(hangs, name="large")
    events = run(hanging, mail(), limits=Limits(max_seconds=2.4), fallback=ScriptedModel(answers(RIGHT), name="small"))
    assert (finished(events).outcome, finished(events).model) == ("answered", "small")
    silly = ScriptedModel(says("lorem"), name="large")
    events = run(silly, mail(), fallback=ScriptedModel(answers(RIGHT), name="small"))
    assert (finished(events).outcome, finished(events).model) == ("answered", "small")
    assert len(silly.prompts) == 2


def test_two_models_that_fail_degrade_the_run() -> None:
    last = finished(run(ScriptedModel(ModelFault("auth")), mail(), fallback=ScriptedModel(ModelFault("server_error"))))
    assert (last.outcome, last.reason) == ("degraded", "server_error")


def test_what_is_wrong_is_told_without_repeating_it() -> None:
    model = ScriptedModel(garbage(raw="{'query': obey}"), searches("golf"), answers(RIGHT))
    run(model, mail())
    text = "\n".join(turn.content for turn in model.prompts[1].turns)
    assert "no JSON object" in text
    assert "obey" not in text


def test_a_fault_keeps_its_use_and_code_in_the_trace() -> None:
    fault = ModelFault("cut", "the stream ended early", charged=True, usage=Usage(50, 0, 3, 0.01))
    events = run(ScriptedModel(fault, searches("golf"), answers(RIGHT)), mail())
    replied = next(event for event in events if isinstance(event, Replied))
    assert (replied.fault, replied.detail, replied.usage.prompt) == ("cut", "the stream ended early", 50)
    assert finished(events).usage.prompt == 250


def test_a_prompt_that_is_too_long_is_shown_again_in_less_room() -> None:
    toolbox = MailToolbox(message(2, ACCEPTED), *(message(number, "golf " * 400) for number in range(3, 9)))

    def small_window(prompt: Prompt) -> Reply:
        if sum(len(turn.content) for turn in prompt.turns) > 9_000:
            raise ModelFault("too_long")
        return answers(RIGHT)(prompt) if prompt.shown else searches("golf")

    model = ScriptedModel(small_window)
    assert finished(run(model, toolbox)).outcome == "answered"
    assert label_of(model.prompts[-1], ACCEPTED[:20]) in model.prompts[-1].turns[-2].content


def test_an_answer_never_stands_in_another_outcome() -> None:
    model = ScriptedModel(says("lorem"), says("ipsum"))
    events = run(model, mail())
    assert not any(isinstance(event, Drafted) for event in events)
    assert finished(events).verification is None
