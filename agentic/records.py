"""A run as its rows tell it, and what of it a reader may still read.

Reading is bound to the reader's scope of now: a message that left it, was quarantined or erased since is no longer
readable, and neither is anything in the run that repeats its words.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from agentic import stored
from agentic.callers import Principal, rights_now
from agentic.models import Citation, Evidence, Run, RunFinished, RunState, Seal, Sentence, TraceEvent, WidenAttempt
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
    # Else the end of a run could be seen in one table and not yet in another.
    with bound(Binding(principal.tenant, audit=frozenset({principal.tenant})), at_one_moment=True):
        now = rights_now(principal)
        if now is None:
            return None
        run = next(
            iter(stored.read(Run, "WHERE t.public_id = %s AND t.tenant_id = %s", public_id, principal.tenant)), None
        )
        audits = Permission.AUDIT_READ in now.permissions
        if run is None or not (run.caller == principal.caller or (audits and not own_only)):
            return None
        return of_run(run, now.scope, audits=audits)


def of_run(run: Run, scope: Scope, *, audits: bool) -> Record:
    """The record of *run* for a reader of *scope*, in an open session, which from here on sees that scope."""
    rebind(Binding(run.tenant_id, scope.mailboxes, audit=frozenset({run.tenant_id})))
    sentences = _sentences(run)
    evidence = tuple(stored.read(Evidence, "WHERE t.run_id = %s ORDER BY t.seq, t.id", run.pk))
    named = {row.message_id for row in evidence}
    named |= {citation.message_id for row in sentences for citation in row.citations.all()}
    named |= {row.later_message for row in sentences}
    trace = tuple(stored.read(TraceEvent, "WHERE t.run_id = %s ORDER BY t.seq", run.pk))
    named |= {message for row in trace for message in row.data.get("nearest", ())}
    # Where the words of the evidence ran out, the message may be readable, but what the run read of it is not.
    gone = {row.message_id for row in evidence if row.erased}
    (state,) = stored.read(RunState, "WHERE t.run_id = %s", run.pk)
    finished = stored.read(RunFinished, "WHERE t.run_id = %s", run.pk)
    seals = stored.read(
        Seal, "WHERE t.tenant_id = %s AND t.kind = %s AND t.row = %s", run.tenant_id, Seal.Kind.RUN, run.pk
    )
    return Record(
        run=run,
        status=state.status,
        finished=next(iter(finished), None),
        trace=trace,
        evidence=evidence,
        sentences=sentences,
        widen_attempts=tuple(stored.read(WidenAttempt, "WHERE t.run_id = %s ORDER BY t.id", run.pk)),
        readable=readable(scope, named) - gone,
        audits=audits,
        seal=next(iter(seals), None),
    )


def _sentences(run: Run) -> tuple[Sentence, ...]:
    """The sentences of the draft that counts, each with its citations at hand."""
    sentences = stored.read(Sentence, "WHERE t.run_id = %s AND t.final ORDER BY t.position, t.id", run.pk)
    citations: dict[int, list[Citation]] = {}
    for citation in stored.read(Citation, "WHERE t.run_id = %s ORDER BY t.id", run.pk) if sentences else ():
        citations.setdefault(citation.sentence_id, []).append(citation)
    for row in sentences:
        stored.keep(row, "citations", citations.get(row.pk, []))
    return tuple(sentences)


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
