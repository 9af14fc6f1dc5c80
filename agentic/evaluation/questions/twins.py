"""Twins of answerable questions: the same question where the mail that answers it is missing.

A *scope twin* is asked by a caller whose scope lacks that mail but has its neighbours; none of it may be seen. A
*deletion twin* is asked where every copy of the answer is gone, and every mail that says the same in other words;
whatever is then answered is wrong, unless an older statement is left that the deleted mail had corrected.
`agentic.evaluation.twins` proves that nothing is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentic.evaluation.questions.asking import Asked, Setting, ask
from agentic.evaluation.questions.cases import Case
from agentic.evaluation.questions.corpora import Corpora
from agentic.evaluation.questions.stating import Paragraphs, Stating
from agentic.workers import in_worker
from mailsearch.hits import MessageText

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


class Gone:
    """Which mail a deletion twin lacks: what is known to hold the answer, and all that says the same."""

    def __init__(self, corpora: Corpora) -> None:
        self._corpora = corpora
        self._read: dict[str, list[_Read]] = {}

    async def messages(self, case: Case) -> frozenset[int]:
        """The internal ids of all messages that have to go for the answer to be gone."""
        named, stating = holders(case), Stating(case)
        mail = await self._mail(case.corpus)
        return frozenset(one.number for one in mail if one.rfc_message_id in named or stating.among(one.parts))

    async def _mail(self, corpus: str) -> list["_Read"]:
        if corpus not in self._read:
            texts = await self._corpora.texts(corpus)
            self._read[corpus] = [_Read.of(number, message) for number, message in texts.items()]
        return self._read[corpus]


@dataclass(frozen=True, slots=True)
class _Read:
    """One message with all that it says: subject, body with what it quotes, attachments, hidden text."""

    number: int
    rfc_message_id: str
    parts: tuple[Paragraphs, ...]

    @classmethod
    def of(cls, number: int, message: MessageText) -> "_Read":
        texts = (*(part.text for part in message.parts), message.hidden_text)
        return cls(number, message.head.rfc_message_id, tuple(Paragraphs.of(text) for text in texts if text))


async def ask_twins(case: Case, corpora: Corpora, gone: Gone, setting: Setting) -> Twin | None:
    """Ask the two twins of *case*; None where the model never said anything to one of them."""
    lacking = await in_worker(corpora.scope_lacking, case.corpus, holders(case))
    scoped = await ask(case, lacking, setting)
    deleted = await _deletion_twin(case, corpora, gone, setting)
    if not (scoped.replies and deleted.replies):
        return None
    return Twin(bool(holders(case) & scoped.seen), scoped.answered, deleted.answered)


async def _deletion_twin(case: Case, corpora: Corpora, gone: Gone, setting: Setting) -> Asked:
    scope = await in_worker(corpora.scope, case.corpus)
    async with corpora.without(await gone.messages(case)):
        return await ask(case, scope, setting)


def holders(case: Case) -> frozenset[str]:
    """The Message-IDs of mail that is known to hold the answer."""
    return frozenset(gold.message for gold in case.gold) | case.others
