"""One question being answered: plan, search, judge, answer, verify, as a generator of everything that happens."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal

from agentic.core import prompts
from agentic.core import verify as default_rules
from agentic.core.answer import Draft
from agentic.core.batches import Happenings, batched
from agentic.core.budget import Budget, Clock, Limits
from agentic.core.charging import charged
from agentic.core.conversation import Conversation, prompt_text, text_sha256
from agentic.core.events import DUE, Asked, Cut, Drafted, Event, Finished, Found, Phase, Replied, Verified
from agentic.core.inflight import InFlight
from agentic.core.judging import Judge
from agentic.core.labels import Below
from agentic.core.ledger import Ledger
from agentic.core.outcome import Ending, decide
from agentic.core.ports import Model, ModelFault, Prompt, Reply, Toolbox, ToolCall
from agentic.core.question import Question
from agentic.core.replies import ReadCall, Reading, read_reply, with_ids
from agentic.core.searching import FIRST_CALL_ID, Search, Searches
from agentic.core.tally import Tally
from agentic.core.toolcall import ANSWER, SEARCH
from agentic.core.verdict import Ruler, Rules, ThreadReader, Verdict

__all__ = ["Limits", "Loop", "Question"]

# Faults that asking again cannot cure.
_LASTING = frozenset({"auth", "circuit_open", "daily_quota", "no_such_model"})
_UNUSABLE_IN_A_ROW = 2
# After so many replies in a row that only repeat calls, the answer is asked for: another search would bring nothing.
_REPEATS_IN_A_ROW = 2
# A model that ends at its deadline by itself may do so this much before the loop's own clock strikes.
_CLOCK_TOLERANCE = 0.05
_MISSING_CHARACTERS = 300


class Loop:
    """Runs once. `events` is the run; `cancel` ends it early, in the thread of its event loop."""

    def __init__(
        self,
        question: Question,
        model: Model,
        toolbox: Toolbox,
        limits: Limits,
        *,
        fallback: Model | None = None,
        judged: bool = False,
        verify: Rules = default_rules,
        read_threads: ThreadReader | None = None,
        ruler: Ruler | None = None,
        clock: Clock = time.monotonic,
        overhead_seconds: float = 0.25,
        spent_seconds: float = 0.0,
        random: Below = secrets.randbelow,
    ) -> None:
        self._question = question
        self._model = model
        self._fallback = fallback
        self._toolbox = toolbox
        self._limits = limits
        self._verdict = Verdict(verify, question, read_threads, ruler)
        self._clock = clock
        # What writing and sending the response takes, and what of the run's time had passed before the loop.
        self._overhead, self._spent = overhead_seconds, spent_seconds
        self._flight = InFlight(clock)
        self._ledger = Ledger(question.text, random)
        self._session, self._random = f"{random(1 << 128):032x}", random
        self._talk = Conversation(question, toolbox.specs, self._session)
        self._searches = Searches(
            question, toolbox, limits, self._ledger, self._talk, self._flight, clock, random
        )  # fmt: skip
        self._first: list[Search] = []
        self._first_shown = False
        # What the last reply asked for; None where no reply came in time.
        self._reading: Reading | None = None
        self._saw_first = False
        self._blind = True
        self._tally = Tally()
        # Whether a model is asked at the end if the answer is one.
        self._judged = judged

    def cancel(self) -> None:
        """End the run as soon as it waits for anything. Its last event is still `Finished`."""
        self._flight.stop()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Everything that happens, each act before it is done; the last event is `Finished`."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    async def batches(self) -> AsyncGenerator[tuple[Event, ...], None]:
        """The same, with what may be written down together in one: nothing is done or waited for in between."""
        self._budget = Budget(self._limits, self._clock, self._overhead, self._spent)
        try:
            async with aclosing(batched(self._run())) as batches:
                async for batch in batches:
                    yield batch
        finally:
            await self._flight.close()

    async def _run(self) -> Happenings:
        arguments = {"query": self._question.first_query}
        first = self._searches.prepare(ReadCall(ToolCall(FIRST_CALL_ID, SEARCH, arguments)), None)
        self._talk.add_calls([first.call])
        yield self._searches.called(first, "plan", arguments)
        self._first = [first]
        while not self._tally.over and not self._flight.stopped:
            async for event in self._turn():
                yield event
        # What the asker's own words find is shown even where the model failed at once.
        if not self._flight.stopped:
            async for event in self._land(self._take_first(), self._budget.search_until):
                yield event
            async for event in self._judge():
                yield event
        if self._flight.stopped:
            yield Cut("judge", self._budget.steps, "cancelled", "the run was cancelled")
        self._flight.abandon()
        yield self._finished()

    async def _turn(self) -> Happenings:
        """One reply, and what it asks for."""
        forced = bool(self._budget.only_reserve) or not self._searches.room_left
        if forced or self._tally.model_calls:
            async for event in self._land(self._take_first(), self._budget.search_until):
                yield event
        if self._budget.ended or (forced and self._tally.usable and not self._ledger.evidence):
            self._tally.end(limit=self._budget.ended or self._why_forced())
            return
        phase: Literal["plan", "judge", "answer"] = "answer" if forced else "judge" if self._first_shown else "plan"
        circling = self._tally.repeats >= _REPEATS_IN_A_ROW and bool(self._ledger.evidence)
        async for event in self._ask(phase, forced, "answer" if circling else phase, wanted=circling):
            yield event
        if self._reading is None and forced:
            self._tally.end(limit="seconds")
        elif self._reading is not None and not self._flight.stopped:
            async for event in self._act(self._reading, forced):
                yield event

    async def _act(self, reading: Reading, forced: bool) -> Happenings:
        if reading.prose and self._saw_first and await self._is_absence(reading.prose):
            reading = Reading(draft=Draft(insufficient=True, missing=reading.prose[:_MISSING_CHARACTERS]))
        if reading.fault:
            self._reject(reading)
        elif reading.draft is not None:
            async for event in self._conclude(reading.draft, forced):
                yield event
        elif forced:
            self._tally.usable = True
            yield Cut("answer", self._budget.steps, self._why_forced(), "searches were asked for in place of an answer")
            self._tally.end(limit=self._why_forced())
        else:
            async for event in self._search(reading.calls):
                yield event

    async def _ask(
        self, phase: Phase, forced: bool, instruction: prompts.Name, wanted: bool = False
    ) -> Happenings:  # fmt: skip
        """Ask the model. What it replied is then in `_reading`, with a fault where nothing came.

        *forced* leaves it nothing but the answer; *wanted* asks for the answer, and takes searches too.
        """
        prompt = self._prompt(phase, forced or wanted, instruction)
        text = prompt_text(prompt)
        step = self._budget.steps + 1
        until = self._budget.deadline if forced else self._budget.reserve_from
        yield Asked(phase, step, self._model.name, text_sha256(text), len(text))
        yield DUE
        self._searches.begin(self._first, self._budget.search_until)
        began = self._clock()
        self._tally.model_calls += 1
        task = self._flight.start(self._model.reply(prompt, until))
        while not task.done():
            yield DUE
            waiting = [task, *(search.task for search in self._first if search.task is not None)]
            if not await self._flight.wait_any(waiting, until):
                break
            for search in self._take_first() if not task.done() else ():
                yield self._take_in(search)
        if task.done():
            yield self._arrived(task, phase, step, until, began)
            return
        self._flight.give_up(task)
        self._reading, self._tally.last_fault = None, "timeout"
        if not self._flight.stopped:
            yield Cut(phase, step, "seconds", "the model had not replied")
            self._use_fallback()

    def _arrived(self, task: asyncio.Task[Reply], phase: Phase, step: int, until: float, began: float) -> Replied:
        """Charge a reply and understand it."""
        took_ms = round(1000 * (self._clock() - began))
        reply = charged(task, self._budget)
        if isinstance(reply, ModelFault):
            self._tally.last_fault = reply.code
            late = reply.code in ("timeout", "hung") and self._clock() >= until - _CLOCK_TOLERANCE
            self._reading = None if late else Reading(fault=reply.code, detail=reply.detail, arrived=False)
            return Replied(phase, step, self._model.name, 0, reply.usage, reply.code, reply.detail, took_ms)
        self._reading = reading = read_reply(reply, {spec.name for spec in self._toolbox.specs})
        calls = len(reading.calls) or int(reading.draft is not None)
        return Replied(phase, step, self._model.name, calls, reply.usage, reading.fault, reading.detail, took_ms)

    async def _search(self, calls: tuple[ReadCall, ...]) -> Happenings:
        """Make the calls of one reply side by side."""
        self._tally.took()
        step = self._budget.steps
        calls = with_ids(calls, self._tally.calls + 1)
        self._tally.calls += len(calls)
        kept, cut = calls[: self._limits.calls_per_step], calls[self._limits.calls_per_step :]
        self._talk.add_calls([read.call for read in kept])
        searches = []
        for read in kept:
            search = self._searches.prepare(read, step)
            yield self._searches.called(search, "search", read.call.arguments)
            searches.append(search)
        self._tally.searched(anew=not all(search.repeated for search in searches))
        if cut:
            yield Cut("search", step, "calls", f"{len(cut)} calls beyond {self._limits.calls_per_step} were not made")
        async for event in self._land([*self._take_first(), *searches], self._budget.search_until):
            yield event
        if not self._searches.room_left:
            yield Cut("search", step, "characters", "no more mail may be shown in this run")

    async def _land(self, searches: Sequence[Search], until: float) -> Happenings:
        """Have the calls made that were not begun, side by side, and take in their results in their order."""
        if any(search.awaited for search in searches):
            yield DUE
        self._searches.begin(searches, until)
        for search in searches:
            if search.task is None or await self._flight.wait_any([search.task], until):
                yield self._take_in(search)
                continue
            self._searches.give_up(search)
            if not self._flight.stopped:
                yield Cut("search", search.step, "seconds", f"{search.call.name} had not come back")

    async def _conclude(self, draft: Draft, forced: bool) -> Happenings:
        """Take a draft or a declaration, unless the model spoke before it could have read."""
        self._tally.took()
        if draft.insufficient and self._first_shown and not self._searches.answered:
            # Mail that could not be searched is not mail that holds nothing.
            self._tally.end(fault="search_unavailable")
            return
        if not self._saw_first if draft.insufficient else self._blind and not forced:
            self._talk.add_note(prompts.load("reread"))
            if forced:
                self._tally.end(limit=self._why_forced())
            return
        async for event in self._check(draft, 1):
            yield event
        if self._wants_repair():
            async for event in self._repair():
                yield event
        self._tally.over = True

    async def _check(self, draft: Draft, round_: int) -> Happenings:
        """Have code decide which sentences of *draft* stand."""
        step = self._budget.steps
        yield Drafted(step, round_, draft)
        if draft.insufficient:
            self._verdict.declare()
            return
        began = self._clock()
        ruled = self._verdict.ruled(
            draft, self._ledger.sources, frozenset(self._searches.markers), self._budget.deadline
        )
        # Begun while the draft is written down: nothing of it reaches anybody, and writing takes as long as it does.
        task = self._flight.start(ruled)
        yield DUE
        if await self._flight.wait_any([task], self._budget.deadline) and (ruling := task.result()) is not None:
            self._verdict.take(ruling)
            yield Verified(step, round_, ruling.verification, round(1000 * (self._clock() - began)))
        elif not self._flight.stopped:
            yield Cut("verify", step, "seconds", "verification had not ended")
            self._tally.limit = "seconds"

    async def _is_absence(self, prose: str) -> bool:
        task = self._flight.start(self._verdict.is_absence(prose, self._budget.deadline))
        return await self._flight.wait_any([task], self._budget.deadline) and task.result()

    async def _repair(self) -> Happenings:
        """Let the model try once more; it is told labels and reasons only."""
        assert self._verdict.ruling is not None
        self._tally.calls += 1
        drafted = [sentence.drafted for sentence in self._verdict.ruling.verification.sentences]
        call = ToolCall(f"call_{self._tally.calls}", ANSWER, {"sentences": drafted})
        self._talk.add_calls([call])
        self._talk.add_result(call.call_id, self._verdict.hints())
        async for event in self._ask("answer", True, "repair"):
            yield event
        if self._reading is not None and self._reading.draft is not None:
            async for event in self._check(self._reading.draft, 2):
                yield event

    async def _judge(self) -> Happenings:
        """Let a model say whether the answer answers, where that is wanted and still affordable."""
        ruling = self._verdict.ruling
        if not self._judged or ruling is None or decide(self._ending)[0] != "answered" or self._budget.ended:
            return
        judge = Judge(self._question, self._model, self._budget, self._flight, self._clock)
        self._tally.model_calls += 1
        async for event in judge.events(ruling.verification, self._session, self._random):
            yield event
        self._tally.lowered = judge.lowers

    def _wants_repair(self) -> bool:
        """Whether a second draft may be worth its step: whenever nothing stands, and else only out of plenty."""
        ruling = self._verdict.ruling
        if ruling is None or ruling.absent or self._budget.ended or self._flight.stopped:
            return False
        return not ruling.supported or bool(ruling.verification.removed and not self._budget.only_reserve)

    def _reject(self, reading: Reading) -> None:
        """A reply that can't be used: say why and ask again, or another model, or give up."""
        self._tally.unusable += 1
        self._tally.last_fault = reading.fault
        if reading.fault == "too_long":
            self._shorten()
        lasting = reading.fault in _LASTING or self._tally.unusable >= _UNUSABLE_IN_A_ROW
        if (lasting or not reading.arrived) and self._use_fallback():
            return
        if lasting:
            self._tally.end(fault=reading.fault)
            return
        self._explain(reading)

    def _explain(self, reading: Reading) -> None:
        calls = with_ids(reading.calls, self._tally.calls + 1)
        self._tally.calls += len(calls)
        self._talk.add_findings([(read.call, read.finding) for read in calls])
        if not calls and reading.detail and reading.arrived:
            self._talk.add_note(f"Your last reply could not be used. {reading.detail}")

    def _use_fallback(self) -> bool:
        """Go on with the second model, if there is one that was not tried yet."""
        if self._fallback is None:
            return False
        self._model, self._fallback = self._fallback, None
        self._tally.unusable = 0
        return True

    def _shorten(self) -> None:
        """Show all evidence once more in half the room, and forget the turns that did not fit."""
        self._searches.halve()
        first = ToolCall(FIRST_CALL_ID, SEARCH, {"query": self._question.first_query})
        self._talk.start_over(first, self._searches.everything())

    def _prompt(self, phase: Phase, answer_only: bool, instruction: prompts.Name) -> Prompt:
        self._saw_first, self._blind = self._first_shown, not self._ledger.evidence
        tool = ANSWER if answer_only else ""
        return self._talk.prompt(
            phase, prompts.load(instruction), tool, self._ledger, self._searches.queries, self._limits.output_tokens
        )  # fmt: skip

    def _take_first(self) -> list[Search]:
        """The first search, if its result was not taken in yet."""
        first, self._first = self._first, []
        return first

    def _take_in(self, search: Search) -> Found:
        found = self._searches.take_in(search)
        if search.step is None:
            self._first_shown = True
        if found.admitted and self._tally.first_evidence_ms is None:
            self._tally.first_evidence_ms = round(self._budget.seconds * 1000)
        return found

    def _why_forced(self) -> str:
        return self._budget.only_reserve or "characters"

    @property
    def _ending(self) -> Ending:
        return self._tally.ending(
            self._verdict, cancelled=self._flight.stopped, found=bool(self._ledger.evidence)
        )  # fmt: skip

    def _finished(self) -> Finished:
        return self._tally.finished(self._ending, self._verdict, self._budget, self._searches.made, self._model.name)
