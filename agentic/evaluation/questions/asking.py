"""Each question asked as a run: the loop with the real tools, within the scope of its corpus."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from agentic.core.answer import Verification
from agentic.core.events import Event, Finished, Found, Verified
from agentic.core.evidence import EvidenceItem
from agentic.core.loop import Limits, Loop, Question
from agentic.core.ports import Model, Prompt, Reply, ToolCall
from agentic.evaluation.questions.cases import Case, Cited
from agentic.evaluation.questions.units import Material
from agentic.tools import MailTools
from mailsearch.scope import Scope


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one question."""

    case: Case
    outcome: str
    cited: tuple[Cited, ...]
    # Message-IDs of all evidence.
    seen: frozenset[str]
    text: str
    seconds: float
    first_evidence_ms: int | None
    model_calls: int
    tool_calls: int
    tokens: int
    # How often the model said anything at all: where it never did, nothing was learned of it.
    replies: int
    # Why units of the draft were removed.
    removed: tuple[str, ...]
    material: Material

    @property
    def answered(self) -> bool:
        return self.outcome == "answered"


@dataclass(frozen=True, slots=True)
class Setting:
    """With what the questions are asked."""

    model: Model
    limits: Limits


async def ask(case: Case, scope: Scope, setting: Setting) -> Asked:
    """Run the whole loop on one question, with the real tools over *scope*."""
    question = Question(case.question, datetime.now(UTC))
    model = _Counted(setting.model)
    loop = Loop(question, model, tools(scope, question, setting), setting.limits)
    events = [event async for event in loop.events()]
    return asked(case, events, model.replies)


@dataclass(slots=True)
class _Counted:
    """A Model, and how often it replied."""

    model: Model
    replies: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    async def reply(self, prompt: Prompt, deadline: float) -> Reply:
        """See ports.Model."""
        reply = await self.model.reply(prompt, deadline)
        self.replies += 1
        return reply


def tools(scope: Scope, question: Question, setting: Setting) -> MailTools:
    """The mail tools over *scope*, which stays what it is."""

    async def now() -> Scope:
        return scope

    return MailTools(now, question)


def asked(case: Case, events: Iterable[Event], replies: int) -> Asked:
    """Read a run's events. Citations are looked up in the evidence as it was read."""
    evidence: dict[str, EvidenceItem] = {}
    finished: Finished | None = None
    drafts: list[Verification] = []
    for event in events:
        if isinstance(event, Found):
            evidence.update((item.label, item) for item in event.admitted)
        elif isinstance(event, Verified):
            drafts.append(event.verification)
        elif isinstance(event, Finished):
            finished = event
    if finished is None:
        raise ValueError("a run must end")
    kept = finished.outcome == "answered"
    material = Material()
    counted = [finished.verification] if finished.verification else []
    material.add(case.case_id, [*counted, *drafts], evidence, answered=kept)
    return Asked(
        case=case,
        outcome=finished.outcome,
        cited=tuple(citations(finished.verification, evidence)) if kept else (),
        seen=frozenset(item.message.head.rfc_message_id for item in evidence.values()),
        text=" ".join(sentence.text for sentence in finished.verification.kept)
        if kept and finished.verification
        else "",
        seconds=finished.seconds,
        first_evidence_ms=finished.first_evidence_ms,
        model_calls=finished.model_calls,
        tool_calls=finished.tool_calls,
        tokens=finished.usage.prompt + finished.usage.completion,
        replies=replies,
        removed=tuple(one.reason or "" for one in finished.verification.removed) if finished.verification else (),
        material=material,
    )


def citations(verification: Verification | None, evidence: Mapping[str, EvidenceItem]) -> Iterable[Cited]:
    """The citations of all kept units."""
    for sentence in verification.kept if verification else ():
        for citation in sentence.citations:
            item = evidence.get(citation.label)
            part = item.message.part(citation.part) if item else None
            name = item.message.head.rfc_message_id if item else ""
            yield Cited.of(citation, name, part.text if part else None)


async def first_hits(case: Case, scope: Scope, setting: Setting) -> tuple[EvidenceItem, ...]:
    """What one search on the question's own words finds, as evidence."""
    question = Question(case.question, datetime.now(UTC))
    call = ToolCall("call_0", "search", {"query": case.question[:2_000]})
    result = await tools(scope, question, setting).call(call, frozenset(), time.monotonic() + 20)
    return tuple(
        EvidenceItem(f"m{number}", found.message, found.excerpts, (), "")
        for number, found in enumerate(result.messages, 1)
    )
