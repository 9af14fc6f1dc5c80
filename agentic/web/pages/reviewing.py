"""What the review queue shows: sentences that were kept or removed, beside the source that comes nearest."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.db.models.expressions import RawSQL

from agentic import accesses, records, run_page
from agentic.models import Evidence, Note, Run, Sentence
from agentic.reviewers import mail_scope
from agentic.web.pages import differences, drawing, rates, results, wording
from agentic.web.pages.differences import Compared
from agentic.web.pages.drawing import Sample
from agentic.web.pages.filters import Choices, day_of, number_of, paged, text_of
from agentic.web.pages.readers import Reader
from mailsearch.sessions import Binding, bound, rebind

PAGE = 20
# Beyond this the number of rows is only said to be larger.
COUNTED = 10_000
# Sentences that are looked through at once for words that stand in more than COUNTED.
WALKED = 1_000
_HIGHEST = 10**18
_MARGIN = timedelta(hours=1)
_A_SENTENCE = 5
VERDICTS = {"rightly": "rightly", "wrongly": "wrongly", "unsure": "unsure"}
_KINDS = {"removed": "removed", "kept": "kept", "all": "kept and removed"}


@dataclass(frozen=True, slots=True)
class Item:
    """One sentence to be judged; without words where they rest on mail that the reader may not read."""

    sentence: Sentence
    readable: bool
    words: str
    detail: str
    compared: Compared | None
    message: str
    run: str
    notes: tuple[Note, ...]
    # The messages whose words are shown.
    shows: frozenset[str]
    # Whether the reader has judged it already, of a sample.
    done: bool


@dataclass(frozen=True, slots=True)
class Queue:
    """One page of the queue."""

    items: tuple[Item, ...]
    count: int
    choices: tuple[Choices, ...]
    older: str
    sample: Sample | None
    query: str
    # Full text is searched in one tenant at a time; its name where that narrowed the list.
    searched_in: str
    # Whether the words are so common that only some sentences were looked through; `older` leads on.
    walked: bool = False
    # None beside a sample, whose reader is to know of nobody's verdicts.
    judging: rates.Judging | None = None

    @property
    def count_words(self) -> str:
        return f"more than {COUNTED:,}" if self.count > COUNTED else f"{self.count:,}"


def load(reader: Reader, sent: Mapping[str, str]) -> Queue:
    """The page of the queue that an address asks for."""
    sample = drawing.read(text_of(sent, "sample"))
    query = text_of(sent, "q")
    tenants = _tenants(reader, sent)
    if query:
        # One tenant's mail is seen at a time.
        tenants = tenants & {reader.tenant.pk} or frozenset(sorted(tenants)[:1])
    walked_to = None
    with bound(Binding(audit=reader.audits)):
        rows = _filtered(tenants, sent)
        if query and tenants:
            rows, walked_to = _matching(rows, reader, min(tenants), query, number_of(sent, "before") or _HIGHEST)
        if sample is not None:
            page, count, older = drawing.drawn(_with_rows(rows), sample), drawing.SIZE, ""
        else:
            page, count, older = _page(_reviewed(rows, sent), sent)
        if walked_to is not None and not older:
            older = paged(sent, walked_to)
        items = _items(reader, page, blind=sample is not None)
        judging = None if sample else rates.judging(tenants)
    _note(reader, items)
    searched = next((one.name for one in reader.audited if query and one.pk in tenants), "")
    choices = tuple(_choices(reader, sent))
    return Queue(tuple(items), count, choices, older, sample, query, searched, walked_to is not None, judging)


def _note(reader: Reader, items: Sequence[Item]) -> None:
    """Write down whose words are about to be shown: of runs, and of the mail beside them."""
    read: dict[int, list[str]] = defaultdict(list)
    for one in items:
        read[one.sentence.tenant_id] += [one.run, *sorted(one.shows)]
    accesses.note_each(read, run_page.caller_of(reader.user), reader.name, "review")


def newest(reader: Reader) -> int:
    """The highest number of a sentence now."""
    with bound(Binding(audit=reader.audits)):
        return int(Sentence.objects.filter(tenant__in=reader.audits).aggregate(last=Max("pk"))["last"] or 0)


def _tenants(reader: Reader, sent: Mapping[str, str]) -> frozenset[int]:
    slug = text_of(sent, "tenant")
    return frozenset(one.pk for one in reader.audited if not slug or one.slug == slug)


def _filtered(tenants: frozenset[int], sent: Mapping[str, str]) -> QuerySet[Sentence]:
    rows: QuerySet[Sentence] = Sentence.objects.filter(tenant__in=tenants, final=True, structural=False)
    kind = text_of(sent, "kind") or "removed"
    rows = rows if kind == "all" else rows.filter(kept=kind == "kept")
    for name, field in (("reason", "reason"), ("model", "run__model"), ("version", "run__verifier_version")):
        value = text_of(sent, name)
        rows = rows.filter(**{field: value}) if value else rows
    since, until = day_of(sent, "since"), day_of(sent, "until", end=True)
    first, last = _runs_of(tenants, since, until)
    rows = rows.filter(at__gte=since, run__gt=first) if since else rows
    return rows.filter(at__lt=until, run__lt=last) if until else rows


def _runs_of(tenants: frozenset[int], since: datetime | None, until: datetime | None) -> tuple[int, int]:
    """Numbers between which the runs of these days lie, by which their sentences are found.

    Numbers rise with time, but for runs that start at once: so an hour more is taken at both ends.
    """
    runs = Run.objects.filter(tenant__in=tenants).order_by("-started_at").values_list("pk", flat=True)
    before = runs.filter(started_at__lt=since - _MARGIN).first() if since else None
    after = runs.filter(started_at__gte=until + _MARGIN).reverse().first() if until else None
    return before or 0, after or _HIGHEST


def _matching(
    rows: QuerySet[Sentence], reader: Reader, tenant: int, query: str, below: int
) -> tuple[QuerySet[Sentence], int | None]:
    """Those of *rows* with the words of *query*, of runs whose mail the reader may read: others must not even count.

    Of words that are very common only some below the number *below* are looked through, down to the second value.
    """
    scope = mail_scope(reader.user, tenant)
    rebind(Binding(tenant, scope.mailboxes, audit=frozenset({tenant})))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sentence, walked_to FROM mail_search.audited_sentences(%s, %s, %s, %s)",
            [query, COUNTED, WALKED, below],
        )
        found = cursor.fetchall()
    rebind(Binding(tenant, scope.mailboxes, audit=reader.audits))
    unread = Evidence.objects.filter(run=OuterRef("run")).exclude(message_id__in=records.messages_of(scope))
    with_words = RawSQL("SELECT unnest(%s::bigint[])", [[one for one, _ in found if one is not None]])
    walked_to = next((end for _, end in found if end is not None), None)
    return rows.filter(~Exists(unread), pk__in=with_words), walked_to


def _reviewed(rows: QuerySet[Sentence], sent: Mapping[str, str]) -> QuerySet[Sentence]:
    judged = Exists(Note.objects.filter(sentence=OuterRef("pk")))
    chosen = text_of(sent, "reviewed") or "no"
    return rows if chosen == "any" else rows.filter(judged if chosen == "yes" else ~judged)


def _page(rows: QuerySet[Sentence], sent: Mapping[str, str]) -> tuple[list[Sentence], int, str]:
    # Counted up to a bound: a million rows are not read to say so.
    count = rows.order_by()[: COUNTED + 1].count()
    before = number_of(sent, "before")
    rows = rows if before is None else rows.filter(pk__lt=before)
    page = list(_with_rows(rows).order_by("-pk")[: PAGE + 1])
    return page[:PAGE], count, paged(sent, page[PAGE - 1].pk) if len(page) > PAGE else ""


def _with_rows(rows: QuerySet[Sentence]) -> QuerySet[Sentence]:
    return rows.select_related("run", "tenant").prefetch_related("citations")


def _items(reader: Reader, page: Sequence[Sentence], *, blind: bool) -> list[Item]:
    notes: dict[int | None, list[Note]] = defaultdict(list)
    for note in Note.objects.filter(sentence__in=page).select_related("author").order_by("pk"):
        notes[note.sentence_id].append(note)
    evidence: dict[int, list[Evidence]] = defaultdict(list)
    for row in Evidence.objects.filter(run__in={one.run_id for one in page}).order_by("seq", "pk"):
        evidence[row.run_id].append(row)
    readable = _readable(reader, page, evidence)
    return [_item(reader, one, evidence[one.run_id], readable, notes[one.pk], blind=blind) for one in page]


def _readable(
    reader: Reader, page: Sequence[Sentence], evidence: Mapping[int, Sequence[Evidence]]
) -> dict[int, frozenset[str]]:
    """By tenant, the messages of these runs that the reader may read now."""
    found = {}
    for tenant in {one.tenant_id for one in page}:
        scope = mail_scope(reader.user, tenant)
        runs = {one.run_id for one in page if one.tenant_id == tenant}
        with bound(Binding(tenant, scope.mailboxes, audit=reader.audits)):
            found[tenant] = records.readable(scope, {row.message_id for run in runs for row in evidence[run]})
    return found


def _item(
    reader: Reader,
    sentence: Sentence,
    evidence: Sequence[Evidence],
    readable: Mapping[int, frozenset[str]],
    notes: Sequence[Note],
    *,
    blind: bool,
) -> Item:
    mine = [note for note in notes if note.author_id == reader.user.pk]
    may_read = readable[sentence.tenant_id]
    cited = [one for one in sentence.citations.all() if one.message_id in may_read]
    whole = {one.message_id for one in (sentence.citations.all() if sentence.kept else ())} or {
        row.message_id for row in evidence
    }
    shown = whole <= may_read
    at = results.span_address(cited[0].message_id, _span(cited[0])) if shown and cited else ""
    compared, source = _compared(sentence, evidence) if shown else (None, "")
    return Item(
        sentence=sentence,
        readable=shown,
        words=wording.REMOVALS.get(sentence.reason, ""),
        detail=wording.detail({k: v for k, v in sentence.detail.items() if k != "source"}) if shown else "",
        compared=compared,
        message=at or (_message(sentence, evidence) if shown else ""),
        run=sentence.run.public_id,
        # A reader of samples must not see what others said.
        notes=tuple(mine if blind else notes),
        shows=frozenset({one.message_id for one in cited if shown} | ({source} if source else set())),
        done=bool(mine),
    )


def _compared(sentence: Sentence, evidence: Sequence[Evidence]) -> tuple[Compared, str]:
    """The sentence beside its source, and the message that this stands in where no citation names it."""
    words = str(sentence.text or sentence.drafted)
    quote = next((str(one.context or one.quote) for one in sentence.citations.all() if one.quote), "")
    told = str(sentence.detail.get("source") or "")
    # Of a fact only the nearest fact is told; its sentence says more.
    if len(told.split()) >= _A_SENTENCE or quote:
        return differences.compared(words, told if len(told.split()) >= _A_SENTENCE else quote), ""
    texts = [(str(excerpt.get("text", "")), row.message_id) for row in evidence for excerpt in row.excerpts]
    near, place = differences.nearest(words, [text for text, _ in texts])
    return differences.compared(words, near or told), texts[place][1] if near else ""


def _message(sentence: Sentence, evidence: Sequence[Evidence]) -> str:
    """The message that a removed sentence names, or else the first that the run found."""
    named = [row for row in evidence if row.label in sentence.drafted]
    chosen = next(iter([*named, *evidence]), None)
    return results.message_address(chosen.message_id) if chosen else ""


def _span(citation: Any) -> dict[str, Any]:
    return {"part": citation.part, "start": citation.start, "end": citation.end}


def _choices(reader: Reader, sent: Mapping[str, str]) -> list[Choices]:
    reasons = [(code, words) for code, words in wording.REMOVALS.items()]
    made = [
        Choices("kind", "Sentences", list(_KINDS.items()), text_of(sent, "kind") or "removed"),
        Choices("reason", "Reason", reasons, text_of(sent, "reason")),
        Choices(
            "reviewed",
            "Reviewed",
            [("no", "not yet"), ("yes", "yes"), ("any", "either")],
            text_of(sent, "reviewed") or "no",
        ),
    ]
    if len(reader.audited) > 1:
        tenants = [(one.slug, one.name) for one in reader.audited]
        made.insert(0, Choices("tenant", "Tenant", tenants, text_of(sent, "tenant")))
    return made
