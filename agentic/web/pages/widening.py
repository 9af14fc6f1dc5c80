"""Widen attempts in groups: by the sender of what the model had read just before, by kind, tool and argument."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.utils.timezone import now

from agentic import accesses, records, run_page
from agentic.core.fence import clean_line
from agentic.models import CallerAttempt, Note, Run, WidenAttempt
from agentic.reviewers import Right, mail_scope, rights
from agentic.web.pages import results, wording
from agentic.web.pages.filters import Choices, day_of, text_of, without
from agentic.web.pages.readers import Reader
from mailsearch.models import Participant
from mailsearch.sessions import Binding, bound

# Attempts that are looked at, the newest.
MOST = 5_000
# Groups that a page shows.
PAGE = 50
SPARK_DAYS = 30
_RUNS, _MESSAGES = 10, 3
# What stands in the place of a sender.
NOTHING_READ, NOT_READABLE = "nothing was read before", "senders of mail that you may not read"


class Attempt(NamedTuple):
    """What of an attempt is grouped: no words."""

    number: int
    tenant: int
    run: int
    at: datetime
    kind: str
    tool: str
    argument: str
    read_before: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReadBefore:
    """A message that was read just before an attempt, of those that the reader may read."""

    tenant: int
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
    # The newest runs, as pairs of tenant and public id.
    runs: tuple[tuple[int, str], ...]
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
class ByCaller:
    """Attempts of one kind by a caller who calls the tools without a run."""

    caller: str
    kind: str
    code: str
    tool: str
    argument: str
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Widening:
    """The page: groups, the newest first; attempts of callers who call the tools themselves; filters."""

    groups: tuple[Group, ...]
    # How many groups fit, and where those after these are listed (empty if there are none).
    count: int
    further: str
    callers: tuple[ByCaller, ...]
    choices: tuple[Choices, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known beside the attempts: by tenant and message its sender, by attempt its notes, runs, names."""

    senders: Mapping[tuple[int, str], str]
    notes: Mapping[int | None, Sequence[Note]]
    runs: Mapping[int, str]
    names: Mapping[int, str]
    quarantines: frozenset[int]


_Key = tuple[str, str, str, str]


def load(reader: Reader, sent: Mapping[str, str]) -> Widening:
    """The groups that an address asks for. What is shown is an access to it."""
    with bound(Binding(audit=reader.audits)):
        attempts = _attempts(reader, sent)
        senders = _senders(reader, attempts)
        notes = _notes(attempts)
        callers = _callers(reader)
        grouped = _grouped(attempts, senders)
        chosen = text_of(sent, "seen") or "no"
        fit = [one for one in grouped.items() if chosen == "any" or _seen(one[1], notes) == (chosen == "yes")]
        # Attempts come the newest first.
        fit.sort(key=lambda one: (one[1][0].at, len(one[1])), reverse=True)
        start = _start(sent)
        page = fit[start : start + PAGE]
        known = _Known(senders, notes, _runs(page), {one.pk: one.name for one in reader.audited}, _quarantines(reader))
    groups = tuple(_group(key, members, known) for key, members in page)
    _note(reader, groups)
    further = f"?{without(sent, 'from')}&from={start + PAGE}" if len(fit) > start + PAGE else ""
    return Widening(groups, len(fit), further, callers, tuple(_choices(reader, sent)), len(attempts) == MOST)


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


def _attempts(reader: Reader, sent: Mapping[str, str]) -> list[Attempt]:
    """The newest first."""
    slug, kind = text_of(sent, "tenant"), text_of(sent, "kind")
    tenants = [one.pk for one in reader.audited if not slug or one.slug == slug]
    rows = WidenAttempt.objects.filter(tenant__in=tenants)
    rows = rows.filter(kind=kind) if kind else rows
    since, until = day_of(sent, "since"), day_of(sent, "until", end=True)
    rows = rows.filter(at__gte=since) if since else rows
    rows = rows.filter(at__lt=until) if until else rows
    columns = ("pk", "tenant", "run", "at", "kind", "tool", "argument", "read_before")
    return [Attempt(*row) for row in rows.order_by("-at", "-pk").values_list(*columns)[:MOST]]


def _senders(reader: Reader, attempts: Sequence[Attempt]) -> dict[tuple[int, str], str]:
    """By tenant and message, who wrote what was read before, of the mail that the reader may read now."""
    read: dict[int, set[str]] = defaultdict(set)
    for one in attempts:
        read[one.tenant].update(one.read_before)
    found: dict[tuple[int, str], str] = {}
    for tenant, messages in read.items():
        scope = mail_scope(reader.user, tenant)
        if not messages or scope.empty:
            continue
        with bound(Binding(tenant, scope.mailboxes, audit=reader.audits)):
            readable = records.messages_of(scope).filter(public_id__in=messages)
            people = Participant.objects.filter(message__public_id__in=readable, role="from").order_by("-position")
            addresses = dict(people.values_list("message__public_id", "address"))
            found |= {(tenant, one): clean_line(addresses.get(one, "")) for one in readable}
    return found


