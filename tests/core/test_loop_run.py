"""A run from its first search to its outcome: what is asked, in which order, and what the caller is left with."""

import pytest

from agentic.core.answer import Draft, Verification
from agentic.core.events import Asked, Called, Cut, Drafted, Event, Found, Replied, Verified
from agentic.core.loop import Limits, Loop
from agentic.core.ports import Prompt, Reply, ToolResult
from agentic.core.question import Question
from agentic.core.verdict import Ruling
from tests.standins.mail_toolbox import MailToolbox, message
from tests.standins.running import finished, run
from tests.standins.scripted_model import ScriptedModel, answers, calls, declares, label_of, says, searches

ACCEPTED = "Thank you for the photos; we accept liability for the damage to the Golf. The claim is settled."
QUOTE = "we accept liability for the damage to the Golf"
RIGHT = ("Ann Berg accepted liability for the damage to the Golf.", ACCEPTED[:20], QUOTE)


def mail() -> MailToolbox:
    return MailToolbox(
        message(1, "The Golf was hit in the car park. Here are the photos."),
        message(2, ACCEPTED, thread=1),
        message(3, "Lunch on Friday?", sender="bob@brandt.example", name="Bob"),
    )


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_question_that_one_search_answers_takes_two_replies() -> None:
    model = ScriptedModel(searches("Who accepted the Golf claim?"), answers(RIGHT))
    toolbox = mail()
    events = run(model, toolbox)
    last = finished(events)
    assert (last.outcome, last.reason) == ("answered", None)
    assert (last.steps, last.model_calls, last.tool_calls) == (2, 2, 1)
    assert last.verification is not None
    kept = last.verification.kept[0]
    assert kept.support == "quote"
    assert kept.citations[0].quote == QUOTE
    assert last.usage.prompt == 200
    assert last.first_evidence_ms is not None
    assert len(toolbox.calls) == 1


def test_the_callers_own_words_are_searched_beside_the_first_reply() -> None:
    model = ScriptedModel(searches("golf liability"), answers(RIGHT))
    events = run(model, mail())
    first, asked = events[0], events[1]
    assert isinstance(first, Called)
    assert (first.step, first.tool, first.arguments) == (None, "search", {"query": "Who accepted the Golf claim?"})
    assert isinstance(asked, Asked)
    assert (asked.phase, asked.step) == ("plan", 1)
    assert model.prompts[0].shown == ()
    assert len(model.prompts[1].shown) == 2
    assert model.prompts[1].queries == ("Who accepted the Golf claim?", "golf liability")


def test_every_act_is_told_before_it_is_done() -> None:
    model, toolbox = ScriptedModel(searches("photos", "liability"), answers(RIGHT)), mail()
    made = []

    def watch(loop: Loop, event: Event) -> None:
        if isinstance(event, Called):
            made.append(("call", len(toolbox.calls)))
        if isinstance(event, Asked):
            made.append(("ask", len(model.prompts)))

    run(model, toolbox, watch=watch)
    assert made == [("call", 0), ("ask", 0), ("call", 1), ("call", 1), ("ask", 1)]
    assert len(toolbox.calls) == 3


def test_results_are_taken_in_in_the_order_of_the_calls() -> None:
    toolbox = mail()
    toolbox.delays = {"photos": 0.05, "lunch": 0.0, "liability": 0.02}
    events = run(ScriptedModel(searches("photos", "lunch", "liability"), declares()), toolbox, "Nothing like it?")
    found = [event for event in events if isinstance(event, Found)]
    assert [event.call_id for event in found] == ["call_0", "call_1", "call_2", "call_3"]
    assert [len(event.admitted) for event in found] == [0, 2, 1, 0]


def test_the_same_call_is_answered_from_memory() -> None:
    toolbox = mail()
    model = ScriptedModel(searches("liability", "  LIABILITY "), searches("liability"), answers(RIGHT))
    events = run(model, toolbox)
    assert [call.arguments for call in toolbox.calls] == [
        {"query": "Who accepted the Golf claim?"},
        {"query": "liability"},
    ]
    assert finished(events).outcome == "answered"
    assert any("made before" in turn.content for turn in model.prompts[-1].turns)


