"""The budgets of tenants, and what changes while runs live. What is written down for good is in agentic/tables.py."""

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now

from agentic.attempts import SignInAttempt as SignInAttempt
from agentic.payloads import ErasedText as ErasedText
from agentic.payloads import PayloadText as PayloadText
from agentic.samples import SampledNote as SampledNote
from agentic.tables import AccessLog as AccessLog
from agentic.tables import AdminAct as AdminAct
from agentic.tables import CallerAttempt as CallerAttempt
from agentic.tables import ChainedRow as ChainedRow
from agentic.tables import Citation as Citation
from agentic.tables import Evidence as Evidence
from agentic.tables import Note as Note
from agentic.tables import Run as Run
from agentic.tables import RunFinished as RunFinished
from agentic.tables import Sentence as Sentence
from agentic.tables import TraceEvent as TraceEvent
from agentic.tables import WidenAttempt as WidenAttempt
from agentic.tables import run_public_id as run_public_id
from agentic.tenant_chain import Seal as Seal
from agentic.tenant_chain import TenantChain as TenantChain
from mailsearch.models import Tenant


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
    audit_text_days = models.PositiveIntegerField(
        "audit.text_days",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(36_500)],
        help_text="Days after which the words of runs are deleted (manage.py retain); what happened stays on record,"
        " without the words. Default: they are kept.",
    )
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
