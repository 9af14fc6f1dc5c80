"""A run within its limits: steps, seconds, the reserve, calls and characters; and its end from outside."""

import asyncio
from contextlib import aclosing

import pytest

from agentic.core.budget import Budget
from agentic.core.events import Asked, Called, Cut, Event, Found, Replied
from agentic.core.loop import Limits, Loop, Question
from agentic.core.ports import ModelFault, Prompt, Reply
from tests.standins.mail_toolbox import MailToolbox, message
from tests.standins.running import NOW, finished, run
from tests.standins.scripted_model import ScriptedModel, answers, declares, hangs, says, searches

ACCEPTED = "Thank you for the photos; we accept liability for the damage to the Golf. The claim is settled."
QUOTE = "we accept liability for the damage to the Golf"
RIGHT = ("Ann Berg accepted liability for the damage to the Golf.", ACCEPTED[:20], QUOTE)
SHORT = Limits(max_seconds=2.4)


def mail(**more: float) -> MailToolbox:
    return MailToolbox(message(1, "The Golf was hit. Here are the photos."), message(2, ACCEPTED), **more)  # type: ignore[arg-type]


class Ticking:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def after(self, seconds: float, reply: object) -> object:
        """*reply* as a line of a script, given after *seconds* of this clock."""

        def line(prompt: Prompt) -> Reply:
            self.now += seconds
            said = reply(prompt) if callable(reply) else reply
            if isinstance(said, ModelFault):
                raise said
            assert isinstance(said, Reply)
            return said

        return line


def cuts(events: list[Event]) -> list[str]:
    return [event.limit for event in events if isinstance(event, Cut)]


@pytest.mark.parametrize("steps", [1, 2, 3, 6])
def test_no_run_takes_more_steps_than_it_may(steps: int) -> None:
    never = ScriptedModel(*(searches(f"golf {number}") for number in range(30)))
    last = finished(run(never, mail(), limits=Limits(max_steps=steps)))
    assert last.steps == last.model_calls == steps
    assert (last.outcome, last.reason) == ("budget_exhausted", "steps")


def test_the_last_step_must_be_an_answer() -> None:
    model = ScriptedModel(searches("a"), searches("b"), answers(RIGHT))
    assert finished(run(model, mail(), limits=Limits(max_steps=3))).outcome == "answered"
    assert [prompt.forced_tool for prompt in model.prompts] == ["", "", "answer"]
    assert [prompt.phase for prompt in model.prompts] == ["plan", "judge", "answer"]


def test_a_model_that_only_repeats_itself_is_asked_for_the_answer() -> None:
    model = ScriptedModel(searches("a"), searches("a"), searches("a"), answers(RIGHT))
    last = finished(run(model, mail()))
    assert (last.outcome, last.steps) == ("answered", 4)
    assert [prompt.forced_tool for prompt in model.prompts] == ["", "", "", "answer"]


def test_a_new_search_may_still_take_the_place_of_the_answer() -> None:
    model = ScriptedModel(searches("a"), searches("a"), searches("a"), searches("b"), answers(RIGHT))
    toolbox = mail()
    assert finished(run(model, toolbox)).outcome == "answered"
    assert [prompt.forced_tool for prompt in model.prompts] == ["", "", "", "answer", ""]
    assert [call.arguments["query"] for call in toolbox.calls if call.arguments][1:] == ["a", "b"]


def test_one_step_is_enough_to_answer_from_the_first_search() -> None:
    model = ScriptedModel(answers(RIGHT))
    last = finished(run(model, mail(), limits=Limits(max_steps=1)))
    assert (last.outcome, last.steps) == ("answered", 1)
    assert len(model.prompts[0].shown) == 2


def test_searches_in_place_of_the_answer_are_not_made() -> None:
    toolbox = mail()
    events = run(ScriptedModel(searches("a"), searches("b")), toolbox, limits=Limits(max_steps=2))
    assert "steps" in cuts(events)
    assert [call.arguments for call in toolbox.calls] == [{"query": "Who accepted the Golf claim?"}, {"query": "a"}]


def test_with_nothing_found_the_reserve_is_not_spent() -> None:
    model = ScriptedModel(searches("zebra"), searches("gnu"))
    last = finished(run(model, mail(), "Quarterly zebras?", limits=Limits(max_steps=2)))
    assert (last.outcome, last.reason, last.steps) == ("budget_exhausted", "steps", 1)


