"""What is said to the model and what it said, as turns: a part that is the same in all runs, then this run's."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace

from agentic.core import prompts
from agentic.core.fence import clean
from agentic.core.ledger import Ledger
from agentic.core.ports import Prompt, PromptTurn, ToolCall, ToolSpec
from agentic.core.question import Question
from agentic.core.toolcall import FINAL_TOOLS

# By identity, and with the tool itself, so that no other one can come to bear it.
_TOOL_TEXTS: dict[int, tuple[ToolSpec, str]] = {}
_TOOL_TEXTS_AT_MOST = 100


@dataclass(slots=True)
class _Exchange:
    """Calls of one reply with their results by id, or a note where a reply held no call."""

    calls: tuple[ToolCall, ...] = ()
    results: dict[str, str] = field(default_factory=dict)
    said: str = ""
    note: str = ""

    def turns(self) -> Iterable[PromptTurn]:
        answered = tuple(call for call in self.calls if call.call_id in self.results)
        if answered or self.said:
            yield PromptTurn("assistant", self.said, answered)
        for call in answered:
            yield PromptTurn("tool", self.results[call.call_id], call_id=call.call_id)
        if self.note:
            yield PromptTurn("user", self.note)


class Conversation:
    """The turns of one run. Grows at its end only, so that a server can reuse what it has read before."""

    def __init__(self, question: Question, specs: tuple[ToolSpec, ...], session: str) -> None:
        self._question = question
        self._tools = specs + FINAL_TOOLS
        self._session = session
        self._exchanges: list[_Exchange] = []

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return self._tools

    def add_calls(self, calls: Iterable[ToolCall], said: str = "") -> None:
        """Calls that the model made; their results follow by `add_result`."""
        self._exchanges.append(_Exchange(tuple(calls), said=said))

    def add_result(self, call_id: str, text: str) -> None:
        """What came of a call. The text is what the model reads: fenced where it holds mail."""
        for exchange in reversed(self._exchanges):
            if any(call.call_id == call_id for call in exchange.calls):
                exchange.results[call_id] = text
                return

    def add_findings(self, findings: Iterable[tuple[ToolCall, str]]) -> None:
        """Calls of one reply that were not made, each with what was wrong with it."""
        found = list(findings)
        self.add_calls(call for call, _ in found)
        for call, text in found:
            self.add_result(call.call_id, text)

    def add_note(self, text: str) -> None:
        """Something that the model is told beside results, in the service's own words."""
        self._exchanges.append(_Exchange(note=text))

    def start_over(self, call: ToolCall, result: str) -> None:
        """Forget all turns but the question, and go on as if *call* had given *result*."""
        self._exchanges = [_Exchange((call,), {call.call_id: result})]

    def prompt(
        self, phase: str, instruction: str, forced_tool: str, ledger: Ledger, queries: tuple[str, ...], tokens: int
    ) -> Prompt:
        """The next prompt, with *instruction* as its last words (which the turns do not keep)."""
        system = prompts.load("system")
        turns = [
            PromptTurn("system", system),
            PromptTurn("user", self._question.describe()),
            *(turn for exchange in self._exchanges for turn in exchange.turns()),
            # Far from its beginning a small model has lost the question.
            PromptTurn("user", f"{instruction}\nThe question: {clean(self._question.text)}"),
        ]
        return Prompt(
            phase=phase,
            turns=tuple(_merged(turns)),
            tools=self._tools,
            forced_tool=forced_tool,
            question=self._question.text,
            shown=ledger.shown,
            queries=queries,
            now=self._question.now,
            timezone=self._question.timezone,
            session=self._session,
            max_output_tokens=tokens,
            static_characters=len(system) + len(_tools_text(self._tools)),
        )


def prompt_text(prompt: Prompt) -> str:
    """All that a chat model is sent, in one canonical text."""
    turns = [_turn_json(turn) for turn in prompt.turns]
    return _tools_text(prompt.tools) + json.dumps([prompt.forced_tool, turns], ensure_ascii=False, default=str)


def prompt_sha256(prompt: Prompt) -> str:
    """SHA-256 (hex) of `prompt_text`."""
    return text_sha256(prompt_text(prompt))


def text_sha256(text: str) -> str:
    """SHA-256 (hex) of what a prompt says."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _turn_json(turn: PromptTurn) -> dict[str, object]:
    # By hand: `asdict` copies every value, and prompts are long.
    calls = [
        {"call_id": one.call_id, "name": one.name, "arguments": one.arguments, "raw_arguments": one.raw_arguments}
        for one in turn.tool_calls
    ]
    return {"role": turn.role, "content": turn.content, "tool_calls": calls, "call_id": turn.call_id}


def _tools_text(tools: tuple[ToolSpec, ...]) -> str:
    return f"[{', '.join(_tool_text(tool) for tool in tools)}]"


def _tool_text(tool: ToolSpec) -> str:
    """The tool as JSON, made once: the tools are the same in every prompt of every run."""
    known = _TOOL_TEXTS.get(id(tool))
    if known is None or known[0] is not tool:
        if len(_TOOL_TEXTS) >= _TOOL_TEXTS_AT_MOST:
            _TOOL_TEXTS.clear()
        known = (tool, json.dumps(asdict(tool), ensure_ascii=False, sort_keys=True, default=str))
        _TOOL_TEXTS[id(tool)] = known
    return known[1]


def _merged(turns: Iterable[PromptTurn]) -> Iterable[PromptTurn]:
    """Turns of the user that follow each other as one: many chat templates want them to alternate."""
    last: PromptTurn | None = None
    for turn in turns:
        if last is not None and last.role == turn.role == "user":
            last = replace(last, content=f"{last.content}\n\n{turn.content}")
            continue
        if last is not None:
            yield last
        last = turn
    if last is not None:
        yield last
