"""Looking kept sentences up again: the same rules as in their run, over the text that is stored today.

The operator's command, not a request's: it reads all mail that the run's tenant still keeps, and writes nothing.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args

from agentic import verifiers
from agentic.core import verify
from agentic.core.answer import Draft, DraftQuote, DraftSentence, Policy
from agentic.core.answer import Sentence as Verified
from agentic.core.evidence import text_sha256
from agentic.core.verify import lookup, sources
from agentic.models import Citation, Evidence, Run, RunFinished, Sentence, TraceEvent
from agentic.workers import in_worker
from mailsearch.hits import MessageText
from mailsearch.models import Message
from mailsearch.scope import Scope, kept_mail
from mailsearch.search import reading
from mailsearch.sessions import Binding, bound

Status = Literal[
    "still_true", "text_re_extracted", "verifier_changed", "verdict_differs", "source_gone", "not_verified"
]
# What verifying the answer of one run again may take: long, and less than the child's own limit of processor time.
SECONDS = 120.0
# Where the words of a citation stand today; `no_quote` where it never had any.
Place = Literal["in_place", "elsewhere", "not_found", "no_quote", "gone", "quarantined"]


@dataclass(frozen=True, slots=True)
class CitationNow:
    """One citation as it stands today."""

    message_id: str
    part: str
    place: Place
    # The message's visible text is not the one that the run read.
    text_changed: bool = False


@dataclass(frozen=True, slots=True)
class SentenceNow:
    """One kept sentence as it stands today. `support` and `reason` are what the rules say now.

    `still_true`: kept on the same support, from the same text. `source_gone`: a message that it cites is erased,
    removed or quarantined; its text is then not told. `text_re_extracted`: a cited message's stored text is another
    one; `citations` say where the words stand in it. `verifier_changed`: the text is the same, the rules are newer and
    rule otherwise. `verdict_differs`: text and version are the same, yet the verdict is not, because other mail that it
    depends on has changed. `not_verified`: the sources are there, but verification did not end in its
    time, or died; `kept` is then false and tells nothing.
    """

    run: str
    position: int
    status: Status
    text: str | None
    citations: tuple[CitationNow, ...]
    kept: bool
    support: str
    reason: str
    verifier_then: str
    verifier_now: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the rows of one run say of its answer."""

    run: Run
    draft: Draft
    sentences: tuple[Sentence, ...]
    citations: Mapping[int, tuple[Citation, ...]]
    # Label to message id, and message id to the SHA-256 of its text, of all evidence.
    labels: Mapping[str, str]
    sha256: Mapping[str, str]


def finished_runs(tenant: int, since: datetime | None = None, public_id: str = "") -> list[str]:
    """Public ids of the tenant's runs that ended: those that started at or after *since*, or the one that is named."""
    with bound(Binding(audit=frozenset({tenant}))):
        found = Run.objects.filter(tenant=tenant, pk__in=RunFinished.objects.filter(tenant=tenant).values("run_id"))
        if since is not None:
            found = found.filter(started_at__gte=since)
        if public_id:
            found = found.filter(public_id=public_id)
        return list(found.order_by("started_at", "pk").values_list("public_id", flat=True))


async def reverify(tenant: int, public_id: str, *, seconds: float = SECONDS) -> tuple[SentenceNow, ...]:
    """Every kept sentence of one run of *tenant*, in order. Empty where it kept none.

    Verification takes at most *seconds*. Raises Run.DoesNotExist where the tenant has no such run.
    """
    kept, scope = await in_worker(_read, tenant, public_id)
    if not kept.sentences:
        return ()
    cited = {one.message_id for row in kept.sentences for one in kept.citations[row.pk]}
    messages = await reading.messages(scope, {*kept.sha256, *cited})
    quarantined = await in_worker(_quarantined, scope, frozenset(cited - set(messages)))
    read = {label: messages[one] for label, one in kept.labels.items() if one in messages}
    threads = await _threads(kept.run, {messages[one].head.thread_id for one in cited & set(messages)})
    found = await _verified(kept, read, threads, seconds)
    return tuple(_compare(kept, row, found, messages, quarantined) for row in kept.sentences)


async def _verified(
    kept: _Kept, read: Mapping[str, MessageText], threads: Mapping[str, Sequence[MessageText]], seconds: float
) -> Sequence[Verified] | None:
    """Today's verdicts, found in a child process as a run's are. None where that did not end in *seconds*."""
    policy: Policy = "strict" if kept.run.policy == "strict" else "standard"
    until = time.monotonic() + seconds
    try:
        found = await verifiers.verify(kept.draft, read, policy, until, threads, read)
    except verifiers.NotVerified:
        return None
    return found.sentences


def _read(tenant: int, public_id: str) -> tuple[_Kept, Scope]:
    with bound(Binding(audit=frozenset({tenant}))):
        run = Run.objects.get(tenant=tenant, public_id=public_id)
        rows = Sentence.objects.filter(run=run, final=True, kept=True, structural=False)
        sentences = tuple(rows.order_by("position", "pk").prefetch_related("citations"))
        citations = {row.pk: tuple(row.citations.order_by("pk")) for row in sentences}
        evidence = list(Evidence.objects.filter(run=run).order_by("pk"))
        draft = _drafted(run, sentences) or _from_rows(sentences, citations)
        kept = _Kept(
            run,
            draft,
            sentences,
            citations,
            labels={row.label: row.message_id for row in evidence},
            sha256={row.message_id: row.text_sha256 for row in evidence},
        )
    return kept, kept_mail(tenant)