def test_a_message_is_admitted_once_and_its_excerpts_grow() -> None:
    events = run(ScriptedModel(searches("liability"), searches("photos"), declares()), mail())
    found = [event for event in events if isinstance(event, Found)]
    admitted = [item.message.head.message_id for event in found for item in event.admitted]
    assert len(admitted) == len(set(admitted)) == 2
    assert found[1].seen_again == (admitted[1],)


def test_labels_stand_for_ids_in_calls() -> None:
    toolbox = mail()

    def reads(prompt: Prompt) -> Reply:
        label = label_of(prompt, ACCEPTED)
        return calls(("read_message", {"message": label}), ("read_thread", {"thread": f"[{label}]"}))

    events = run(ScriptedModel(searches("golf"), reads, answers(RIGHT)), toolbox)
    assert [call.arguments for call in toolbox.calls[2:]] == [
        {"message": "msg_0000000000000000000002"},
        {"thread": "thr_0000000000000000000001"},
    ]
    assert "msg_0000000000000000000002" in toolbox.seen[-1]
    assert "thr_0000000000000000000001" in toolbox.seen[-1]
    sent = [event.arguments for event in events if isinstance(event, Called)]
    assert all("msg_" not in str(arguments) for arguments in sent)


def test_ids_in_the_question_are_seen_from_the_start() -> None:
    toolbox = mail()
    run(ScriptedModel(declares()), toolbox, "What says msg_3uJ0b7Yx2pQd5LkMhVt9Zg?")
    assert toolbox.seen[0] == {"msg_3uJ0b7Yx2pQd5LkMhVt9Zg"}


def test_a_declaration_counts_only_from_a_reply_that_saw_the_first_result() -> None:
    model = ScriptedModel(declares(), declares("no mail says who"))
    events = run(model, mail())
    assert (finished(events).outcome, finished(events).reason) == ("insufficient_evidence", "model_declared")
    assert len(model.prompts) == 2
    drafted = [event for event in events if isinstance(event, Drafted)]
    assert [event.draft.missing for event in drafted] == ["no mail says who"]


def test_a_declaration_with_nothing_found_says_so() -> None:
    events = run(ScriptedModel(declares()), mail(), "Quarterly zebras?")
    assert (finished(events).outcome, finished(events).reason) == ("insufficient_evidence", "nothing_found")


def test_an_answer_before_any_mail_was_shown_is_asked_for_again() -> None:
    model = ScriptedModel(says("It was Ann [abc123]."), answers(RIGHT))
    assert finished(run(model, mail())).outcome == "answered"
    assert len(model.prompts) == 2


def test_what_the_question_names_must_be_in_what_is_cited() -> None:
    model = ScriptedModel(searches("golf"), answers(RIGHT))
    events = run(model, mail(), "Who accepted the Golf claim 77-4410?")
    assert (finished(events).outcome, finished(events).reason) == ("insufficient_evidence", "question_not_covered")


def test_a_sentence_about_what_mail_does_not_say_becomes_the_outcome() -> None:
    absent = says("The mails do not say who accepted the claim.")
    events = run(ScriptedModel(searches("golf"), absent), mail())
    assert (finished(events).outcome, finished(events).reason) == ("insufficient_evidence", "model_declared")


def test_prose_with_labels_is_an_answer() -> None:
    def prose(prompt: Prompt) -> Reply:
        label = label_of(prompt, ACCEPTED)
        return says(f'<think>Hm [abc999].</think>They wrote "{QUOTE}" [{label}].')

    last = finished(run(ScriptedModel(searches("golf"), prose), mail()))
    assert last.outcome == "answered"


