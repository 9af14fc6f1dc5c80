"""Messages and verdicts for the verifier's tests: sources in a few words, results as one letter a unit."""

from collections.abc import Mapping
from typing import Any

from agentic.core.answer import Draft, Policy, Verification
from agentic.core.verify import verify
from agentic.evaluation.verifier import message_from
from mailsearch.hits import MessageText

Source = str | Mapping[str, Any]


def messages(sources: Source | Mapping[str, Source]) -> dict[str, MessageText]:
    """Messages by label. A lone text is `m1`; a source is a text, or a mapping as the case files have it."""
    if isinstance(sources, str):
        sources = {"m1": sources}
    return {
        label: message_from(label, {"text": source} if isinstance(source, str) else source)
        for label, source in sources.items()
    }


def decide(answer: str | Draft, sources: Source | Mapping[str, Source], *, policy: Policy = "standard") -> Verification:
    """The verification of *answer*, prose or a draft."""
    return verify(Draft(text=answer) if isinstance(answer, str) else answer, messages(sources), policy=policy)


def verdicts(answer: str | Draft, sources: Source | Mapping[str, Source], *, policy: Policy = "standard") -> str:
    """`K` for each unit that was kept and `-` for each that was not, in order."""
    return "".join("K" if sentence.kept else "-" for sentence in decide(answer, sources, policy=policy).sentences)