def _drafted(run: Run, sentences: Sequence[Sentence]) -> Draft | None:
    """The draft that counted, as the trace keeps it: tables are told apart only in their draft."""
    rounds = {row.round for row in sentences}
    for event in TraceEvent.objects.filter(run=run, event="drafted").order_by("-seq"):
        given = event.data.get("draft")
        if event.data.get("round") in rounds and given and given.get("sentences") is not None:
            return Draft(tuple(_sentence(one) for one in given["sentences"]), given["text"])
    return None


def _sentence(given: Mapping[str, Any]) -> DraftSentence:
    quotes = tuple(DraftQuote(one["label"], one["text"]) for one in given["quotes"])
    return DraftSentence(given["text"], tuple(given["citations"]), quotes)


def _from_rows(sentences: Sequence[Sentence], citations: Mapping[int, tuple[Citation, ...]]) -> Draft:
    return Draft(
        tuple(
            DraftSentence(
                row.drafted,
                tuple(dict.fromkeys(one.label for one in citations[row.pk])),
                tuple(DraftQuote(one.label, one.quote) for one in citations[row.pk] if one.quote),
            )
            for row in sentences
        )
    )


def _quarantined(scope: Scope, ids: frozenset[str]) -> frozenset[str]:
    with bound(replace(scope.binding(), include_quarantined=True)):
        found = Message.objects.filter(public_id__in=ids, quarantined=True)
        return frozenset(found.values_list("public_id", flat=True))


async def _threads(run: Run, ids: set[str]) -> dict[str, tuple[MessageText, ...]]:
    """What of the cited threads the run could have compared with: in its scope, and imported before it began."""
    scope = Scope(
        run.tenant_id,
        frozenset((int(folder), int(mailbox)) for folder, mailbox in run.scope.get("folders", ())),
        _moment(run.scope.get("received_from")),
        _moment(run.scope.get("received_until")),
        with_deleted=True,
    )
    found = {thread: await reading.thread(scope, thread) or () for thread in sorted(ids)}
    later = await in_worker(_imported_later, scope, run.started_at, [one for each in found.values() for one in each])
    return {
        thread: tuple(one for one in messages if one.head.message_id not in later)
        for thread, messages in found.items()
    }  # fmt: skip


def _imported_later(scope: Scope, moment: datetime, messages: Sequence[MessageText]) -> frozenset[str]:
    with scope.reading_orm():
        ids = [one.head.message_id for one in messages]
        found = Message.objects.filter(public_id__in=ids, imported_at__gt=moment)
        return frozenset(found.values_list("public_id", flat=True))


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _compare(
    kept: _Kept, row: Sentence, now: Sequence[Verified] | None, messages: Mapping[str, MessageText],
    quarantined: frozenset[str],
) -> SentenceNow:  # fmt: skip
    citations = tuple(_citation(one, kept, messages, quarantined) for one in kept.citations[row.pk])
    verdict = _same_unit(row, now or ())
    agrees = verdict is not None and verdict.kept and (verdict.support or "") == row.support
    status = _status(citations, agrees, newer=kept.run.verifier_version != verify.VERSION)
    if now is None and status != "source_gone":
        status = "not_verified"
    return SentenceNow(
        run=kept.run.public_id,
        position=row.position,
        status=status,
        text=None if status == "source_gone" else row.text,
        citations=citations,
        kept=verdict is not None and verdict.kept,
        support=(verdict.support or "") if verdict else "",
        reason=verdict.reason if verdict else "",
        verifier_then=kept.run.verifier_version,
        verifier_now=verify.VERSION,
    )


def _status(citations: Sequence[CitationNow], agrees: bool, *, newer: bool) -> Status:
    if any(one.place in ("gone", "quarantined") for one in citations):
        return "source_gone"
    if any(one.text_changed for one in citations):
        return "text_re_extracted"
    if agrees:
        return "still_true"
    return "verifier_changed" if newer else "verdict_differs"


def _same_unit(row: Sentence, now: Sequence[Verified]) -> Verified | None:
    """Today's verdict on the same drafted words. None where the rules of today part the draft otherwise."""
    same = [one for one in now if one.drafted == row.drafted]
    return next((one for one in same if one.position == row.position), same[0] if same else None)


def _citation(
    citation: Citation, kept: _Kept, messages: Mapping[str, MessageText], quarantined: frozenset[str]
) -> CitationNow:
    message = messages.get(citation.message_id)
    if message is None:
        place: Place = "quarantined" if citation.message_id in quarantined else "gone"
        return CitationNow(citation.message_id, citation.part, place)
    before = kept.sha256.get(citation.message_id)
    changed = before is not None and before != text_sha256(message)
    return CitationNow(citation.message_id, citation.part, _place(citation, message), changed)


def _place(citation: Citation, message: MessageText) -> Place:
    if citation.start is None or citation.end is None:
        return "no_quote"
    part = message.part(citation.part)
    if part is not None and part.text[citation.start : citation.end] == citation.quote:
        return "in_place"
    found = next(lookup.find(lookup.prepare(citation.quote), sources.index(message)), None)
    return "elsewhere" if found else "not_found"


def counts(sentences: Sequence[SentenceNow]) -> dict[str, int]:
    """How many sentences have each status, the mildest first."""
    found = Counter(one.status for one in sentences)
    return {status: found[status] for status in get_args(Status)}
