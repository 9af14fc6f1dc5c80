"""Widen attempts in groups: by the sender of what the model had read just before, by kind, tool and argument."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.timezone import now

from agentic import records
from agentic.core.fence import clean_line
from agentic.models import CallerAttempt, Evidence, Note, WidenAttempt
from agentic.reviewers import Right, mail_scope, rights
from agentic.web.pages import results, wording
from agentic.web.pages.filters import Choices, day_of, text_of
from agentic.web.pages.readers import Reader
from mailsearch.sessions import Binding, bound

# Attempts that are looked at, the newest.
MOST = 5_000
SPARK_DAYS = 30
_RUNS, _MESSAGES = 10, 3
# What stands in the place of a sender.
NOTHING_READ, NOT_READABLE = "nothing was read before", "senders of mail that you may not read"


@dataclass(frozen=True, slots=True)
class ReadBefore:
    """A message that was read just before an attempt, of those that the reader may read."""

    message_id: str
    address: str
    may_quarantine: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Attempts of one kind after mail of one sender."""

    sender: str
    known: bool
    kind: str
    code: str
    tool: str
    argument: str
    count: int
    tenants: tuple[str, ...]
    first: datetime
    last: datetime
    # Attempts a day, the oldest of SPARK_DAYS first.
    days: tuple[int, ...]
    runs: tuple[str, ...]
    messages: tuple[ReadBefore, ...]
    newest: int
    notes: tuple[Note, ...]
    seen: bool

    @property
    def spark(self) -> list[tuple[int, float, float]]:
        """Bars of the sparkline: x, y and height in a drawing of 90 by 20."""
        most = max(self.days, default=0) or 1
        return [(3 * day, 20 - 20 * n / most, 20 * n / most) for day, n in enumerate(self.days) if n]


@dataclass(frozen=True, slots=True)
class Widening:
    """The page: groups, the newest first; attempts of callers who call the tools themselves; filters."""

    groups: tuple[Group, ...]
    callers: tuple[Mapping[str, Any], ...]
    choices: tuple[Choices, ...]
    cut: bool


def load(reader: Reader, sent: Mapping[str, str]) -> Widening:
    """The groups that an address asks for."""
    with bound(Binding(audit=reader.audits)):
        attempts = _attempts(reader, sent)
        heads = _heads(reader, attempts)
        notes: dict[int | None, list[Note]] = defaultdict(list)
        for note in Note.objects.filter(widen_attempt__in=attempts).select_related("author").order_by("pk"):
            notes[note.widen_attempt_id].append(note)
        callers = _callers(reader)
    grouped: dict[tuple[str, ...], list[WidenAttempt]] = defaultdict(list)
    for attempt in attempts:
        for sender in _senders(attempt, heads):
            grouped[sender, attempt.kind, attempt.tool, attempt.argument].append(attempt)
    may = {one.tenant_id for one in reader.memberships if Right.QUARANTINE in rights(one)}
    groups = [_group(key, members, heads, notes, may) for key, members in grouped.items()]
    chosen = text_of(sent, "seen") or "no"
    shown = [one for one in groups if chosen == "any" or one.seen == (chosen == "yes")]
    shown.sort(key=lambda one: (one.last, one.count), reverse=True)
    return Widening(tuple(shown), callers, tuple(_choices(reader, sent)), len(attempts) == MOST)


def add_seen(reader: Reader, attempt: int, text: str) -> bool:
    """Mark a group as seen up to its newest attempt; False where the reader may not see that one."""
    with bound(Binding(audit=reader.audits)):
        row = WidenAttempt.objects.filter(pk=attempt, tenant__in=reader.audits).first()
        if row is None:
            return False
        Note.objects.create(
            tenant_id=row.tenant_id, author_id=reader.user.pk, widen_attempt=row, verdict="seen", text=text
        )
    return True


def _attempts(reader: Reader, sent: Mapping[str, str]) -> list[WidenAttempt]:
    slug, kind = text_of(sent, "tenant"), text_of(sent, "kind")
    tenants = [one.pk for one in reader.audited if not slug or one.slug == slug]
    rows = WidenAttempt.objects.filter(tenant__in=tenants).select_related("run", "tenant")
    rows = rows.filter(kind=kind) if kind else rows
    since, until = day_of(sent, "since"), day_of(sent, "until", end=True)
    rows = rows.filter(at__gte=since) if since else rows
    rows = rows.filter(at__lt=until) if until else rows
    return list(rows.order_by("-pk")[:MOST])


