"""Everything that can happen in a run, in the order in which it happens.

The loop yields these in batches; whoever drives it writes each batch down before asking for the next, so an act is on
record before it is done. Rows, streams, pages and tests all read the same few types. `seq` is the driver's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agentic.core.answer import Draft, Verification
from agentic.core.evidence import EvidenceItem
from agentic.core.ports import Usage, WidenAttempt

Phase = Literal["plan", "search", "judge", "answer", "verify"]
Outcome = Literal["answered", "insufficient_evidence", "budget_exhausted", "degraded"]


@dataclass(frozen=True, slots=True)
class Called:
    """A tool is about to be called. `arguments` as the model sent them; step None is the caller's own first search."""

    phase: Phase
    step: int | None
    call_id: str
    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Found:
    """What a tool call gave: newly admitted evidence, and what of the arguments was applied."""

    phase: Phase
    step: int | None
    call_id: str
    tool: str
    applied: Mapping[str, object]
    # Messages admitted to the evidence by this call, and those that it found again.
    admitted: tuple[EvidenceItem, ...]
    seen_again: tuple[str, ...]
    total: int
    # What was wrong with the call, in words for the model; empty where nothing was.
    finding: str
    widen: tuple[WidenAttempt, ...]
    took_ms: int
    # Messages that came nearest where nothing was found (public ids).
    nearest: tuple[str, ...] = ()
    # Characters of mail that this result added to the prompt.
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """The model is about to be asked."""

    phase: Phase
    step: int
    model: str
    prompt_sha256: str
    characters: int


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply arrived and was charged. `fault` is the reason code of a reply that can't be used, else empty."""

    phase: Phase
    step: int
    model: str
    tool_calls: int
    usage: Usage
    fault: str = ""
    detail: str = ""
    took_ms: int = 0


@dataclass(frozen=True, slots=True)
class Drafted:
    """The model gave an answer, or declared that the mail does not hold one."""

    step: int
    round: int
    draft: Draft


@dataclass(frozen=True, slots=True)
class Verified:
    """Code decided which sentences of a draft stand."""

    step: int
    round: int
    verification: Verification
    took_ms: int


@dataclass(frozen=True, slots=True)
class Cut:
    """Something was stopped by a limit. `limit` names it: steps, seconds, calls, characters, tokens, cancelled."""

    phase: Phase
    step: int | None
    limit: str
    detail: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The run's end. `verification` is the draft that counts; kept sentences are an answer only if `answered`."""

    outcome: Outcome
    reason: str | None
    verification: Verification | None
    steps: int
    seconds: float
    model_calls: int
    tool_calls: int
    usage: Usage
    first_evidence_ms: int | None
    model: str


@dataclass(frozen=True, slots=True)
class Due:
    """No event: what comes next is an act or a wait, so all that was yielded before must be on record first."""


DUE = Due()
Event = Called | Found | Asked | Replied | Drafted | Verified | Cut | Finished
