"""The budgets of tenants, and the audit of every run.

Rows of the audit are added and never changed: triggers refuse UPDATE, DELETE and TRUNCATE, and the application's role
has no right to them (migrations/0002). What must change while a run lives stands in RunState and DailyUse.
"""

from decimal import Decimal

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now

from agentic.attempts import SignInAttempt as SignInAttempt
from mailsearch.ids import public_id
from mailsearch.models import Tenant


def run_public_id() -> str:
    return public_id("run")


class AgentPolicy(models.Model):
    """A tenant's limits. NULL inherits from the row without a tenant, and that one from the built-in defaults."""

    class Verification(models.TextChoices):
        STANDARD = "standard", "keeps quoted and cited sentences"
        STRICT = "strict", "keeps only sentences with a verified quote"

    class RemovedText(models.TextChoices):
        MASKED = "masked", "shown with links, addresses and numbers masked"
        WITHHELD = "withheld", "not shown"
        FULL = "full", "shown"

    tenant = models.OneToOneField(Tenant, models.CASCADE, null=True, blank=True, related_name="policy")
    agentic_max_steps = models.PositiveSmallIntegerField(
        "search.agentic_max_steps",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        help_text="Replies of the model that one run may use: 1 to 20 steps, default 6.",
    )
    agentic_max_seconds = models.PositiveSmallIntegerField(
        "search.agentic_max_seconds",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(120)],
        help_text="Wall-clock seconds within which a run's response leaves: 1 to 120, default 8.",
    )
    agentic_daily_cap = models.PositiveIntegerField(
        "search.agentic_daily_cap",
        null=True,
        blank=True,
        validators=[MaxValueValidator(1_000_000)],
        help_text="Runs that the tenant may start in a day of its time zone; 0 switches them off; default 500.",
    )
    agentic_daily_tokens = models.PositiveBigIntegerField(
        "search.agentic_daily_tokens",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(1_000_000_000_000)],
        help_text="Tokens of prompts and replies that the tenant's runs may use in a day; default: no cap.",
    )
    agentic_daily_cost_usd = models.DecimalField(
        "search.agentic_daily_cost_usd",
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.01"))],
        help_text="USD that the model may cost the tenant in a day, by its list prices; default: no cap.",
    )
    agentic_key_share = models.PositiveSmallIntegerField(
        "search.agentic_key_share",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Per cent of each daily cap that one key or person may use: 1 to 100, default 100.",
    )
    verification = models.CharField(max_length=10, choices=Verification.choices, null=True, blank=True)
    removed_text = models.CharField(max_length=10, choices=RemovedText.choices, null=True, blank=True)
    model_judge = models.BooleanField(
        null=True,
        blank=True,
        help_text="Ask a chat model at the end whether an answer answers. It can only lower an answer to insufficient"
        " evidence, and costs one step. Default: no.",
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "agent policies"


class Use(models.Model):
    """What was used in one day of a tenant. Changed by conditional statements alone (agentic/caps.py)."""

    tenant = models.ForeignKey(Tenant, models.CASCADE)
    day = models.DateField()
    # Runs that were admitted.
    used = models.PositiveIntegerField(default=0)
    # Of runs that ended; and what is held for those under way.
    tokens = models.BigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    reserved_tokens = models.BigIntegerField(default=0)
    reserved_cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)

    class Meta:
        abstract = True


class DailyUse(Use):
    """What a whole tenant used."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "day"], name="daily_use_once")]


class CallerUse(Use):
    """What one caller used of it."""

    caller = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "day", "caller"], name="caller_use_once")]


class Run(models.Model):
    """The head of one question being answered: who asked what, within which scope and limits."""

    tenant = models.ForeignKey(Tenant, models.PROTECT)
    public_id = models.CharField(max_length=40, unique=True, default=run_public_id)
    # "key:<lineage>" or "user:<id>": every later read must come from the same caller, or from an auditor.
    caller = models.CharField(max_length=64, db_index=True)
    caller_label = models.CharField(max_length=200, blank=True, default="")
    question = models.TextField()
    timezone = models.CharField(max_length=64)
    asked_now = models.DateTimeField()
    # The scope as it was resolved at the start: ids of mailboxes and folders, window, version.
    scope = models.JSONField()
    filters = models.JSONField(default=dict)
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

    class Meta:
        indexes = [models.Index(fields=["tenant", "-started_at"], name="run_by_time")]

    def __str__(self) -> str:
        return self.public_id


class RunState(models.Model):
    """The part of a run that changes while it lives."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"
        CANCELLED = "cancelled"
        INTERRUPTED = "interrupted"

    run = models.OneToOneField(Run, models.PROTECT, primary_key=True, related_name="state")
    tenant = models.ForeignKey(Tenant, models.PROTECT)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.QUEUED)
    cancel_requested = models.BooleanField(default=False)
    # The process that drives the run renews this; one that died leaves it to run out.
    leased_until = models.DateTimeField(null=True)
    # The tenant's day that the run counts for and what it holds of that day, until it ends.
    counted_on = models.DateField(null=True)
    reserved_tokens = models.BigIntegerField(default=0)
    reserved_cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)


