"""Replies in all the forms in which models write them."""

import pytest

from agentic.core.answer import DraftQuote, DraftSentence
from agentic.core.ports import Reply, ToolCall
from agentic.core.replies import parse_arguments, read_reply, split_reasoning

TOOLS = {"search", "read_message"}
SENTENCES = '{"sentences": [{"text": "A.", "citations": ["k3f9a2"], "quotes": [{"label": "k3f9a2", "text": "a b c"}]}]}'
SENTENCE = DraftSentence("A.", ("k3f9a2",), (DraftQuote("k3f9a2", "a b c"),))


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "search", "arguments": {"query": "golf"}}\n```',
        'I will search.\n```\n{"tool": "search", "arguments": {"query": "golf"}}\n```\nDone.',
        '```json\n{"name": "search", "arguments": {"query": "golf"}}',
        '<tool_call>\n{"name": "search", "arguments": {"query": "golf"}}\n</tool_call>',
        '<tool_call>{"name": "search", "arguments": "{\\"query\\": \\"golf\\"}"}',
        '{"name": "search", "parameters": {"query": "golf"}}',
        'Sure: {"tool": "search", "args": {"query": "golf"}} as asked',
        '[{"function": {"name": "search", "arguments": {"query": "golf"}}}]',
        '{"tool_calls": [{"function": {"name": "search", "arguments": "{\\"query\\": \\"golf\\"}"}}]}',
        '[TOOL_CALLS] [{"name": "search", "arguments": {"query": "golf"}}]',
        '<function=search>{"query": "golf"}</function>',
        '{"query": "golf"}',
        '<think>{"name": "search", "arguments": {"query": "not this"}}</think>{"query": "golf"}',
    ],
)
def test_calls_that_are_written_as_text_are_calls(text: str) -> None:
    reading = read_reply(Reply("m", text), TOOLS)
    assert reading.fault == ""
    assert [(read.call.name, read.call.arguments) for read in reading.calls] == [("search", {"query": "golf"})]


@pytest.mark.parametrize(
    "arguments", ["[" * 60 + "]" * 60, '{"a":' * 60 + "1" + "}" * 60, "NaN", "1e999", "[[-1e999]]"]
)
def test_arguments_that_nothing_could_work_on_are_no_json(arguments: str) -> None:
    for text in (f'{{"name": "search", "arguments": {{"query": {arguments}}}}}', f'{{"query": {arguments}}}'):
        assert read_reply(Reply("m", text), TOOLS).fault == "no_call"
    written = ToolCall("1", "search", parse_arguments(f'{{"query": {arguments}}}'), "")
    assert read_reply(Reply("m", tool_calls=(written,)), TOOLS).fault == "invalid_json"


def test_several_tagged_calls_are_several_calls() -> None:
    one = '<tool_call>{"name": "search", "arguments": {"query": "%s"}}</tool_call>'
    reading = read_reply(Reply("m", one % "golf" + "\n" + one % "photos"), TOOLS)
    assert [read.call.arguments for read in reading.calls] == [{"query": "golf"}, {"query": "photos"}]


@pytest.mark.parametrize(
    "text",
    [
        SENTENCES,
        f"```json\n{SENTENCES}\n```",
        f'{{"name": "answer", "arguments": {SENTENCES}}}',
        f'{{"final": {SENTENCES}}}',
        f'<tool_call>{{"name": "answer", "arguments": {SENTENCES}}}</tool_call>',
        '{"sentences": {"text": "A.", "citations": "[k3f9a2]", "quotes": {"label": "[k3f9a2]", "text": "a b c"}}}',
        '{"sentences": [{"text": "A.", "citations": ["k3f9a2"], "quotes": ["a b c"]}]}',
        '{"sentences": [{"sentence": "A.", "citations": [{"label": "k3f9a2"}], "quotes": [{"quote": "a b c"}]}]}',
        '{"sentences": [{"text": "A.", "quotes": [{"label": "k3f9a2", "text": "a b c"}]}]}',
    ],
)
def test_an_answer_is_read_in_every_usual_shape(text: str) -> None:
    draft = read_reply(Reply("m", text), TOOLS).draft
    assert draft is not None
    assert draft.sentences == (SENTENCE,)


def test_prose_with_a_label_is_an_answer_and_prose_without_is_not() -> None:
    draft = read_reply(Reply("m", "They accepted it [k3f9a2]."), TOOLS).draft
    assert draft is not None
    assert draft.text == "They accepted it [k3f9a2]."
    for text in ("They accepted it.", "They accepted it [K3F9A2].", "They accepted it [1]."):
        assert read_reply(Reply("m", text), TOOLS).fault == "no_call"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>no</think>yes", "yes"),
        ("no, no</think>yes", "yes"),
        ("yes<think>no", "yes"),
        ("<thinking>\nno\n</thinking>\n\nyes", "yes"),
        ("<think>no</think>yes<think>no</think> indeed", "yes indeed"),
        ("yes", "yes"),
    ],
)
def test_reasoning_is_kept_apart(text: str, said: str) -> None:
    assert split_reasoning(text)[0] == said


def test_a_final_call_with_searches_beside_it() -> None:
    search = ToolCall("1", "search", {"query": "golf"})
    answer = ToolCall("2", "answer", {"sentences": ["A [k3f9a2]."]})
    enough = ToolCall("3", "insufficient", {"missing": "x"})
    assert read_reply(Reply("m", tool_calls=(search, answer)), TOOLS).draft is not None
    both = read_reply(Reply("m", tool_calls=(search, enough)), TOOLS)
    assert both.draft is None
    assert [read.call for read in both.calls] == [search]
    alone = read_reply(Reply("m", tool_calls=(enough,)), TOOLS).draft
    assert alone is not None
    assert alone.insufficient


def test_an_answer_without_sentences_is_a_declaration() -> None:
    draft = read_reply(Reply("m", tool_calls=(ToolCall("1", "answer", {"sentences": []}),)), TOOLS).draft
    assert draft is not None
    assert draft.insufficient


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (Reply("m"), "empty"),
        (Reply("m", finish_reason="length"), "cut"),
        (Reply("m", "<think>all thought"), "empty"),
        (Reply("m", tool_calls=(ToolCall("1", "search", None, "{"),)), "invalid_json"),
        (Reply("m", tool_calls=(ToolCall("1", "search", None, "{"),), finish_reason="length"), "cut"),
        (Reply("m", tool_calls=(ToolCall("1", "drop_table", {}),)), "unknown_tool"),
        (Reply("m", tool_calls=(ToolCall("1", "answer", {"sentences": 5}),)), "bad_answer"),
        (Reply("m", tool_calls=(ToolCall("1", "answer", {"sentences": [{}]}),)), "bad_answer"),
        (Reply("m", tool_calls=(ToolCall("1", "answer", None, "{"),)), "invalid_json"),
        (Reply("m", "{" * 5000), "no_call"),
        (Reply("m", "[" * 5000), "no_call"),
    ],
)
def test_what_cannot_be_used_has_a_code(reply: Reply, fault: str) -> None:
    reading = read_reply(reply, TOOLS)
    assert reading.fault == fault
    assert reading.draft is None


def test_one_good_call_among_bad_ones_is_used() -> None:
    good, bad = ToolCall("1", "search", {"query": "golf"}), ToolCall("2", "search", None, "{")
    reading = read_reply(Reply("m", tool_calls=(bad, good)), TOOLS)
    assert reading.fault == ""
    assert [bool(read.finding) for read in reading.calls] == [True, False]
