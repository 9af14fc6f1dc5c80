"""Calls of the mail tools in one run: made once, checked for markers, their results taken as evidence and shown."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from agentic.core.budget import Clock, Limits
from agentic.core.conversation import Conversation
from agentic.core.events import Called, Found, Phase
from agentic.core.evidence import FoundBy
from agentic.core.fence import find_marker
from agentic.core.inflight import InFlight
from agentic.core.labels import Below
from agentic.core.ledger import LEAST_CHARACTERS, Admission, Ledger
from agentic.core.ports import Toolbox, ToolCall, ToolResult, ToolUnavailable, WidenAttempt
from agentic.core.question import Question
from agentic.core.rendering import render_everything, render_result
from agentic.core.replies import ReadCall
from agentic.core.toolcall import SEARCH, ids_for_labels, memory_key, query_of

FIRST_CALL_ID = "call_0"
_LEAST_ROOM = 1_000
_REPEATED = "The same call was made before; its result stands above."
_NARROWED = "It was narrowed by more than words: search again with `query` alone."
# What does not narrow a search.
_WIDE = frozenset({"query", "mode", "limit", "offset"})
_BLOCKED = ToolResult(finding="not found")
_UNKNOWN = "unknown"


@dataclass(slots=True)
class Search:
    """One call of a tool on its way. `instant` is its result where the tool need not be asked."""

    call: ToolCall
    step: int | None
    key: str
    instant: ToolResult | None = None
    repeated: bool = False
    task: asyncio.Task[ToolResult] | None = None
    begun: bool = False
    began: float = 0.0

    @property
    def awaited(self) -> bool:
        """Whether its result is still to come: the tool was not asked yet, or has not answered."""
        return self.instant is None and (self.task is None or not self.task.done())


class Searches:
    """Prepares, starts and takes in the calls of one run."""

    def __init__(
        self, question: Question, toolbox: Toolbox, limits: Limits, ledger: Ledger, conversation: Conversation,
        flight: InFlight, clock: Clock, below: Below,
    ) -> None:  # fmt: skip
        self.made = 0
        self.answered = 0
        self.queries: tuple[str, ...] = ()
        self.markers: set[str] = set()
        self.characters = 0
        self._question = question
        self._toolbox = toolbox
        self._limits = limits
        self._ledger = ledger
        self._conversation = conversation
        self._flight = flight
        self._clock = clock
        self._below = below
        self._known: set[str] = set()

    def prepare(self, read: ReadCall, step: int | None) -> Search:
        """Decide how a call will be answered: by the tool, from memory, or not at all. Nothing is asked yet."""
        arguments = ids_for_labels(read.call.arguments or {}, self._ledger)
        search = Search(read.call, step, memory_key(read.call.name, arguments))
        leaked = find_marker([read.call.name, read.call.arguments or read.call.raw_arguments], self.markers)
        if leaked is not None:
            attempt = WidenAttempt("marker", self._tool(search), leaked, "a marker of this run")
            search.instant = replace(_BLOCKED, widen=(attempt,))
        elif read.finding:
            search.instant = ToolResult(finding=read.finding)
        elif search.key in self._known:
            search.instant, search.repeated = ToolResult(), True
        else:
            self._known.add(search.key)
            search.call = replace(read.call, arguments=arguments)
        return search

    def called(self, search: Search, phase: Phase, arguments: Mapping[str, object] | None) -> Called:
        """The event before the act. *arguments* are as the model sent them."""
        sent = arguments if arguments is not None else {"unreadable": search.call.raw_arguments[:500]}
        tool = self._tool(search)
        if tool == _UNKNOWN:
            sent = {"tool": search.call.name[:200], "arguments": sent}
        return Called(phase, search.step, search.call.call_id, tool, sent)

    def begin(self, searches: Iterable[Search], deadline: float) -> None:
        """Ask the tools side by side, where they were not asked before and the call is not answered already."""
        for search in searches:
            if not search.begun:
                search.begun, search.began = True, self._clock()
                self._ask(search, deadline)

    def _ask(self, search: Search, deadline: float) -> None:
        if search.instant is not None:
            return
        self.made += 1
        query = query_of(search.call.arguments or {})
        if query:
            self.queries = (*self.queries, query)
        search.task = self._flight.start(self._toolbox.call(search.call, self._ledger.seen, deadline))

    def take_in(self, search: Search) -> Found:
        """Admit what a finished call gave, and show it to the model."""
        result = _with_advice(self._result(search), search.call)
        room = min(self._limits.result_characters, self._limits.run_characters - self.characters)
        found_by = FoundBy(search.step, search.call.name, query_of(search.call.arguments or {}))
        admission = self._ledger.admit(result, found_by, room)
        text, marker = render_result(
            result, admission.shown, admission.left_out, room, self._question.zone, self._below
        )
        if marker:
            self.markers.add(marker)
        characters = len(text) if marker else 0
        self.characters += characters
        self._conversation.add_result(search.call.call_id, _REPEATED if search.repeated else text)
        return self._found(search, result, admission, characters)

    def give_up(self, search: Search) -> None:
        """Stop a call for which no time is left."""
        if search.task is not None:
            self._flight.give_up(search.task)
        self._known.discard(search.key)
        self._conversation.add_result(search.call.call_id, "Stopped: no time was left.")

    def halve(self) -> None:
        """From now on show half as much: the model's window is smaller than the limits."""
        self._limits = replace(self._limits, result_characters=max(_LEAST_ROOM, self._limits.result_characters // 2))

    def everything(self) -> str:
        """All evidence in the room of one result: first of each message, as much of it as fits."""
        text, marker = render_everything(
            self._ledger.shown, self._limits.result_characters, self._question.zone, self._below
        )
        if marker:
            self.markers.add(marker)
        return text

    @property
    def room_left(self) -> bool:
        """Whether the run may still show mail to the model."""
        return self.characters + LEAST_CHARACTERS <= self._limits.run_characters

    def _tool(self, search: Search) -> str:
        """The name of the tool as it may be shown: one that does not exist is the model's own word."""
        names = {spec.name for spec in self._toolbox.specs}
        return search.call.name if search.call.name in names else _UNKNOWN

    def _result(self, search: Search) -> ToolResult:
        if search.instant is not None:
            return search.instant
        assert search.task is not None
        try:
            result = search.task.result()
        except ToolUnavailable:
            # It may pass: the same call can be made again.
            self._known.discard(search.key)
            return ToolResult(finding="the tool is not available just now")
        if not result.finding:
            self.answered += 1
        return result

    def _found(self, search: Search, result: ToolResult, admission: Admission, characters: int) -> Found:
        return Found(
            phase="search",
            step=search.step,
            call_id=search.call.call_id,
            tool=self._tool(search),
            applied=result.applied,
            admitted=admission.admitted,
            seen_again=admission.seen_again,
            total=result.total,
            finding=result.finding,
            widen=result.widen,
            took_ms=round((self._clock() - search.began) * 1000),
            nearest=result.nearest,
            characters=characters,
        )


def _with_advice(result: ToolResult, call: ToolCall) -> ToolResult:
    """*result* with a note where filters that a model made up may be why it is empty."""
    if result.messages or result.mail_lines or result.finding or set(call.arguments or {}) <= _WIDE:
        return result
    return replace(result, notes=(*result.notes, _NARROWED)) if call.name == SEARCH else result