def _notes(attempts: Sequence[Attempt]) -> Mapping[int | None, Sequence[Note]]:
    found: dict[int | None, list[Note]] = defaultdict(list)
    if attempts:
        numbers = [one.number for one in attempts]
        said = Note.objects.filter(widen_attempt__gte=min(numbers), widen_attempt__lte=max(numbers))
        for note in said.filter(tenant__in={one.tenant for one in attempts}).select_related("author").order_by("pk"):
            found[note.widen_attempt_id].append(note)
    return found


def _grouped(attempts: Sequence[Attempt], senders: Mapping[tuple[int, str], str]) -> dict[_Key, list[Attempt]]:
    """By sender, kind, tool and argument; an attempt after mail of two senders stands with both."""
    grouped: dict[_Key, list[Attempt]] = defaultdict(list)
    for one in attempts:
        read = [(one.tenant, message) for message in one.read_before]
        known = dict.fromkeys(senders[place] for place in read if place in senders)
        for sender in known or [NOT_READABLE if read else NOTHING_READ]:
            grouped[sender, one.kind, one.tool, one.argument].append(one)
    return grouped


def _seen(members: Sequence[Attempt], notes: Mapping[int | None, Sequence[Note]]) -> bool:
    # A mark counts for what there was; an attempt after it makes the group new again.
    return bool(notes.get(max(one.number for one in members)))


def _runs(page: Iterable[tuple[_Key, Sequence[Attempt]]]) -> dict[int, str]:
    """Public ids of the newest runs of each group."""
    wanted = {run for _, members in page for run in _newest(members)}
    return dict(Run.objects.filter(pk__in=wanted).values_list("pk", "public_id"))


def _newest(members: Sequence[Attempt]) -> list[int]:
    return list(dict.fromkeys(one.run for one in members))[:_RUNS]


def _quarantines(reader: Reader) -> frozenset[int]:
    """Tenants in which the reader may put mail into quarantine."""
    return frozenset(one.tenant_id for one in reader.memberships if Right.QUARANTINE in rights(one))


def _start(sent: Mapping[str, str]) -> int:
    number = text_of(sent, "from")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 0


def _note(reader: Reader, groups: Iterable[Group]) -> None:
    """Write down whose senders and runs are about to be shown."""
    read: dict[int, list[str]] = defaultdict(list)
    for group in groups:
        for tenant, run in group.runs:
            read[tenant].append(run)
        for one in group.messages:
            read[one.tenant].append(one.message_id)
    accesses.note_each(read, run_page.caller_of(reader.user), reader.name, "widening")


def _group(key: _Key, members: Sequence[Attempt], known: _Known) -> Group:
    sender, kind, tool, argument = key
    said = [note for one in members for note in known.notes.get(one.number, ())]
    tenant_of = {one.run: one.tenant for one in members}
    return Group(
        sender=sender,
        known=sender not in (NOTHING_READ, NOT_READABLE),
        kind=wording.WIDENING.get(kind, kind),
        code=kind,
        tool=tool,
        argument=argument,
        count=len(members),
        tenants=tuple(sorted({known.names[one.tenant] for one in members})),
        first=members[-1].at,
        last=members[0].at,
        days=_days(members),
        runs=tuple((tenant_of[run], known.runs[run]) for run in _newest(members)),
        messages=tuple(_messages(sender, members, known)),
        newest=max(one.number for one in members),
        notes=tuple(sorted(said, key=lambda note: note.pk)),
        seen=_seen(members, known.notes),
    )


def _days(members: Iterable[Attempt]) -> tuple[int, ...]:
    start = (now() - timedelta(days=SPARK_DAYS - 1)).astimezone(UTC).date()
    counted = [0] * SPARK_DAYS
    for one in members:
        day = (one.at.astimezone(UTC).date() - start).days
        if 0 <= day < SPARK_DAYS:
            counted[day] += 1
    return tuple(counted)


def _messages(sender: str, members: Sequence[Attempt], known: _Known) -> list[ReadBefore]:
    """The messages of this sender that were read before most often."""
    often = Counter(
        (one.tenant, message)
        for one in members
        for message in one.read_before
        if known.senders.get((one.tenant, message)) == sender
    )
    return [
        ReadBefore(tenant, message, results.message_address(message), tenant in known.quarantines)
        for (tenant, message), _ in often.most_common(_MESSAGES)
    ]


def _callers(reader: Reader) -> tuple[ByCaller, ...]:
    """Attempts outside of runs, by caller, kind, tool and argument."""
    rows = CallerAttempt.objects.filter(tenant__in=reader.audits).order_by("-at", "-pk")
    columns = ("at", "caller_label", "caller", "kind", "tool", "argument")
    grouped: dict[tuple[str, ...], list[datetime]] = defaultdict(list)
    for at, label, caller, *more in rows.values_list(*columns)[:MOST]:
        grouped[label or caller, *more].append(at)
    return tuple(
        ByCaller(caller, wording.WIDENING.get(kind, kind), kind, tool, argument, len(at), at[-1], at[0])
        for (caller, kind, tool, argument), at in list(grouped.items())[:PAGE]
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
