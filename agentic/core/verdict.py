"""What code says of a run's drafts, and which draft counts."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from agentic.core.answer import Draft, Policy, Sentence, Verification
from agentic.core.fence import holds_marker
from agentic.core.question import Question
from agentic.core.toolcall import cites
from agentic.core.verify import SourceCache
from mailsearch.hits import MessageText

Threads = Mapping[str, Sequence[MessageText]]
# Reads the in-scope messages of threads, by thread id, before a moment on the run's clock.
ThreadReader = Callable[[Collection[str], float], Awaitable[Threads]]


class NotVerified(Exception):
    """Verification did not end in its time, or died. Nothing is known of the draft."""


class Ruler(Protocol):
    """Rules on a draft somewhere else, where it can be stopped: `Verdict.rule` in a process of its own."""

    async def __call__(
        self,
        question: Question,
        draft: Draft,
        sources: Mapping[str, MessageText],
        threads: Threads,
        markers: Collection[str],
        until: float,
    ) -> "Ruling":
        """The ruling, before *until* on the run's clock. Raises NotVerified."""
        ...


class Rules(Protocol):
    """Deterministic code that decides which sentences of a draft stand: the package `agentic.core.verify`."""

    def verify(
        self,
        draft: Draft,
        sources: Mapping[str, MessageText],
        *,
        policy: Policy,
        thread_messages: Threads,
        all_evidence: Mapping[str, MessageText],
        cache: SourceCache,
    ) -> Verification:
        """Every unit of *draft* kept or removed, against *sources* by label."""
        ...

    def question_covered(
        self,
        question: str,
        verification: Verification,
        sources: Mapping[str, MessageText],
        thread_messages: Threads,
        *,
        cache: SourceCache,
    ) -> bool:
        """Whether what *question* names exactly occurs in the messages that kept sentences cite, or their threads."""
        ...

    def declares_absence(self, verification: Verification) -> bool:
        """Whether the draft says that the mail does not hold the answer."""
        ...

    def repair_hints(self, verification: Verification) -> Sequence[str]:
        """Labels and reasons of what was removed, in words for the model and without words of mail."""
        ...


@dataclass(frozen=True, slots=True)
class Ruling:
    """What code says of one draft."""

    verification: Verification
    covered: bool = False
    absent: bool = False

    @property
    def supported(self) -> int:
        """Kept sentences that a verified quote bears."""
        return sum(sentence.support == "quote" for sentence in self.verification.kept)


class Verdict:
    """The rulings of one run. The draft that counts is the last one that was not worse than the one before."""

    def __init__(
        self,
        rules: Rules,
        question: Question,
        read_threads: ThreadReader | None = None,
        ruler: Ruler | None = None,
    ) -> None:
        self.ruling: Ruling | None = None
        self.declared = False
        self._rules = rules
        self._question = question
        self._cache = SourceCache()
        self._read_threads = read_threads
        self._ruler = ruler

    async def ruled(
        self, draft: Draft, sources: Mapping[str, MessageText], markers: Collection[str], deadline: float
    ) -> Ruling | None:
        """What `rule` says of *draft* beside the threads of what it cites, while the event loop goes on.

        None where that could not be found out.
        """
        threads: Threads = {}
        if self._read_threads is not None:
            wanted = {message.head.thread_id for label, message in sources.items() if cites(draft, label)}
            threads = await self._read_threads(wanted, deadline) if wanted else {}
        if self._ruler is None:
            return await asyncio.to_thread(self.rule, draft, sources, threads, markers)
        with suppress(NotVerified):
            return await self._ruler(self._question, draft, sources, threads, markers, deadline)
        return None

    def rule(
        self, draft: Draft, sources: Mapping[str, MessageText], threads: Threads, markers: Collection[str]
    ) -> Ruling:
        """Check *draft*. Takes time that grows with the messages that it cites, and changes nothing of the run."""
        threads = _with_evidence(threads, sources)
        found = self._rules.verify(
            draft,
            sources,
            policy=self._question.policy,
            thread_messages=threads,
            all_evidence=sources,
            cache=self._cache,
        )
        ruling = Ruling(_without_leaks(found, markers), absent=self._rules.declares_absence(found))
        if not ruling.supported:
            return ruling
        covered = self._rules.question_covered(
            self._question.text, ruling.verification, sources, threads, cache=self._cache
        )
        return replace(ruling, covered=covered)

    def take(self, ruling: Ruling) -> None:
        """Let *ruling* count if it keeps a sentence and loses no quoted one against the draft before."""
        first = self.ruling
        if first is None or (ruling.verification.kept and ruling.supported >= first.supported):
            self.ruling, self.declared = ruling, ruling.absent

    def declare(self) -> None:
        """The model declared that the mail does not hold the answer. It does not undo a draft that stands."""
        self.declared = self.declared or not self.supported

    async def is_absence(self, text: str, deadline: float) -> bool:
        """Whether *text* says, in prose and without citing anything, that the mail does not hold the answer.

        Long prose takes long to look through, so it is done where a draft is ruled on.
        """
        ruling = await self.ruled(Draft(text=text), {}, (), deadline)
        return ruling is not None and ruling.absent

    def hints(self) -> str:
        """What the model is told for its second draft."""
        return "\n".join(self._rules.repair_hints(self.ruling.verification)) if self.ruling else ""

    @property
    def supported(self) -> bool:
        return self.ruling is not None and self.ruling.supported > 0


def _with_evidence(threads: Threads, sources: Mapping[str, MessageText]) -> Threads:
    """*threads* with the messages that the run has read itself."""
    known: dict[str, dict[str, MessageText]] = defaultdict(dict)
    for message in (*(one for messages in threads.values() for one in messages), *sources.values()):
        known[message.head.thread_id][message.head.message_id] = message
    return {thread: tuple(messages.values()) for thread, messages in known.items()}


def _without_leaks(verification: Verification, markers: Collection[str]) -> Verification:
    """*verification* without the sentences that repeat a marker of the run."""
    return replace(verification, sentences=tuple(_checked(one, markers) for one in verification.sentences))


def _checked(sentence: Sentence, markers: Collection[str]) -> Sentence:
    if not any(holds_marker(text, markers) for text in (sentence.drafted, sentence.text, *sentence.detail.values())):
        return sentence
    return replace(sentence, kept=False, support=None, reason="marker_leak", detail={}, citations=())
