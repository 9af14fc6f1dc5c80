"""Mail and words erased, words that ran out, and the legal hold that stops both: recorded acts of the role `eraser`.

An erasure takes the message out of the store, and out of every run that read it: its evidence and quotes, and what a
model wrote in that run. Wherever else the tenant's audit holds words that stood in no other mail, those words go too.
What a run keeps are its rows without their words, sentences that rest on other mail alone, and a chain that verifies.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q

from agentic.models import (
    AdminAct,
    AgentPolicy,
    Citation,
    ErasedText,
    Evidence,
    PayloadText,
    RunState,
    Sentence,
    TraceEvent,
)
from mailsearch.ingest import erasing
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound
from mailsearch.terms import positioned_tokens

ERASED, RAN_OUT, HOLD_SET, HOLD_LIFTED = "message erased", "words ran out", "legal hold set", "legal hold lifted"
_BATCH = 1000
# Texts from before a message came in that are looked through for words that people used anyway, the newest.
_LOOKED_BACK = 20_000


class OnHold(Exception):
    """The tenant is under legal hold, so nothing of it may be erased."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure took out."""

    messages: tuple[str, ...]
    # How many rows of the audit lost their words.
    texts: int


def on_hold(tenant: Tenant) -> bool:
    """Whether the last recorded act on the tenant's hold set it."""
    last = AdminAct.objects.filter(tenant=tenant, act__in=(HOLD_SET, HOLD_LIFTED)).order_by("-pk").first()
    return last is not None and last.act == HOLD_SET


def hold(tenant: Tenant, actor: str, reason: str, *, held: bool) -> bool:
    """Set or lift the legal hold; False where it stood so already, and then nothing is recorded."""
    with transaction.atomic():
        _one_at_a_time(tenant)
        if on_hold(tenant) is held:
            return False
        AdminAct.objects.create(tenant=tenant, actor=actor, act=HOLD_SET if held else HOLD_LIFTED, reason=reason)
    return True


def erase(tenant: Tenant, public_id: str, actor: str, reason: str) -> tuple[Erasure, erasing.Erased] | None:
    """Erase a message from the store and the audit, in one transaction. None where the tenant has no such message.

    Raises OnHold. The second value is for `sweep`.
    """
    with bound(_audit(tenant)):
        _one_at_a_time(tenant)
        if on_hold(tenant):
            raise OnHold
        gone = erasing.erase(tenant, public_id)
        if gone is None:
            return None
        texts = _texts_of(tenant, gone)
        return Erasure(gone.messages, _delete(tenant, texts, gone, actor, reason)), gone


def sweep(tenant: Tenant, gone: erasing.Erased, actor: str, reason: str) -> int:
    """Erase what runs that were under way have written since of the messages; returns how many rows lost words."""
    with bound(_audit(tenant)):
        texts = _texts_of(tenant, gone)
        return _delete(tenant, texts, gone, actor, reason) if texts else 0


def under_way(tenant: Tenant) -> bool:
    """Whether a run of the tenant may still hold what was erased meanwhile."""
    return RunState.objects.filter(tenant=tenant, status__in=("queued", "running")).exists()


def retention_days(tenant: Tenant) -> int | None:
    """Days for which the words of the tenant's runs are kept; None for ever."""
    found = {
        policy.tenant_id: policy.audit_text_days
        for policy in AgentPolicy.objects.filter(Q(tenant=tenant) | Q(tenant=None))
    }
    return found.get(tenant.pk) or found.get(None)


def retain(tenant: Tenant, days: int, actor: str) -> int:
    """Delete words of runs that are older than *days*, a batch a transaction. Returns how many rows lost theirs.

    Raises OnHold.
    """
    total = 0
    while True:
        with bound(_audit(tenant)):
            _one_at_a_time(tenant)
            if on_hold(tenant):
                raise OnHold
            texts = _old_texts(tenant, days)
            if not texts:
                return total
            act = _act(tenant, RAN_OUT, actor, "", texts, {"days": days})
            _delete_texts(tenant, texts, act)
            total += len(texts)


