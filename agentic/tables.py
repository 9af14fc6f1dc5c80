"""The tables of the audit: what happened in every run, and what people did about runs, keys and mail.

Rows are added and never changed: triggers refuse UPDATE, DELETE and TRUNCATE, and the application's role has no right
to them. Each is bound to the one before it by a hash (agentic/links.py). Words stand apart (agentic/payloads.py).
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from agentic.payloads import Worded, words
from agentic.tenant_chain import Seal, TenantRow
from mailsearch.ids import public_id
from mailsearch.models import Tenant


def run_public_id() -> str:
    return public_id("run")


# What the words of an event are.
_WORDS_OF: Mapping[str, Mapping[str, Any]] = {
    "called": {"arguments": {}},
    "found": {"applied": {}},
    "replied": {"detail": ""},
    "drafted": {"draft": {}},
    "cut": {"detail": ""},
}

# How the entry of a verdict on a random sample begins.
SAMPLE = "sample "


class ChainedRow(Worded):
    """A row of a run's chain: its position, and the hash that binds it to the one before."""

    # NULL for rows that stand in no chain; the audit's verification names them.
    link = models.PositiveIntegerField(null=True, editable=False)
    hash = models.BinaryField(max_length=32, null=True, editable=False)

    class Meta:
        abstract = True


class Run(ChainedRow):
    """The head of one question being answered: who asked what, within which scope and limits."""

    KIND = "question"
    tenant = models.ForeignKey(Tenant, models.PROTECT)
    public_id = models.CharField(max_length=40, unique=True, default=run_public_id)
    # "key:<lineage>" or "user:<id>": every later read must come from the same caller, or from an auditor.
    caller = models.CharField(max_length=64, db_index=True)
    caller_label = models.CharField(max_length=200, blank=True, default="")
    timezone = models.CharField(max_length=64)
    asked_now = models.DateTimeField()
    # The scope as it was resolved at the start: ids of mailboxes and folders, window, version.
    scope = models.JSONField()
    max_steps = models.PositiveSmallIntegerField()
    max_seconds = models.FloatField()
    model = models.CharField(max_length=200)
    policy = models.CharField(max_length=10)
    removed_text = models.CharField(max_length=10, default="masked")
    verifier_version = models.CharField(max_length=40)
    prompt_hashes = models.JSONField(default=dict)
    service_version = models.CharField(max_length=40, default="")
    evaluation = models.BooleanField(default=False)
    started_at = models.DateTimeField(db_default=Now())

    question = words("question")
    filters = words("filters", {})

    class Meta:
        indexes = [
            models.Index(fields=["tenant", "-started_at"], name="run_by_time"),
            models.Index(fields=["tenant", "caller", "-started_at"], name="run_by_caller"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def run_of_words(self) -> int | None:
        return self.pk


class RunRow(ChainedRow):
    """What every audit row of a run carries."""

    tenant = models.ForeignKey(Tenant, models.PROTECT)
    # The unique constraint on run and link is its index.
    run = models.ForeignKey(Run, models.PROTECT, related_name="%(class)ss", db_index=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True
        constraints = [models.UniqueConstraint(fields=["run", "link"], name="%(class)s_link_once")]


class TraceEvent(RunRow):
    """One event of the loop, in order."""

    KIND = "event"
    seq = models.PositiveIntegerField()
    at_ms = models.PositiveIntegerField()
    phase = models.CharField(max_length=10, blank=True, default="")
    step = models.PositiveSmallIntegerField(null=True)
    # asked replied called found drafted verified cut finished
    event = models.CharField(max_length=12)
    # Ids, names, codes and numbers of the event; what a model or a server said stands with the words.
    facts = models.JSONField(default=dict)

    arguments = words("arguments", {})
    applied = words("applied", {})
    draft = words("draft", {})
    detail = words("detail")

    class Meta(RunRow.Meta):
        constraints = [
            *RunRow.Meta.constraints,
            models.UniqueConstraint(fields=["run", "seq"], name="trace_event_once"),
        ]

    @property
    def data(self) -> dict[str, Any]:
        """Facts and words of the event together; words that are gone, or that it never had, are empty."""
        return {**_WORDS_OF.get(self.event, {}), **self.facts, **self.texts}


class Evidence(RunRow):
    """A message as a tool returned it in this run, kept as it was."""

    KIND = "evidence"
    seq = models.PositiveIntegerField()
    label = models.CharField(max_length=12)
    # Public id: the row must outlive the message, and must not keep it.
    message_id = models.CharField(max_length=40, db_index=True)

    # The head and the shown excerpts, as the response shows them.
    head = words("head", {})
    excerpts = words("excerpts", [])
    found_by = words("found_by", [])
    # Also a word of the mail: without a salt it would tell whoever guesses the text that the guess is right.
    text_sha256 = words("text_sha256")

    class Meta(RunRow.Meta):
        verbose_name_plural = "evidence"


class Sentence(RunRow):
    """One unit of a draft, kept or removed. `round` counts drafts; `final` marks the draft that counted."""

    KIND = "sentence"
    round = models.PositiveSmallIntegerField()
    final = models.BooleanField(default=False)
    position = models.PositiveIntegerField()
    kept = models.BooleanField()
    structural = models.BooleanField(default=False)
    support = models.CharField(max_length=10, blank=True, default="")
    reason = models.CharField(max_length=30, blank=True, default="")
    qualified = models.BooleanField(default=False)
    translated = models.BooleanField(default=False)
    later_message = models.CharField(max_length=40, blank=True, default="")

    drafted = words("drafted")
    text = words("text")
    detail = words("detail", {})

    class Meta(RunRow.Meta):
        indexes = [
            models.Index(fields=["tenant", "kept", "reason"], name="sentence_by_reason"),
            models.Index(
                fields=["tenant", "at"],
                include=["reason"],
                name="removed_by_time",
                condition=models.Q(kept=False, final=True, structural=False),
            ),
        ]


class Citation(RunRow):
    """Where a kept sentence is grounded: a message, and a span of its stored text where a quote was verified."""

    KIND = "quote"
    sentence = models.ForeignKey(Sentence, models.PROTECT, related_name="citations")
    label = models.CharField(max_length=12)
    message_id = models.CharField(max_length=40)
    part = models.CharField(max_length=60)
    page = models.PositiveIntegerField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)

    quote = words("quote")
    context = words("context")
    relayed_by = words("relayed_by")
    said_by = words("said_by")


class WidenAttempt(RunRow):
    """An argument that would have reached beyond the caller's scope. It had no effect."""

    KIND = "widen"
    kind = models.CharField(max_length=20)
    step = models.PositiveSmallIntegerField(null=True)
    tool = models.CharField(max_length=40)
    # Its name where that is a known one; `(other)` where the model made it up, since it may be a word of mail.
    argument = models.CharField(max_length=100)
    # Public ids of the messages that the model had read just before.
    read_before = ArrayField(models.CharField(max_length=40), default=list)

    argument_sent = words("argument_sent")
    requested = words("requested")
    effective = words("effective", None)

    class Meta(RunRow.Meta):
        indexes = [models.Index(fields=["tenant", "at"], include=["kind"], name="widen_by_time")]


class RunFinished(RunRow):
    """How a run ended."""

    KIND = "answer"
    outcome = models.CharField(max_length=24)
    reason = models.CharField(max_length=60, blank=True, default="")
    steps = models.PositiveSmallIntegerField()
    seconds = models.FloatField()
    first_evidence_ms = models.PositiveIntegerField(null=True)
    model_calls = models.PositiveIntegerField()
    tool_calls = models.PositiveIntegerField()
    prompt_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.FloatField(default=0.0)
    kept = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)
    model = models.CharField(max_length=200)
    # How much mail was in scope and indexed at the end.
    coverage = models.JSONField(default=dict)

    answer_text = words("answer_text", None)

    class Meta(RunRow.Meta):
        constraints = [*RunRow.Meta.constraints, models.UniqueConstraint(fields=["run"], name="a_run_ends_once")]
        # The overview counts over this index alone.
        indexes = [
            models.Index(
                fields=["tenant", "at"],
                include=[
                    "outcome",
                    "seconds",
                    "steps",
                    "first_evidence_ms",
                    "prompt_tokens",
                    "completion_tokens",
                    "cost_usd",
                ],
                name="end_by_time",
            )
        ]


class AdminAct(TenantRow):
    """A recorded act on keys, grants, quarantine, policies, exports or erasure: who did what, and why."""

    KIND = "reason"
    SEALED_AS = Seal.Kind.ACT
    actor = models.CharField(max_length=200)
    act = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)

    reason = words("reason")

    @property
    def said(self) -> str:
        return self.act