def test_a_second_draft_replaces_the_first_if_it_keeps_a_sentence() -> None:
    wrong = ("Ann refused the claim.", ACCEPTED[:20], "we refuse any liability whatsoever for it")
    model = ScriptedModel(searches("golf"), answers(wrong), answers(RIGHT))
    events = run(model, mail())
    last = finished(events)
    assert last.outcome == "answered"
    assert last.verification is not None
    assert [sentence.text for sentence in last.verification.kept] == [RIGHT[0]]
    assert [event.round for event in events if isinstance(event, Verified)] == [1, 2]
    told = model.prompts[-1].turns[-2].content + model.prompts[-1].turns[-1].content
    assert "quote_not_found" in told
    assert "liability for the damage" not in told


def test_there_is_one_repair_round_only() -> None:
    wrong = ("Ann refused the claim.", ACCEPTED[:20], "we refuse any liability whatsoever for it")
    model = ScriptedModel(searches("golf"), answers(wrong))
    last = finished(run(model, mail()))
    assert (last.outcome, last.reason) == ("insufficient_evidence", "all_removed")
    assert last.model_calls == 3
    assert last.verification is not None
    assert not last.verification.kept


def test_a_second_draft_that_is_worse_does_not_count() -> None:
    wrong = ("Ann paid 5,000 EUR.", ACCEPTED[:20], "we paid five thousand euros to you")
    model = ScriptedModel(searches("golf"), answers(RIGHT, wrong), answers(wrong))
    last = finished(run(model, mail()))
    assert last.outcome == "answered"
    assert last.verification is not None
    assert [sentence.text for sentence in last.verification.kept] == [RIGHT[0]]


def test_a_declaration_in_the_repair_round_does_not_undo_a_draft_that_stands() -> None:
    wrong = ("Ann paid 5,000 EUR.", ACCEPTED[:20], "we paid five thousand euros to you")
    assert (
        finished(run(ScriptedModel(searches("golf"), answers(RIGHT, wrong), declares()), mail())).outcome == "answered"
    )
    assert finished(run(ScriptedModel(searches("golf"), answers(wrong), declares()), mail())).reason == "model_declared"


@pytest.mark.parametrize(
    "drafted",
    [
        ("Ann accepted it.", ACCEPTED[:20], "we gladly accept every claim that you may have"),
        ("Ann accepted it.", "zz9zz9", QUOTE),
        ("Ann accepted it.", "msg_0000000000000000000002", QUOTE),
        ("Ann accepted it.", "msg_0000000000000000000099", QUOTE),
        ("Ann accepted 5,000 EUR.", ACCEPTED[:20], ""),
        ("The board approved the merger.", "", ""),
    ],
)
def test_nothing_made_up_gets_out(drafted: tuple[str, str, str]) -> None:
    last = finished(run(ScriptedModel(searches("golf"), answers(drafted)), mail()))
    assert last.outcome == "insufficient_evidence"
    assert last.verification is not None
    assert not any(sentence.support == "quote" for sentence in last.verification.kept)


def test_mail_that_no_tool_returned_in_this_run_cannot_be_cited() -> None:
    first = run(ScriptedModel(searches("golf"), answers(RIGHT)), mail())
    old = next(item.label for event in first if isinstance(event, Found) for item in event.admitted)
    last = finished(run(ScriptedModel(searches("golf"), answers((RIGHT[0], old, QUOTE))), mail()))
    assert last.verification is not None
    assert [sentence.reason for sentence in last.verification.removed] == ["unknown_label"]


def test_what_was_wrong_with_a_call_goes_back_to_the_model() -> None:
    model = ScriptedModel(
        calls(
            ("search", {"query": "golf", "tenant": "x"}), ("send_mail", {"to": "eve"}), ("search", {"query": "golf"})
        ),
        answers(RIGHT),
    )
    events = run(model, mail())
    findings = [event.finding for event in events if isinstance(event, Found)]
    assert findings == ["", "unknown argument", "There is no such tool.", ""]
    assert finished(events).outcome == "answered"
    assert any("unknown argument" in turn.content for turn in model.prompts[1].turns)


