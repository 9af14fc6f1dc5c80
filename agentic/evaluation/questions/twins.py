"""Twins of answerable questions: the same question where the mail that answers it is missing.

A *scope twin* is asked by a caller whose scope lacks that mail but has its neighbours; none of it may be seen. A
*deletion twin* is asked where every copy of the answer is gone; whatever is then answered is wrong, unless an older
statement is left that the deleted mail had corrected.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentic.core.ports import Toolbox, ToolCall, ToolMessage, ToolResult, ToolSpec
from agentic.evaluation.questions.asking import Asked, Setting, ask
from agentic.evaluation.questions.cases import Case, plain
from agentic.evaluation.questions.corpora import Corpora
from mailsearch.scope import Scope

# Kinds of question whose answer reverses what other mail says: without it the older statement is what the mail says.
_REVERSES = "reversal"


@dataclass(frozen=True, slots=True)
class Twin:
    """What came of the two twins of one question."""

    # Something of the missing mail was seen from within a scope that lacks it.
    leaked: bool
    scope_answered: bool
    deletion_answered: bool


@dataclass(frozen=True, slots=True)
class Twins:
    """What came of all twins, by the ids of their questions."""

    asked: int
    leaked: tuple[str, ...]
    scope_answered: tuple[str, ...]
    deletion_answered: tuple[str, ...]
    # Of these the question is of a kind that older mail answers otherwise.
    older_statement: tuple[str, ...]

    @classmethod
    def of(cls, cases: Sequence[Case], twins: Mapping[str, Twin]) -> "Twins":
        """*twins*, known by the ids of *cases*; those that were not asked are left out."""
        there = [(case.case_id, case.kind == _REVERSES, twins[case.case_id]) for case in cases if case.case_id in twins]
        return cls(
            len(there),
            tuple(name for name, _, twin in there if twin.leaked),
            tuple(name for name, _, twin in there if twin.scope_answered),
            tuple(name for name, reverses, twin in there if twin.deletion_answered and not reverses),
            tuple(name for name, reverses, twin in there if twin.deletion_answered and reverses),
        )

    def figures(self) -> dict[str, int]:
        return {
            "asked": self.asked,
            "leaked": len(self.leaked),
            "answered_out_of_scope": len(self.scope_answered),
            "answered_deleted": len(self.deletion_answered),
            "answered_older": len(self.older_statement),
        }


async def ask_twins(case: Case, corpora: Corpora, setting: Setting) -> Twin | None:
    """Ask the two twins of *case*; None where the model never said anything to one of them."""
    lacking = await asyncio.to_thread(corpora.scope_lacking, case.corpus, holders(case))
    scoped = await ask(case, lacking, setting)
    deleted = await _deletion_twin(case, corpora.scope, setting)
    if not (scoped.replies and deleted.replies):
        return None
    return Twin(bool(holders(case) & scoped.seen), scoped.answered, deleted.answered)


async def _deletion_twin(case: Case, scope_of: Callable[[str], Scope], setting: Setting) -> Asked:
    scope = await asyncio.to_thread(scope_of, case.corpus)
    return await ask(case, scope, setting, wrap=lambda toolbox: Lacking(toolbox, case))


def holders(case: Case) -> frozenset[str]:
    """The Message-IDs of mail that is known to hold the answer."""
    return frozenset(gold.message for gold in case.gold) | case.others


@dataclass(frozen=True, slots=True)
class Lacking:
    """The tools over mail from which every message that holds a case's answer is gone."""

    toolbox: Toolbox
    case: Case

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self.toolbox.specs

    async def call(self, call: ToolCall, seen: frozenset[str], deadline: float) -> ToolResult:
        result = await self.toolbox.call(call, seen, deadline)
        return replace(result, messages=tuple(found for found in result.messages if not self._holds(found)))

    def _holds(self, found: ToolMessage) -> bool:
        if found.message.head.rfc_message_id in holders(self.case):
            return True
        texts = [plain(part.text) for part in found.message.parts]
        return any(plain(gold.quote) in text for gold in self.case.gold for text in texts)
