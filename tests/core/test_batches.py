"""What the loop hands over to be written together, and when."""

import asyncio
from contextlib import aclosing

from agentic.core.answer import Draft, Verification
from agentic.core.events import Asked, Called, Drafted, Event, Finished
from agentic.core.loop import Limits, Loop, Question
from agentic.core.ports import Prompt, Reply
from agentic.core.verdict import Ruling
from tests.standins.mail_toolbox import MailToolbox, message
from tests.standins.running import NOW
from tests.standins.scripted_model import ScriptedModel, answers, declares, searches


def _batches(model: ScriptedModel, toolbox: MailToolbox) -> list[tuple[tuple[Event, ...], int, int]]:
    """Each batch with how often model and tools had been asked when it came."""
    loop = Loop(Question("Who accepted the Golf claim?", NOW, "Europe/Berlin"), model, toolbox, Limits())

    async def collect() -> list[tuple[tuple[Event, ...], int, int]]:
        async with aclosing(loop.batches()) as batches:
            return [(batch, len(model.prompts), len(toolbox.calls)) async for batch in batches]

    return asyncio.run(collect())


def test_the_first_search_and_the_first_question_to_the_model_are_written_together() -> None:
    first, prompts, calls = _batches(ScriptedModel(declares()), MailToolbox())[0]
    assert [type(event) for event in first] == [Called, Asked]
    assert (prompts, calls) == (0, 0)


def test_all_calls_of_a_reply_are_written_together_before_the_first_is_made() -> None:
    model = ScriptedModel(searches("golf", "liability", "insurer"), declares())
    found = _batches(model, MailToolbox())
    batch, _, calls = next(one for one in found[1:] if sum(isinstance(event, Called) for event in one[0]) == 3)
    # Only the asker's own words were searched for until then.
    assert calls <= 1
    assert not any(isinstance(event, Finished) for event in batch)


def test_what_was_found_is_written_while_the_model_still_thinks() -> None:
    toolbox = MailToolbox()
    written = asyncio.Event()

    async def think_until_it_is_written(prompt: Prompt) -> Reply:
        await written.wait()
        return declares()

    loop = Loop(
        Question("Who accepted the Golf claim?", NOW, "Europe/Berlin"),
        ScriptedModel(think_until_it_is_written, declares()),
        toolbox,
        Limits(max_seconds=60),
    )

    async def drive() -> list[str]:
        names = []
        async with aclosing(loop.batches()) as batches:
            async for batch in batches:
                names += [type(event).__name__ for event in batch]
                if "Found" in names:
                    written.set()
        return names

    names = asyncio.run(asyncio.wait_for(drive(), 30))
    assert names.index("Found") < names.index("Replied")
    assert names[-1] == "Finished"


def test_a_draft_is_verified_while_it_is_written() -> None:
    begun = asyncio.Event()

    async def rule(
        question: Question, draft: Draft, sources: object, threads: object, markers: object, until: float
    ) -> Ruling:
        begun.set()
        return Ruling(Verification((), "1"))

    toolbox = MailToolbox(message(1, "We accept liability for the Golf."))
    model = ScriptedModel(searches("golf"), answers(("They do.", "accept liability", "accept liability")))
    loop = Loop(Question("Who accepts the Golf claim?", NOW, "Europe/Berlin"), model, toolbox, Limits(), ruler=rule)

    async def drive() -> None:
        async with aclosing(loop.batches()) as batches:
            async for batch in batches:
                if any(isinstance(event, Drafted) for event in batch):
                    # The next batch was not asked for yet: whoever writes this one is still at it.
                    await begun.wait()

    asyncio.run(asyncio.wait_for(drive(), 30))
    assert begun.is_set()