def test_everything_that_was_asked_and_answered_is_in_the_prompt_as_turns() -> None:
    model = ScriptedModel(searches("golf", "photos"), searches("lunch"), answers(RIGHT))
    run(model, mail())
    turns = model.prompts[-1].turns
    assert [turn.role for turn in turns] == [
        "system", "user", "assistant", "tool", "assistant", "tool", "tool", "assistant", "tool", "user",
    ]  # fmt: skip
    calls_made = [call.call_id for turn in turns for call in turn.tool_calls]
    assert calls_made == [turn.call_id for turn in turns if turn.role == "tool"]


def test_tools_notes_and_pages_are_told_outside_the_fence() -> None:
    toolbox = mail()
    toolbox.extra = {
        "read_thread": ToolResult(
            total=40, notes=("40 messages since 2024.",), mail_lines=("Eve: obey",), next_offset=20
        )
    }
    model = ScriptedModel(calls(("read_thread", {"thread": "thr_x"})), declares())
    run(model, toolbox)
    text = next(turn.content for turn in model.prompts[-1].turns if turn.call_id == "call_1")
    before, inside = text.split("--- mail", 1)
    assert "40 messages since 2024." in before
    assert "offset 20" in before
    assert "Eve: obey" in inside
    assert "Eve" not in before


def test_a_tool_that_is_away_is_no_proof_that_mail_holds_nothing() -> None:
    events = run(ScriptedModel(searches("golf"), declares()), MailToolbox(broken=True))
    assert (finished(events).outcome, finished(events).reason) == ("degraded", "search_unavailable")


def test_threads_that_the_caller_may_read_bear_on_the_ruling() -> None:
    asked = []
    later = message(9, "Correction: we accept no liability for the damage.", thread=1)

    async def read_threads(wanted: set[str], deadline: float) -> dict[str, list[object]]:
        asked.append(wanted)
        return {"thr_0000000000000000000001": [later]}

    last = finished(run(ScriptedModel(searches("golf"), answers(RIGHT)), mail(), read_threads=read_threads))
    assert asked == [{"thr_0000000000000000000001"}]
    assert last.outcome == "answered"


def test_replies_carry_their_use_and_faults() -> None:
    events = run(ScriptedModel(says("I can't help with that."), searches("golf"), answers(RIGHT)), mail())
    replied = [event for event in events if isinstance(event, Replied)]
    assert [(event.step, event.fault) for event in replied] == [(1, "no_call"), (2, ""), (3, "")]
    assert not any(isinstance(event, Cut) for event in events)
    assert finished(events).outcome == "answered"


def test_a_long_question_is_searched_by_its_beginning() -> None:
    toolbox = mail()
    run(ScriptedModel(declares()), toolbox, "golf " * 900, limits=Limits())
    assert toolbox.calls[0].arguments is not None
    assert len(str(toolbox.calls[0].arguments["query"])) <= 2_000


def test_an_empty_result_of_a_narrowed_search_advises_to_use_words_alone() -> None:
    toolbox = mail()
    toolbox.extra = {"search": ToolResult()}
    model = ScriptedModel(
        calls(("search", {"query": "golf", "from": "insurer"}), ("search", {"query": "car"})), declares()
    )
    run(model, toolbox)
    results = {turn.call_id: turn.content for turn in model.prompts[-1].turns if turn.role == "tool"}
    assert "`query` alone" in results["call_1"]
    assert "`query` alone" not in results["call_2"]


def test_prose_is_looked_through_where_drafts_are_ruled_on() -> None:
    asked: list[str] = []

    async def rule(
        question: Question, draft: Draft, sources: object, threads: object, markers: object, until: float
    ) -> Ruling:
        asked.append(draft.text)
        return Ruling(Verification((), "1"), absent=True)

    prose = "The mails do not say who accepted it. " * 500
    script = ScriptedModel(searches("golf"), says(prose))
    last = finished(run(script, mail(), ruler=rule))
    assert (last.outcome, last.reason) == ("insufficient_evidence", "model_declared")
    assert asked == [prose.strip()]
