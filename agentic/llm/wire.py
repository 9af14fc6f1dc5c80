"""The format of chat completions: a prompt as a request, a response or its stream as a reply.

As OpenAI documents it (platform.openai.com/docs/api-reference/chat) and Workers AI speaks it, with the native form of
Workers AI (`{"result": {"response": …}}`) read too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agentic.core.ports import ModelFault, Prompt, PromptTurn, Reply, ToolCall, ToolSpec, Usage
from agentic.core.replies import is_sound, parse_arguments
from agentic.llm.faults import fault_in

# A rough count where a server reports none: about four characters a token.
_CHARACTERS_PER_TOKEN = 4
_REPLY_AT_MOST = 400_000
_NAME_AT_MOST = 200
# What no server can mean who counts more.
_TOKENS_AT_MOST = 10_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens of prompt, of prompt read from the server's cache, and of completion."""

    prompt: float = 0.0
    cached: float = 0.0
    completion: float = 0.0

    def cost(self, prompt: int, cached: int, completion: int) -> float:
        """USD of one reply; *cached* tokens are part of *prompt*."""
        return ((prompt - cached) * self.prompt + cached * self.cached + completion * self.completion) / 1_000_000


def request_body(prompt: Prompt, model: str, *, effort: str, workers_ai: bool) -> dict[str, object]:
    """The JSON of one request. Content is always a plain string; static parts come first and in a fixed order."""
    body: dict[str, object] = {
        "model": model,
        "tools": [_tool(spec) for spec in prompt.tools],
        "messages": [_message(turn) for turn in prompt.turns],
        "tool_choice": "auto",
        "max_tokens": prompt.max_output_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if prompt.forced_tool:
        body["tool_choice"] = {"type": "function", "function": {"name": prompt.forced_tool}}
    if effort:
        body["reasoning_effort"] = effort
    if workers_ai:
        body["options"] = {"rejectIfBusy": True}
    return body


@dataclass(slots=True)
class _PartialCall:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ReplyBuilder:
    """Puts a reply together, from one whole response or from the events of a stream."""

    def __init__(self, model: str, prices: Prices, prompt_characters: int) -> None:
        self._model = model
        self._prices = prices
        self._prompt_characters = prompt_characters
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[object, _PartialCall] = {}
        self._usage: Mapping[str, object] = {}
        self._finish = ""
        self._size = 0

    @property
    def complete(self) -> bool:
        """Whether the server said why it stopped."""
        return bool(self._finish)

    def take(self, data: str) -> None:
        """One JSON object: a whole response or an event's data. Raises ModelFault."""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.fault("invalid_json") from error
        if not isinstance(value, Mapping) or not is_sound(value, finite=False):
            raise self.fault("invalid_json")
        reported = fault_in(value)
        if reported is not None:
            raise reported
        value = _mapping(value.get("result")) or value
        self._usage = _mapping(value.get("usage")) or self._usage
        self._take_choice(value)
        if self._size > _REPLY_AT_MOST:
            raise self.fault("too_long_reply")

    def reply(self) -> Reply:
        """The reply as far as it came."""
        return Reply(
            model=self._model,
            text="".join(self._text),
            tool_calls=tuple(_tool_call(call) for call in self._calls.values() if call.name),
            usage=self.usage(),
            finish_reason=self._finish,
            reasoning="".join(self._reasoning),
        )

    def usage(self) -> Usage:
        """Tokens as the server counted them, else estimated from the characters that went and came."""
        prompt = _count(self._usage.get("prompt_tokens"), self._prompt_characters // _CHARACTERS_PER_TOKEN)
        completion = _count(self._usage.get("completion_tokens"), self._size // _CHARACTERS_PER_TOKEN)
        details = _mapping(self._usage.get("prompt_tokens_details"))
        cached = min(prompt, _count(details.get("cached_tokens"), 0))
        return Usage(prompt, cached, completion, self._prices.cost(prompt, cached, completion))

    def fault(self, code: str, detail: str = "") -> ModelFault:
        """A fault of a reply that arrived in part, and so costs what came of it."""
        return ModelFault(code, detail, charged=True, usage=self.usage())

    def _take_choice(self, value: Mapping[str, object]) -> None:
        choices = value.get("choices")
        if isinstance(choices, Sequence) and choices:
            choice = _mapping(choices[0])
            self._take_message(_mapping(choice.get("delta")) or _mapping(choice.get("message")))
            self._finish = _string(choice.get("finish_reason")) or self._finish
        elif "response" in value or "tool_calls" in value:
            answer = value.get("response")
            text = answer if isinstance(answer, str) else json.dumps(answer) if answer else ""
            self._take_message({"content": text, "tool_calls": value.get("tool_calls")})
            self._finish = self._finish or "stop"

    def _take_message(self, message: Mapping[str, object]) -> None:
        self._add(self._text, _content(message.get("content")))
        self._add(self._reasoning, _string(message.get("reasoning_content")) or _string(message.get("reasoning")))
        calls = message.get("tool_calls")
        for place, entry in enumerate(calls if isinstance(calls, Sequence) else ()):
            self._take_call(place, _mapping(entry))

    def _take_call(self, place: int, entry: Mapping[str, object]) -> None:
        # Streams tell by `index` to which call a piece belongs; some servers give whole calls without one.
        index = entry.get("index")
        key: object = index if isinstance(index, int) else (_string(entry.get("id")) or (place, len(self._calls)))
        call = self._calls.setdefault(key, _PartialCall())
        function = _mapping(entry.get("function")) or entry
        call.call_id = call.call_id or _string(entry.get("id"))
        call.name = call.name or _string(function.get("name"))[:_NAME_AT_MOST]
        arguments = function.get("arguments")
        self._add(call.arguments, json.dumps(arguments) if isinstance(arguments, Mapping) else _string(arguments))

    def _add(self, pieces: list[str], piece: str) -> None:
        if piece:
            pieces.append(piece)
            self._size += len(piece)


class EventLines:
    """Cuts the text of an event stream into the data of its events (WHATWG HTML, server-sent events)."""

    def __init__(self) -> None:
        self._rest: list[str] = []

    def feed(self, text: str) -> Iterator[str]:
        """Data of the lines that *text* completes. Comments and other fields are passed over."""
        if "\n" not in text:
            # A line may come in any number of pieces: none of them is copied more than once.
            self._rest.append(text)
            return
        # Not str.splitlines: a line separator inside a JSON string would end the line.
        *lines, rest = "".join((*self._rest, text)).split("\n")
        self._rest = [rest]
        for line in lines:
            if line.startswith("data:"):
                yield line.removeprefix("data:").strip(" \r")

    def end(self) -> Iterator[str]:
        """Data of a last line that no line break ended."""
        yield from self.feed("\n")


def _tool(spec: ToolSpec) -> dict[str, object]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _message(turn: PromptTurn) -> dict[str, object]:
    message: dict[str, object] = {"role": turn.role, "content": turn.content}
    if turn.tool_calls:
        message["tool_calls"] = [_sent_call(call) for call in turn.tool_calls]
    if turn.role == "tool":
        message["tool_call_id"] = turn.call_id
    return message


def _sent_call(call: ToolCall) -> dict[str, object]:
    arguments = json.dumps(call.arguments or {}, ensure_ascii=False)
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _tool_call(call: _PartialCall) -> ToolCall:
    raw = "".join(call.arguments)
    return ToolCall(call.call_id, call.name, parse_arguments(raw), raw)


def _content(value: object) -> str:
    """Text of a message; some servers give it in parts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, Sequence) else ()
    return "".join(_string(_mapping(part).get("text")) for part in parts)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object, default: int) -> int:
    """*value* where it can be a number of tokens."""
    return value if isinstance(value, int) and 0 <= value <= _TOKENS_AT_MOST else default