def test_unusable_replies_are_charged_and_missing_ones_are_not() -> None:
    events = run(ScriptedModel(says("hello"), ModelFault("server_error"), searches("x")), mail())
    assert finished(events).steps == 1
    charged = ScriptedModel(ModelFault("cut", charged=True), searches("golf"), answers(RIGHT))
    assert finished(run(charged, mail())).steps == 3


def test_when_only_the_reserve_of_seconds_is_left_the_model_must_answer() -> None:
    clock = Ticking()
    model = ScriptedModel(clock.after(6.0, searches("liability")), answers(RIGHT))  # type: ignore[arg-type]
    last = finished(run(model, mail(), limits=Limits(max_seconds=8), clock=clock))
    assert last.outcome == "answered"
    assert [prompt.forced_tool for prompt in model.prompts] == ["", "answer"]


def test_a_model_that_hangs_is_stopped_and_the_run_is_degraded() -> None:
    model = ScriptedModel(hangs)
    events = run(model, mail(), limits=SHORT)
    last = finished(events)
    assert (last.outcome, last.reason) == ("degraded", "timeout")
    assert model.cancelled == 2
    assert last.steps == 0
    assert last.seconds < SHORT.max_seconds
    assert any(isinstance(event, Found) and event.admitted for event in events)


def test_a_hang_before_the_reserve_leaves_time_to_answer() -> None:
    model = ScriptedModel(hangs, answers(RIGHT))
    events = run(model, mail(), limits=SHORT)
    assert finished(events).outcome == "answered"
    assert cuts(events) == ["seconds"]


def test_a_hang_after_a_usable_reply_is_the_budgets_end() -> None:
    model = ScriptedModel(searches("liability"), hangs)
    last = finished(run(model, mail(), limits=SHORT))
    assert (last.outcome, last.reason) == ("budget_exhausted", "seconds")


@pytest.mark.parametrize("code", ["timeout", "hung"])
def test_a_model_that_ends_at_its_deadline_by_itself_is_treated_as_one_that_was_stopped(code: str) -> None:
    clock = Ticking()
    late = ModelFault(code)
    model = ScriptedModel(searches("liability"), clock.after(5.5, late), clock.after(5, late))  # type: ignore[arg-type]
    last = finished(run(model, mail(), limits=Limits(max_seconds=8), clock=clock))
    assert (last.outcome, last.reason) == ("budget_exhausted", "seconds")


def test_slow_tools_are_stopped_where_the_reserve_begins() -> None:
    toolbox = mail()
    toolbox.delays = {"slow": 60.0}
    model = ScriptedModel(searches("slow", "liability"), answers(RIGHT))
    events = run(model, toolbox, limits=SHORT)
    assert finished(events).outcome == "answered"
    assert toolbox.stopped == 1
    stopped = [event for event in events if isinstance(event, Cut)]
    assert [(event.phase, event.limit) for event in stopped] == [("search", "seconds")]


def test_a_declaration_without_the_first_result_does_not_count_even_at_the_end() -> None:
    toolbox = mail(delay=60.0)
    last = finished(run(ScriptedModel(declares()), toolbox, limits=SHORT))
    assert (last.outcome, last.reason) == ("budget_exhausted", "seconds")
    assert toolbox.stopped == 1


def test_first_evidence_does_not_wait_for_the_model() -> None:
    last = finished(run(ScriptedModel(hangs), mail(), limits=SHORT))
    assert last.first_evidence_ms is not None
    assert last.first_evidence_ms < 500


def test_calls_beyond_the_limit_of_a_step_are_not_made() -> None:
    toolbox = mail()
    events = run(ScriptedModel(searches(*(f"golf {n}" for n in range(12))), answers(RIGHT)), toolbox)
    assert len(toolbox.calls) == 1 + 8
    assert cuts(events) == ["calls"]


def test_a_result_shows_no_more_than_its_room_and_only_what_is_shown_is_evidence() -> None:
    toolbox = MailToolbox(*(message(number, "golf " * 300) for number in range(1, 11)))
    events = run(ScriptedModel(declares()), toolbox, limits=Limits(result_characters=4_000))
    found = next(event for event in events if isinstance(event, Found))
    assert found.total == 10
    assert 1 < len(found.admitted) < 4
    assert 2_000 < found.characters <= 4_500


