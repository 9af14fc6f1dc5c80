"""A model that replies by a script and keeps the prompts that it saw."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentic.core.ports import ModelFault, Prompt, Reply, ToolCall, Usage

Line = Reply | ModelFault | Callable[[Prompt], Reply | Awaitable[Reply]]


class ScriptedModel:
    """Replies with one line of the script after the other; the last one is said again and again."""

    def __init__(self, *script: Line, name: str = "scripted") -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self.deadlines: list[float] = []
        self.cancelled = 0
        self._script = list(script)

    async def reply(self, prompt: Prompt, deadline: float) -> Reply:
        self.prompts.append(prompt)
        self.deadlines.append(deadline)
        line = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(line, ModelFault):
            raise line
        if isinstance(line, Reply):
            return line
        try:
            reply = line(prompt)
            return await reply if inspect.isawaitable(reply) else reply
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


def calls(*made: tuple[str, Mapping[str, object]]) -> Reply:
    """A reply that calls tools: `calls(("search", {"query": "golf"}))`."""
    return Reply(
        "scripted",
        tool_calls=tuple(
            ToolCall(f"id{number}", name, dict(arguments), json.dumps(arguments))
            for number, (name, arguments) in enumerate(made)
        ),
        usage=Usage(100, 40, 10, 0.001),
        finish_reason="tool_calls",
    )


def searches(*queries: str) -> Reply:
    """A reply that searches."""
    return calls(*(("search", {"query": query}) for query in queries))


def says(text: str, finish_reason: str = "stop") -> Reply:
    """A reply in prose."""
    return Reply("scripted", text=text, usage=Usage(100, 40, 10, 0.001), finish_reason=finish_reason)


def answers(*sentences: tuple[str, str, str]) -> Callable[[Prompt], Reply]:
    """An answer of sentences (text, words of the message that it cites, quote).

    The label is that of the shown message that holds the words; where none does, the words are taken as a label.
    """

    def reply(prompt: Prompt) -> Reply:
        return calls(("answer", {"sentences": [_sentence(prompt, *sentence) for sentence in sentences]}))

    return reply


def declares(missing: str = "nothing says so") -> Reply:
    """A declared insufficiency."""
    return calls(("insufficient", {"missing": missing}))


async def hangs(prompt: Prompt) -> Reply:
    """Never replies."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def label_of(prompt: Prompt, words: str) -> str:
    """The label of the first shown message with *words* in one of its parts; *words* where there is none."""
    for shown in prompt.shown:
        if any(words in part.text for part in shown.message.parts):
            return shown.label
    return words


def _sentence(prompt: Prompt, text: str, words: str, quote: str) -> dict[str, Any]:
    label = label_of(prompt, words)
    return {"text": text, "citations": [label], "quotes": [{"label": label, "text": quote}] if quote else []}
