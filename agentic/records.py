"""A run as its rows tell it, and what of it a reader may still read.

Reading is bound to the reader's scope of now: a message that left it, was quarantined or erased since is no longer
readable, and neither is anything in the run that repeats its words.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from agentic.callers import Principal, current, scope_now
from agentic.models import Evidence, Run, RunFinished, Seal, Sentence, TraceEvent, WidenAttempt
from mailsearch.models import Message, Permission
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, bound, rebind


@dataclass(frozen=True, slots=True)
class Record:
    """The rows of one run, and the ids of the messages in them that the reader may read now."""

    run: Run
    status: str
    finished: RunFinished | None
    trace: tuple[TraceEvent, ...]
    evidence: tuple[Evidence, ...]
    # Of the draft that counts, with their citations.
    sentences: tuple[Sentence, ...]
    widen_attempts: tuple[WidenAttempt, ...]
    readable: frozenset[str]
    # The reader holds audit:read: drafts, arguments as sent and requested values are shown.
    audits: bool
    # The run's entry in its tenant's chain, once it ended.
    seal: Seal | None = None

    @property
    def wholly_readable(self) -> bool:
        """Whether every message that the model read in this run may be read now."""
        return all(row.message_id in self.readable for row in self.evidence)


def load(principal: Principal, public_id: str, *, own_only: bool = False) -> Record | None:
    """The run, for who started it or (unless *own_only*) holds audit:read in its tenant; None for everybody else."""
    now = current(principal)
    if now is None:
        return None
    # Else the end of a run could be seen in one table and not yet in another.
    with bound(Binding(now.tenant, audit=frozenset({now.tenant})), at_one_moment=True):
        run = Run.objects.select_related("state").filter(public_id=public_id, tenant=now.tenant).first()
        audits = now.may(Permission.AUDIT_READ)
        if run is None or not (run.caller == now.caller or (audits and not own_only)):
            return None
        return of_run(run, scope_now(now), audits=audits)


def of_run(run: Run, scope: Scope, *, audits: bool) -> Record:
    """The record of *run* for a reader of *scope*, in an open session, which from here on sees that scope."""
    rebind(Binding(run.tenant_id, scope.mailboxes, audit=frozenset({run.tenant_id})))
    sentences = tuple(
        Sentence.objects.filter(run=run, final=True).order_by("position", "pk").prefetch_related("citations")
    )
    evidence = tuple(Evidence.objects.filter(run=run).order_by("seq", "pk"))
    named = {row.message_id for row in evidence}
    named |= {citation.message_id for row in sentences for citation in row.citations.all()}
    named |= {row.later_message for row in sentences}
    trace = tuple(TraceEvent.objects.filter(run=run).order_by("seq"))
    named |= {message for row in trace for message in row.data.get("nearest", ())}
    # Where the words of the evidence ran out, the message may be readable, but what the run read of it is not.
    gone = {row.message_id for row in evidence if row.erased}
    return Record(
        run=run,
        status=run.state.status,
        finished=RunFinished.objects.filter(run=run).first(),
        trace=trace,
        evidence=evidence,
        sentences=sentences,
        widen_attempts=tuple(WidenAttempt.objects.filter(run=run).order_by("pk")),
        readable=readable(scope, named) - gone,
        audits=audits,
        seal=Seal.objects.filter(tenant=run.tenant_id, kind=Seal.Kind.RUN, row=run.pk).first(),
    )


def readable(scope: Scope, ids: Iterable[str]) -> frozenset[str]:
    """Those of the messages *ids* that *scope* holds, in a session bound to it.

    Mail that was only deleted at its source stays readable where it is evidence.
    """
    return frozenset(messages_of(scope).filter(public_id__in=set(ids)))


def messages_of(scope: Scope) -> QuerySet[Message, str]:
    """Public ids of all messages that *scope* holds, in a session bound to it; also of those deleted at the source."""
    found = Message.objects.filter(folder__in=scope.folder_ids)
    if scope.received_from is not None:
        found = found.filter(received_at__gte=scope.received_from)
    if scope.received_until is not None:
        found = found.filter(received_at__lt=scope.received_until)
    return found.values_list("public_id", flat=True)