def test_a_run_shows_no_more_than_its_room() -> None:
    toolbox = MailToolbox(*(message(number, f"golf{number} " * 200) for number in range(1, 11)))
    model = ScriptedModel(*(searches(f"golf{number}") for number in range(1, 9)))
    events = run(model, toolbox, limits=Limits(run_characters=5_000, max_steps=20))
    shown = sum(event.characters for event in events if isinstance(event, Found))
    assert shown <= 5_500
    assert "characters" in cuts(events)
    assert model.prompts[-1].forced_tool == "answer"


def test_cancelling_ends_the_run_with_a_last_event() -> None:
    def watch(loop: Loop, event: Event) -> None:
        if isinstance(event, Asked):
            asyncio.get_running_loop().call_later(0.05, loop.cancel)

    model = ScriptedModel(hangs)
    events = run(model, mail(), watch=watch)
    last = finished(events)
    assert (last.outcome, last.reason) == ("budget_exhausted", "cancelled")
    assert cuts(events) == ["cancelled"]
    assert model.cancelled == 1


@pytest.mark.parametrize("kind", [Called, Asked, Replied, Found])
def test_a_run_can_be_cancelled_at_any_event(kind: type[Event]) -> None:
    def watch(loop: Loop, event: Event) -> None:
        if isinstance(event, kind):
            loop.cancel()

    last = finished(run(ScriptedModel(searches("liability"), answers(RIGHT)), mail(), watch=watch))
    assert (last.outcome, last.reason) == ("budget_exhausted", "cancelled")
    assert last.verification is None


def test_who_stops_listening_leaves_no_call_behind() -> None:
    model, toolbox = ScriptedModel(hangs), mail(delay=60)

    async def listen() -> int:
        loop = Loop(Question("Golf?", NOW), model, toolbox, Limits())
        async with aclosing(loop.events()) as events:
            async for event in events:
                if isinstance(event, Asked):
                    break
        waiting = asyncio.create_task(_drain(Loop(Question("Golf?", NOW), model, toolbox, Limits())))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return len(asyncio.all_tasks()) - 1

    assert asyncio.run(listen()) == 0
    assert toolbox.stopped == len(toolbox.calls)
    assert model.cancelled == len(model.prompts)


async def _drain(loop: Loop) -> None:
    async for _ in loop.events():
        pass


def test_a_model_that_cannot_be_cancelled_does_not_hold_up_the_end() -> None:
    async def stubborn(prompt: Prompt) -> Reply:
        for _ in range(20):
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                continue
        return searches("x")

    last = finished(run(ScriptedModel(stubborn), mail(), limits=Limits(max_seconds=1.6)))
    assert last.outcome == "degraded"
    assert last.seconds < 1.6


@pytest.mark.parametrize(
    ("limit", "budget"), [("tokens", Limits(run_tokens=400)), ("cost", Limits(run_cost_usd=0.004))]
)
def test_near_the_end_of_tokens_or_money_only_an_answer_is_asked_for(limit: str, budget: Limits) -> None:
    lines = (searches("golf"), searches("claim"), searches("insurer"))
    model = ScriptedModel(*lines, answers(RIGHT))
    assert finished(run(model, mail(), limits=budget)).outcome == "answered"
    assert [prompt.forced_tool for prompt in model.prompts] == ["", "", "", "answer"]
    stubborn = finished(run(ScriptedModel(*lines), mail(), limits=budget))
    assert (stubborn.outcome, stubborn.reason, stubborn.model_calls) == ("budget_exhausted", limit, 4)


def test_no_call_is_begun_once_tokens_are_used_up() -> None:
    model = ScriptedModel(searches("golf"), searches("claim"), answers(RIGHT))
    last = finished(run(model, mail(), limits=Limits(run_tokens=220)))
    assert (last.outcome, last.reason, last.model_calls) == ("budget_exhausted", "tokens", 2)


def test_what_had_passed_before_the_loop_began_is_the_runs_time_too() -> None:
    clock = Ticking()
    budget = Budget(Limits(max_seconds=8), clock, 0.5, spent=3.0)
    assert budget.deadline == pytest.approx(clock.now - 3 + 7.5)
    assert budget.seconds == pytest.approx(3.0)
    # However much of it went by before, what the end takes is kept: else nobody would write it.
    late = Budget(Limits(max_seconds=2), clock, 0.35, spent=1.6)
    assert late.deadline <= clock.now + 0.4 - 0.35