def _old_texts(tenant: Tenant, days: int) -> list[uuid.UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        row = cursor.fetchone()
    now: datetime = row[0] if row else datetime.min
    old = PayloadText.objects.filter(tenant=tenant, run__started_at__lt=now - timedelta(days=days))
    return list(old.exclude(run__state__status__in=("queued", "running")).values_list("pk", flat=True)[: 20 * _BATCH])


def _audit(tenant: Tenant) -> Binding:
    return Binding(tenant.pk, audit=frozenset({tenant.pk}))


def _one_at_a_time(tenant: Tenant) -> None:
    """Erasures and holds of a tenant wait for each other, so that none slips past a hold that is being set."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(1701994867, %s)", [tenant.pk % 2**31])


def _delete(tenant: Tenant, texts: Sequence[uuid.UUID], gone: erasing.Erased, actor: str, reason: str) -> int:
    act = _act(tenant, ERASED, actor, reason, texts, {"messages": list(gone.messages)})
    _delete_texts(tenant, texts, act)
    return len(texts)


def _act(
    tenant: Tenant, act: str, actor: str, reason: str, texts: Sequence[uuid.UUID], more: dict[str, Any]
) -> AdminAct:
    """The record of an erasure, which says exactly whose words went."""
    digest = hashlib.sha256(b"".join(text.bytes for text in sorted(texts))).hexdigest()
    detail = {"texts": len(texts), "sha256": digest, **more}
    made: AdminAct = AdminAct.objects.create(tenant=tenant, actor=actor, act=act, detail=detail, reason=reason)
    return made


def _delete_texts(tenant: Tenant, texts: Sequence[uuid.UUID], act: AdminAct) -> None:
    for start in range(0, len(texts), _BATCH):
        some = texts[start : start + _BATCH]
        ErasedText.objects.bulk_create([ErasedText(tenant=tenant, text=text, act=act) for text in some])
        PayloadText.objects.filter(pk__in=some).delete()


def _texts_of(tenant: Tenant, gone: erasing.Erased) -> list[uuid.UUID]:
    """The texts that stem from the messages, were written by a model that had read them, or hold their words."""
    runs = set(Evidence.objects.filter(tenant=tenant, message_id__in=gone.messages).values_list("run_id", flat=True))
    chosen = set(PayloadText.objects.filter(tenant=tenant, message__in=gone.messages).values_list("pk", flat=True))
    own, rest = _own_words(runs), _resting_elsewhere(runs, gone.messages)
    written = PayloadText.objects.filter(run__in=runs)
    chosen |= set(written.filter(kind__in=("event", "sentence", "answer", "widen")).values_list("pk", flat=True))
    chosen -= own | rest
    # Whatever else was written down since they came in: a question may name them though its run never found them.
    if gone.words and gone.since:
        chosen |= set(_holding(tenant, gone.since, gone.words - _used_before(tenant, gone.since, gone.words)))
    return sorted(chosen)


def _own_words(runs: set[int]) -> set[uuid.UUID]:
    """Texts of events that repeat the caller's own words and nothing else: the first search."""
    return set(TraceEvent.objects.filter(run__in=runs, step=None).values_list("payload_id", flat=True))


def _resting_elsewhere(runs: set[int], messages: Sequence[str]) -> set[uuid.UUID]:
    """Texts of kept sentences that were verified against other messages alone."""
    cited = Citation.objects.filter(run__in=runs, message_id__in=messages).values("sentence_id")
    kept = Sentence.objects.filter(run__in=runs, kept=True).exclude(pk__in=cited)
    return set(kept.values_list("payload_id", flat=True))


def _used_before(tenant: Tenant, since: datetime, words: frozenset[str]) -> frozenset[str]:
    """Those of *words*, of letters alone, that people and models wrote before *since*: they stem from no later mail.

    Numbers and identifiers always count as the message's own, whoever knew them before.
    """
    wanted, met = {word for word in words if word.isalpha()}, set[str]()
    written = PayloadText.objects.filter(tenant=tenant, at__lt=since).exclude(kind__in=("quote", "evidence"))
    for content in written.order_by("-pk").values_list("content", flat=True)[:_LOOKED_BACK].iterator(_BATCH):
        met |= {lexeme for text in _said(json.loads(content)) for lexeme, _ in positioned_tokens(text)} & wanted
        if len(met) == len(wanted):
            break
    return frozenset(met)


def _holding(tenant: Tenant, since: datetime, words: frozenset[str]) -> Iterator[uuid.UUID]:
    """Texts of the tenant with one of *words*; read in pieces, since a tenant may have very many."""
    # Quotes are the words of the mail that they stem from, and that mail is judged by itself.
    written = PayloadText.objects.filter(tenant=tenant, at__gte=since).exclude(kind="quote").order_by("pk")
    last = uuid.UUID(int=0)
    while piece := list(written.filter(pk__gt=last).values_list("pk", "kind", "content")[:_BATCH]):
        for pk, kind, content in piece:
            told = json.loads(content)
            # So is evidence, but for the searches that found it.
            said = _said(told.get("found_by") if kind == "evidence" else told)
            if any(lexeme in words for text in said for lexeme, _ in positioned_tokens(text)):
                yield pk
        last = piece[-1][0]


def _said(value: Any) -> Iterable[str]:
    """Every string in a JSON value, names too: a model chooses those of its arguments."""
    match value:
        case str():
            yield value
        case dict():
            for name, inner in value.items():
                yield name
                yield from _said(inner)
        case list():
            for inner in value:
                yield from _said(inner)