class Note(TenantRow):
    """A person's note on a widen attempt or a removed sentence: added, never changed."""

    KIND = "note"
    SEALED_AS = Seal.Kind.NOTE
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    sentence = models.ForeignKey(Sentence, models.PROTECT, null=True, blank=True, related_name="notes")
    widen_attempt = models.ForeignKey(WidenAttempt, models.PROTECT, null=True, blank=True, related_name="notes")
    # rightly wrongly unsure seen
    verdict = models.CharField(max_length=10)

    text = words("text")
    # Of a verdict on a random sample, which one: set before it is saved, so that its entry in the chain says so.
    sample = ""

    @property
    def said(self) -> str:
        return f"{SAMPLE}{self.sample}" if self.sample else ""

    @property
    def run_of_words(self) -> int | None:
        # What is said of a run's sentence ends with the words of that run.
        about = self.sentence or self.widen_attempt
        return about.run_id if about else None


class CallerAttempt(Worded):
    """A widen attempt by a caller who used a tool itself, in no run. It had no effect."""

    KIND = "widen"
    tenant = models.ForeignKey(Tenant, models.PROTECT)
    at = models.DateTimeField(db_default=Now())
    caller = models.CharField(max_length=64)
    caller_label = models.CharField(max_length=200, blank=True, default="")
    kind = models.CharField(max_length=20)
    tool = models.CharField(max_length=40)
    argument = models.CharField(max_length=100)

    argument_sent = words("argument_sent")
    requested = words("requested")
    effective = words("effective", None)

    class Meta:
        indexes = [models.Index(fields=["tenant", "-at"], name="caller_attempt_by_time")]


class AccessLog(models.Model):
    """Who read which mail, run or export outside of a run. Added by mail_search.record_access alone."""

    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False)
    at = models.DateTimeField()
    # As a run's caller: "key:<lineage>" or "user:<id>"; and its name for people.
    reader = models.CharField(max_length=64)
    label = models.CharField(max_length=200, blank=True, default="")
    # message raw thread attachment related search verify run export …
    kind = models.CharField(max_length=20)
    # rest page mcp command
    via = models.CharField(max_length=10)
    # Public ids of what was read.
    subjects = ArrayField(models.CharField(max_length=60), default=list)

    class Meta:
        # Ids rise with time.
        indexes = [models.Index(fields=["tenant", "id"], name="access_by_tenant")]
