"""What the loop asks of the verifier, and the one rule that only the loop can apply: markers never leave."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from agentic.core.answer import Draft, Policy, Sentence, Verification
from agentic.core.fence import holds_marker
from mailsearch.hits import MessageText


class Rules(Protocol):
    """Deterministic code that decides which sentences of a draft stand (the package `agentic.core.verify`)."""

    def verify(self, draft: Draft, sources: Mapping[str, MessageText], *, policy: Policy) -> Verification:
        """Every unit of *draft* kept or removed, against *sources* by label."""
        ...

    def question_covered(self, question: str, verification: Verification, sources: Mapping[str, MessageText]) -> bool:
        """Whether what *question* names exactly occurs in the messages that kept sentences cite, or their threads."""
        ...

    def repair_hints(self, verification: Verification) -> Sequence[str]:
        """Labels and reasons of what was removed, in words for the model and without words of mail."""
        ...


def without_leaks(verification: Verification, markers: Collection[str]) -> Verification:
    """*verification* with every sentence removed that repeats a marker of the run."""
    return replace(verification, sentences=tuple(_checked(one, markers) for one in verification.sentences))


def is_supported(verification: Verification | None) -> bool:
    """Whether a sentence with a verified quote was kept."""
    return supported(verification) > 0


def supported(verification: Verification | None) -> int:
    """How many sentences with a verified quote were kept."""
    return sum(sentence.support == "quote" for sentence in verification.kept) if verification else 0


def better(first: Verification, second: Verification) -> Verification:
    """The draft that counts: the second if it keeps a sentence and loses no quoted one."""
    return second if second.kept and supported(second) >= supported(first) else first


def _checked(sentence: Sentence, markers: Collection[str]) -> Sentence:
    if not holds_marker(sentence.drafted, markers):
        return sentence
    return replace(sentence, kept=False, support=None, reason="marker_leak", detail={}, citations=())