class RunRow(models.Model):
    """What every audit row of a run carries."""

    tenant = models.ForeignKey(Tenant, models.PROTECT)
    run = models.ForeignKey(Run, models.PROTECT, related_name="%(class)ss")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


class TraceEvent(RunRow):
    """One event of the loop, in order. `data` is JSON of the event without mail text; evidence has rows of its own."""

    seq = models.PositiveIntegerField()
    at_ms = models.PositiveIntegerField()
    phase = models.CharField(max_length=10, blank=True, default="")
    step = models.PositiveSmallIntegerField(null=True)
    # asked replied called found drafted verified cut finished
    event = models.CharField(max_length=12)
    data = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="trace_event_once")]


class Evidence(RunRow):
    """A message as a tool returned it in this run, kept as it was."""

    seq = models.PositiveIntegerField()
    label = models.CharField(max_length=12)
    # Public id: the row must outlive the message, and must not keep it.
    message_id = models.CharField(max_length=40, db_index=True)
    # The head and the shown excerpts, as the response shows them.
    head = models.JSONField()
    excerpts = models.JSONField()
    found_by = models.JSONField(default=list)
    text_sha256 = models.CharField(max_length=64)

    class Meta:
        verbose_name_plural = "evidence"
        indexes = [models.Index(fields=["run", "seq"], name="evidence_by_run")]


class Sentence(RunRow):
    """One unit of a draft, kept or removed. `round` counts drafts; `final` marks the draft that counted."""

    round = models.PositiveSmallIntegerField()
    final = models.BooleanField(default=False)
    position = models.PositiveIntegerField()
    drafted = models.TextField()
    text = models.TextField()
    kept = models.BooleanField()
    structural = models.BooleanField(default=False)
    support = models.CharField(max_length=10, blank=True, default="")
    reason = models.CharField(max_length=30, blank=True, default="")
    detail = models.JSONField(default=dict)
    qualified = models.BooleanField(default=False)
    translated = models.BooleanField(default=False)
    later_message = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["tenant", "kept", "reason"], name="sentence_by_reason")]


class Citation(RunRow):
    """Where a kept sentence is grounded: a message, and a span of its stored text where a quote was verified."""

    sentence = models.ForeignKey(Sentence, models.PROTECT, related_name="citations")
    label = models.CharField(max_length=12)
    message_id = models.CharField(max_length=40)
    part = models.CharField(max_length=60)
    page = models.PositiveIntegerField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    quote = models.TextField(blank=True, default="")
    context = models.TextField(blank=True, default="")
    relayed_by = models.TextField(blank=True, default="")
    said_by = models.TextField(blank=True, default="")


class WidenAttempt(RunRow):
    """An argument that would have reached beyond the caller's scope. It had no effect."""

    kind = models.CharField(max_length=20)
    step = models.PositiveSmallIntegerField(null=True)
    tool = models.CharField(max_length=40)
    argument = models.CharField(max_length=100)
    requested = models.TextField()
    effective = models.TextField(null=True)
    # Public ids of the messages that the model had read just before.
    read_before = ArrayField(models.CharField(max_length=40), default=list)


class CallerAttempt(models.Model):
    """A widen attempt outside of any run: of a caller who calls the tools itself. It had no effect."""

    tenant = models.ForeignKey(Tenant, models.PROTECT)
    at = models.DateTimeField(db_default=Now())
    caller = models.CharField(max_length=64)
    caller_label = models.CharField(max_length=200, blank=True, default="")
    kind = models.CharField(max_length=20)
    tool = models.CharField(max_length=40)
    argument = models.CharField(max_length=100)
    requested = models.TextField()
    effective = models.TextField(null=True)

    class Meta:
        indexes = [models.Index(fields=["tenant", "-at"], name="caller_attempt_by_time")]


class RunFinished(RunRow):
    """How a run ended."""

    outcome = models.CharField(max_length=24)
    reason = models.CharField(max_length=60, blank=True, default="")
    answer_text = models.TextField(null=True)
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

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run"], name="a_run_ends_once")]


class AdminAct(models.Model):
    """A recorded act on keys, grants, quarantine or policies: who did what, and why."""

    tenant = models.ForeignKey(Tenant, models.PROTECT)
    at = models.DateTimeField(db_default=Now())
    actor = models.CharField(max_length=200)
    act = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)
    reason = models.TextField(blank=True, default="")


class IdempotencyKey(models.Model):
    """Which run a caller's Idempotency-Key started, and with which body."""

    tenant = models.ForeignKey(Tenant, models.CASCADE)
    caller = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    body_sha256 = models.CharField(max_length=64)
    run = models.ForeignKey(Run, models.PROTECT)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["caller", "key"], name="idempotency_key_once_per_caller")]


class Note(models.Model):
    """A person's note on a widen attempt or a removed sentence: added, never changed."""

    tenant = models.ForeignKey(Tenant, models.PROTECT)
    at = models.DateTimeField(db_default=Now())
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    sentence = models.ForeignKey(Sentence, models.PROTECT, null=True, blank=True, related_name="notes")
    widen_attempt = models.ForeignKey(WidenAttempt, models.PROTECT, null=True, blank=True, related_name="notes")
    # rightly wrongly unsure seen
    verdict = models.CharField(max_length=10)
    text = models.TextField(blank=True, default="")
