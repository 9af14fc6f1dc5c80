"""A model without a model: it plans searches from a question's words and answers by quoting the sentences that fit."""

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from agentic.core.answer import DraftSentence
from agentic.core.ports import Prompt, Reply, ToolCall
from agentic.core.toolcall import ANSWER, INSUFFICIENT
from agentic.llm.extractive import choosing, drafting, planning
from agentic.llm.extractive.alignment import Embed
from agentic.llm.extractive.planning import Call
from agentic.llm.extractive.question import Question, read_question
from agentic.llm.extractive.reading import Reading, read_message
from agentic.llm.extractive.scoring import Candidate
from mailsearch.embeddings import EmbeddingUnavailable

NAME = "built-in extractive reader"
# With less time left than this, sentences are compared by words alone.
_SECONDS_TO_EMBED = 0.6
# The caller's own words are one query; more mean that the reader's own searches have been made.
_OWN_WORDS = 1
_MISSING = {
    "en": "No sentence of the mail that was found answers the question surely enough.",
    "de": "Kein Satz der gefundenen Mails beantwortet die Frage sicher genug.",
    "fr": "Aucune phrase des messages trouvés ne répond assez sûrement à la question.",
}


class ExtractiveReader:
    """Implements `agentic.core.ports.Model`. Keeps nothing between replies; the same prompt gets the same reply.

    *embed* turns texts into vectors, one row each; None compares by words alone. It searches in its first reply, reads
    the threads of the best hits in its second, and then answers or declares that the mail does not hold the answer.
    """

    def __init__(self, embed: Embed | None) -> None:
        self._embed = embed

    @property
    def name(self) -> str:
        return NAME

    async def reply(self, prompt: Prompt, deadline: float) -> Reply:
        """See ports.Model. The work is done in a thread; it needs no network and cannot fault."""
        return await asyncio.to_thread(self._reply, prompt, deadline)

    def _reply(self, prompt: Prompt, deadline: float) -> Reply:
        question = read_question(prompt.question)
        if not prompt.forced_tool and len(prompt.queries) <= _OWN_WORDS and not _has_called(prompt, "search"):
            searches = planning.first_searches(question, prompt.queries)
            if searches:
                # In a fresh process the weights are loaded now, while the first search runs.
                self._warm_up(question.text)
                return _calls(searches)
        readings = [read_message(shown) for shown in prompt.shown]
        if not prompt.forced_tool and readings and not _has_called(prompt, "read_thread"):
            # Words alone are enough to see which threads are worth reading.
            choices = choosing.choose(question, readings, None)
            return _calls(planning.threads_to_read(_best_of(choices), readings))
        choices = self._choose(question, readings, deadline)
        sources = {shown.label: shown.message for shown in prompt.shown}
        sentences = drafting.draft(choices, question.language, sources)
        if sentences:
            return _calls([(ANSWER, {"sentences": [_as_json(sentence) for sentence in sentences]})])
        return _calls([(INSUFFICIENT, {"missing": _MISSING[question.language]})])

    def _choose(self, question: Question, readings: list[Reading], deadline: float) -> list[choosing.Choice]:
        embed = self._embed if deadline - time.monotonic() > _SECONDS_TO_EMBED else None
        try:
            return choosing.choose(question, readings, embed)
        except EmbeddingUnavailable:
            return choosing.choose(question, readings, None)

    def _warm_up(self, text: str) -> None:
        if self._embed is not None:
            with suppress(EmbeddingUnavailable):
                self._embed([text])


def _best_of(choices: Sequence[choosing.Choice]) -> list[Candidate]:
    """The best of each part of the question first, then all others by their scores."""
    firsts = [choice.considered[0] for choice in choices if choice.considered]
    best = [candidate for choice in choices for candidate in choice.considered[:10]]
    return [*firsts, *sorted(best, key=lambda candidate: -candidate.score)]


def _has_called(prompt: Prompt, tool: str) -> bool:
    return any(call.name == tool and call.call_id != "call_0" for turn in prompt.turns for call in turn.tool_calls)


def _calls(calls: Iterable[Call]) -> Reply:
    made = tuple(
        ToolCall(f"call_{number}", name, arguments, json.dumps(arguments, ensure_ascii=False))
        for number, (name, arguments) in enumerate(calls, 1)
    )
    return Reply(NAME, tool_calls=made, finish_reason="tool_calls")


def _as_json(sentence: DraftSentence) -> dict[str, object]:
    return {
        "text": sentence.text,
        "citations": list(sentence.citations),
        "quotes": [{"label": quote.label, "text": quote.text} for quote in sentence.quotes],
    }


__all__ = ["NAME", "ExtractiveReader"]
