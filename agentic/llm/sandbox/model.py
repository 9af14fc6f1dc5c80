"""A model of one run that replies to a fixed question as it is written there."""

import asyncio
import json
from collections.abc import Mapping

from agentic.core.ports import ModelFault, Prompt, Reply, ToolCall
from agentic.core.toolcall import ANSWER, INSUFFICIENT, SEARCH
from agentic.llm.sandbox.questions import Answers, Claim, Declares, Fails, FixedQuestion, Hangs, Searches
from mailsearch.hits import MessageText

NAME = "sandbox"


class SandboxModel:
    """See ports.Model. For one run: it counts how often it was asked."""

    name = NAME

    def __init__(self, question: FixedQuestion) -> None:
        self._turns = list(question.turns)

    async def reply(self, prompt: Prompt, deadline: float) -> Reply:
        turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        match turn:
            case Fails(code):
                raise ModelFault(code, "the sandbox was asked for it")
            case Hangs():
                await asyncio.Event().wait()
                raise AssertionError("nothing sets that event")
            case Searches(arguments):
                return _calls(*((SEARCH, one) for one in arguments))
            case Declares(missing):
                return _calls((INSUFFICIENT, {"missing": missing}))
            case Answers(claims):
                return _calls((ANSWER, {"sentences": [_sentence(prompt, claim) for claim in claims]}))


def _calls(*made: tuple[str, Mapping[str, object]]) -> Reply:
    calls = tuple(
        ToolCall(f"sandbox_{number}", name, arguments, json.dumps(arguments))
        for number, (name, arguments) in enumerate(made)
    )
    return Reply(NAME, tool_calls=calls, finish_reason="tool_calls")


def _sentence(prompt: Prompt, claim: Claim) -> Mapping[str, object]:
    """The claim as a model drafts it. Where the mail was not shown, it cites nothing that exists."""
    label = next((one.label for one in prompt.shown if _wrote(one.message, claim.source)), "unseen00")
    return {"text": claim.text, "citations": [label], "quotes": [{"label": label, "text": claim.quote}]}


def _wrote(message: MessageText, words: str) -> bool:
    """Whether the body of *message* holds *words*, and not only where it repeats another mail."""
    body = message.part("body")
    if body is None or words not in _joined(body.text):
        return False
    others = [region for region in body.regions if region.kind != "signature"]
    return not any(words in _joined(body.text[region.start : region.end]) for region in others)


def _joined(text: str) -> str:
    return " ".join(text.split())