def _heads(reader: Reader, attempts: Sequence[WidenAttempt]) -> dict[str, Mapping[str, Any]]:
    """Heads of the messages read before, of those that the reader may read now in the tenant of their run."""
    found: dict[str, Mapping[str, Any]] = {}
    for tenant in {one.tenant_id for one in attempts}:
        theirs = [one for one in attempts if one.tenant_id == tenant and one.read_before]
        scope = mail_scope(reader.user, tenant)
        with bound(Binding(tenant, scope.mailboxes, audit=reader.audits)):
            readable = records.readable(scope, {message for one in theirs for message in one.read_before})
            rows = Evidence.objects.filter(run__in={one.run_id for one in theirs}, message_id__in=readable)
            # Of a message that was erased no head is left.
            found |= {row.message_id: row.head for row in rows if row.head}
    return found


def _senders(attempt: WidenAttempt, heads: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """Every sender once: an attempt after mail of two senders stands with both."""
    if not attempt.read_before:
        return [NOTHING_READ]
    known = [clean_line(heads[one]["from"]["address"]) for one in attempt.read_before if one in heads]
    return dict.fromkeys(known or [NOT_READABLE])


def _group(
    key: tuple[str, ...],
    members: Sequence[WidenAttempt],
    heads: Mapping[str, Mapping[str, Any]],
    notes: Mapping[int | None, Sequence[Note]],
    may: set[int],
) -> Group:
    sender, kind, tool, argument = key
    said = [note for one in members for note in notes[one.pk]] if notes else []
    newest = max(one.pk for one in members)
    return Group(
        sender=sender,
        known=sender not in (NOTHING_READ, NOT_READABLE),
        kind=wording.WIDENING.get(kind, kind),
        code=kind,
        tool=tool,
        argument=argument,
        count=len(members),
        tenants=tuple(sorted({one.tenant.name for one in members})),
        first=min(one.at for one in members),
        last=max(one.at for one in members),
        days=_days(members),
        runs=tuple(dict.fromkeys(one.run.public_id for one in members))[:_RUNS],
        messages=tuple(_messages(sender, members, heads, may)),
        newest=newest,
        notes=tuple(sorted(said, key=lambda note: note.pk)),
        # A mark counts for what there was; an attempt after it makes the group new again.
        seen=any(note.widen_attempt_id == newest for note in said),
    )


def _days(members: Iterable[WidenAttempt]) -> tuple[int, ...]:
    start = (now() - timedelta(days=SPARK_DAYS - 1)).astimezone(UTC).date()
    counted = [0] * SPARK_DAYS
    for one in members:
        day = (one.at.astimezone(UTC).date() - start).days
        if 0 <= day < SPARK_DAYS:
            counted[day] += 1
    return tuple(counted)


def _messages(
    sender: str, members: Sequence[WidenAttempt], heads: Mapping[str, Mapping[str, Any]], may: set[int]
) -> list[ReadBefore]:
    """The messages of this sender that were read before most often."""
    often: dict[tuple[str, int], int] = defaultdict(int)
    for one in members:
        for message in one.read_before:
            if message in heads and clean_line(heads[message]["from"]["address"]) == sender:
                often[message, one.tenant_id] += 1
    chosen = sorted(often, key=lambda pair: -often[pair])[:_MESSAGES]
    return [ReadBefore(message, results.message_address(message), tenant in may) for message, tenant in chosen]


def _callers(reader: Reader) -> tuple[Mapping[str, Any], ...]:
    """Attempts outside of runs, by caller, kind, tool and argument."""
    grouped: dict[tuple[str, ...], list[CallerAttempt]] = defaultdict(list)
    for one in CallerAttempt.objects.filter(tenant__in=reader.audits).order_by("-pk")[:MOST]:
        grouped[one.caller_label or one.caller, one.kind, one.tool, one.argument].append(one)
    return tuple(
        {
            "caller": caller,
            "kind": wording.WIDENING.get(kind, kind),
            "code": kind,
            "tool": tool,
            "argument": argument,
            "count": len(members),
            "first": members[-1].at,
            "last": members[0].at,
        }
        for (caller, kind, tool, argument), members in grouped.items()
    )


def _choices(reader: Reader, sent: Mapping[str, str]) -> list[Choices]:
    seen = [("no", "not yet"), ("yes", "yes"), ("any", "either")]
    made = [
        Choices("kind", "Kind", list(wording.WIDENING.items()), text_of(sent, "kind")),
        Choices("seen", "Seen", seen, text_of(sent, "seen") or "no"),
    ]
    if len(reader.audited) > 1:
        tenants = [(one.slug, one.name) for one in reader.audited]
        made.insert(0, Choices("tenant", "Tenant", tenants, text_of(sent, "tenant")))
    return made
