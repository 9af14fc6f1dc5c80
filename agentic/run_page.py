"""What the page of one run shows, read from its rows within what its reader may see."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from agentic import records
from agentic.models import Run, Sentence
from agentic.records import Record
from agentic.reviewers import Person, Right, audited_tenants, mail_scope, rights
from mailsearch.models import Membership
from mailsearch.sessions import Binding, bound


@dataclass(frozen=True, slots=True)
class RunRows:
    """The record of a run with all its drafts, for one reader."""

    record: Record
    # Every draft with its sentences in the draft's order, the earliest first.
    drafts: tuple[tuple[int, tuple[Sentence, ...]], ...]
    # Public ids of messages of any draft that the reader may read now.
    readable: frozenset[str]
    own: bool

    def shows(self, sentence: Sentence) -> bool:
        """Whether the words of *sentence* may be shown: of a kept one all that it cites, else all that the run read."""
        cited = {citation.message_id for citation in sentence.citations.all()}
        return cited <= self.readable if sentence.kept and cited else self.record.wholly_readable


def load(person: Person, public_id: str) -> RunRows | None:
    """The run *public_id*: one's own, or of a tenant that *person* audits; None for all others.

    Texts are for the reader's mail scope of now; the right to audit adds nothing to it.
    """
    audited = audited_tenants(person)
    asking = asking_tenants(person)
    with bound(Binding(audit=audited | asking)):
        mine = Q(tenant__in=asking, caller=caller_of(person))
        found = Run.objects.select_related("state", "tenant").filter(mine | Q(tenant__in=audited), public_id=public_id)
        run = found.first()
        if run is None:
            return None
        record = records.of_run(run, mail_scope(person, run.tenant_id), audits=run.tenant_id in audited)
        drafts = _drafts(run)
        cited = {one.message_id for _, rows in drafts for row in rows for one in row.citations.all()}
        readable = record.readable | records.readable(mail_scope(person, run.tenant_id), cited - record.readable)
        return RunRows(record, drafts, readable, run.caller == caller_of(person))


def asking_tenants(person: Person) -> frozenset[int]:
    """Ids of the tenants in which *person* may see runs of the person's own."""
    if not person.is_authenticated:
        return frozenset()
    memberships = Membership.objects.filter(user_id=person.pk)
    return frozenset(one.tenant_id for one in memberships if Right.OWN_RUNS in rights(one))


def caller_of(person: Person) -> str:
    """The name under which a person's runs stand."""
    return f"user:{person.pk}"


def _drafts(run: Run) -> tuple[tuple[int, tuple[Sentence, ...]], ...]:
    rows: Sequence[Sentence] = list(
        Sentence.objects.filter(run=run).prefetch_related("citations").order_by("round", "position", "pk")
    )
    rounds = dict.fromkeys(row.round for row in rows)
    return tuple((number, tuple(row for row in rows if row.round == number)) for number in rounds)
