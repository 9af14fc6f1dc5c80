"""Verifying an answer that somebody else wrote: the rules that a run's answer passes, over mail that it cites by id."""

import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentic import verifiers
from agentic.core import verify
from agentic.core.answer import Draft, DraftQuote, DraftSentence, Policy, Sentence, Verification
from agentic.core.labels import draw_label
from agentic.core.notice import NOTICE
from agentic.mailjson import Json, cleaned_head, head_json
from agentic.responses import citation_json
from mailsearch.hits import MessageText
from mailsearch.scope import Scope
from mailsearch.search import reading

# What one answer may take.
SECONDS = 10.0
# Units and quotations of it that are checked; what is beyond is one last unit, which is too long.
MAX_UNITS, MAX_QUOTES = 100, 200
_ID = re.compile(r"msg_[A-Za-z0-9]{1,40}")
# A marker in prose: `[msg_…]`, or several apart by comma or semicolon.
_MARKER = re.compile(r"\[ *(msg_[A-Za-z0-9]{1,40}(?: *[,;] *msg_[A-Za-z0-9]{1,40}){0,7}) *\]")


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement with the ids of the messages that it cites, and quotes as (message id, words)."""

    text: str
    citations: tuple[str, ...] = ()
    quotes: tuple[tuple[str, str], ...] = ()


async def verify_answer(
    scope: Scope, answer: str | Sequence[Claim], policy: Policy, *, seconds: float = SECONDS
) -> Json:
    """What of *answer* stands, against the messages in *scope* that it cites.

    Prose cites by `[msg_…]`. A message that is missing or not the caller's is the same: an unknown citation. Raises
    NotVerified where the answer took longer than *seconds*.
    """
    named = dict.fromkeys(_named(answer))
    messages = await reading.messages(scope, named)
    texts = [part.text for message in messages.values() for part in message.parts]
    labels: dict[str, str] = {}
    for message_id in named:
        labels[message_id] = draw_label(texts, labels.values(), secrets.randbelow)
    sources = {labels[message_id]: message for message_id, message in messages.items()}
    until = time.monotonic() + seconds
    draft = _draft(answer, labels)
    found = await verifiers.verify(draft, sources, policy, until, max_units=MAX_UNITS, max_quotes=MAX_QUOTES)
    return _response(_with_ids(found, labels), sources, policy)


def _named(answer: str | Sequence[Claim]) -> Iterable[str]:
    if isinstance(answer, str):
        yield from (message_id for marker in _MARKER.findall(answer) for message_id in _ID.findall(marker))
        return
    for claim in answer:
        yield from claim.citations
        yield from (message_id for message_id, _ in claim.quotes)


def _draft(answer: str | Sequence[Claim], labels: Mapping[str, str]) -> Draft:
    if isinstance(answer, str):
        return Draft(text=_MARKER.sub(lambda marker: _ID.sub(lambda one: labels[one[0]], marker[0]), answer))
    return Draft(
        tuple(
            DraftSentence(
                claim.text,
                tuple(dict.fromkeys(labels[one] for one in (*claim.citations, *(id_ for id_, _ in claim.quotes)))),
                tuple(DraftQuote(labels[message_id], words) for message_id, words in claim.quotes),
            )
            for claim in answer
        )
    )


def _with_ids(found: Verification, labels: Mapping[str, str]) -> Verification:
    """The labels were this call's own: what leaves says ids again."""
    names = {label: message_id for message_id, label in labels.items()}

    def told(text: str) -> str:
        for label, message_id in names.items():
            text = text.replace(label, message_id)
        return text

    def renamed(one: Sentence) -> Sentence:
        detail = {name: told(value) for name, value in one.detail.items()}
        return replace(one, text=told(one.text), drafted=told(one.drafted), detail=detail)

    return replace(found, sentences=tuple(map(renamed, found.sentences)))


def _response(found: Verification, sources: Mapping[str, MessageText], policy: Policy) -> Json:
    heads = {label: cleaned_head(head_json(message.head)) for label, message in sources.items()}
    kept = [
        {
            "position": one.position,
            "text": one.text,
            "support": one.support,
            "qualified": one.qualified,
            "translated": one.translated,
            "citations": [citation_json(citation, heads[citation.label]) for citation in one.citations],
        }
        for one in found.kept
    ]
    removed = [
        {"position": one.position, "text": one.text, "reason": one.reason, "detail": dict(one.detail)}
        for one in found.removed
    ]
    return {
        "answer": {"text": verify.rebuild(found, sources), "sentences": kept} if kept else None,
        "removed_sentences": removed,
        "verifier_version": found.version,
        "policy": policy,
        "notice": NOTICE,
    }
