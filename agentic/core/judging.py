"""A model's opinion on an answer that code has let stand. It may lower the outcome, never raise it.

It is shown the question and the kept sentences and nothing else, so mail that was not cited cannot speak to it.
"""

import asyncio
import re

from agentic.core import prompts
from agentic.core.answer import Verification
from agentic.core.batches import Happenings
from agentic.core.budget import Budget, Clock
from agentic.core.charging import charged
from agentic.core.conversation import prompt_text, text_sha256
from agentic.core.events import DUE, Asked, Cut, Replied
from agentic.core.fence import clean, fence, new_marker
from agentic.core.inflight import InFlight
from agentic.core.labels import Below
from agentic.core.ports import Model, ModelFault, Prompt, PromptTurn, Reply, ToolSpec
from agentic.core.question import Question
from agentic.core.replies import split_reasoning, textual_calls

JUDGE = ToolSpec(
    "judge",
    "Say whether the sentences answer the question.",
    {
        "type": "object",
        "properties": {"answers": {"type": "boolean"}},
        "required": ["answers"],
        "additionalProperties": False,
    },
)
_NO_IN_TEXT = re.compile(r"\W*(?:no\b|false\b|\{\s*\"answers\"\s*:\s*false\b)", re.IGNORECASE)
_YES_IN_TEXT = re.compile(r"\W*(?:yes\b|true\b|\{\s*\"answers\"\s*:\s*true\b)", re.IGNORECASE)
_OUTPUT_TOKENS = 300


class Judge:
    """Asks once, as one step of the run's budget. `lowers` is true only where the model plainly said no."""

    def __init__(self, question: Question, model: Model, budget: Budget, flight: InFlight, clock: Clock) -> None:
        self.lowers = False
        self._question = question
        self._model = model
        self._budget = budget
        self._flight = flight
        self._clock = clock

    async def events(self, verification: Verification, session: str, random: Below) -> Happenings:
        """What happens while the model is asked. Whatever goes wrong changes nothing of the outcome."""
        prompt = self._prompt(verification, session, random)
        text = prompt_text(prompt)
        step, began = self._budget.steps + 1, self._clock()
        yield Asked("judge", step, self._model.name, text_sha256(text), len(text))
        yield DUE
        task = self._flight.start(self._model.reply(prompt, self._budget.deadline))
        if await self._flight.wait_any([task], self._budget.deadline):
            yield self._arrived(task, step, began)
            return
        self._flight.give_up(task)
        if not self._flight.stopped:
            yield Cut("judge", step, "seconds", "the model had not judged")

    def _arrived(self, task: asyncio.Task[Reply], step: int, began: float) -> Replied:
        took_ms = round(1000 * (self._clock() - began))
        reply = charged(task, self._budget)
        if isinstance(reply, ModelFault):
            return Replied("judge", step, self._model.name, 0, reply.usage, reply.code, reply.detail, took_ms)
        opinion = _opinion(reply)
        self.lowers = opinion is False
        fault_code = "" if opinion is not None else "no_call"
        calls = int(opinion is not None)
        return Replied("judge", step, self._model.name, calls, reply.usage, fault_code, "", took_ms)

    def _prompt(self, verification: Verification, session: str, random: Below) -> Prompt:
        sentences = "\n".join(f"- {clean(sentence.text)}" for sentence in verification.kept)
        asked = clean(self._question.text)
        system = prompts.load("suffices")
        fenced = fence(sentences, new_marker(sentences + asked, random))
        return Prompt(
            phase="judge",
            turns=(
                PromptTurn("system", system),
                PromptTurn("user", f"Question: {asked}\nSentences:\n{fenced}\nCall `judge`."),
            ),
            tools=(JUDGE,),
            forced_tool=JUDGE.name,
            question=self._question.text,
            shown=(),
            queries=(),
            now=self._question.now,
            timezone=self._question.timezone,
            session=session,
            max_output_tokens=_OUTPUT_TOKENS,
            static_characters=len(system),
        )


def _opinion(reply: Reply) -> bool | None:
    """True or False as the model said; None where it said neither, or both."""
    text = split_reasoning(reply.text)[0]
    calls = [call for call in reply.tool_calls or textual_calls(text) if call.name == JUDGE.name]
    said = {call.arguments.get("answers") for call in calls if call.arguments is not None}
    if not calls:
        said = {False} if _NO_IN_TEXT.match(text) else {True} if _YES_IN_TEXT.match(text) else set()
    plain = {_plain(value) for value in said}
    return plain.pop() if len(plain) == 1 else None


def _plain(value: object) -> bool | None:
    words = {"no": False, "false": False, "yes": True, "true": True}
    return value if isinstance(value, bool) else words.get(value.strip().casefold()) if isinstance(value, str) else None
