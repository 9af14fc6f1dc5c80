"""The admin: tenants with their limits, runs with trace and evidence, removed sentences and widen attempts."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from agentic import run_page
from agentic.models import AdminAct, AgentPolicy, CallerAttempt, Run, RunFinished, Sentence, WidenAttempt
from agentic.reviewers import administered_tenants, audited_tenants

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin
else:
    # Only the stubs know Django's admin classes as generic.
    class ModelAdmin(admin.ModelAdmin):
        def __class_getitem__(cls, _: object) -> type:
            return cls


class AuditAdmin(ModelAdmin[Any]):
    """Rows of the audit: for auditors and administrators of their tenants, and for nobody to change."""

    class Media:
        css = {"all": ("audit/lists.css",)}

    list_per_page = 50
    show_full_result_count = False

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(audited_tenants(request.user))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(audited_tenants(request.user))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class OutcomeFilter(admin.SimpleListFilter):
    """Runs by how they ended."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(code, words) for code, words in run_page.OUTCOMES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        if not self.value():
            return queryset
        return queryset.filter(pk__in=RunFinished.objects.filter(outcome=self.value()).values("run_id"))


@admin.register(Run)
class RunAdmin(AuditAdmin):
    """Every question that was asked, and on its page how it was answered."""

    list_display = ("started_at", "tenant", "question_start", "outcome", "seconds", "steps", "model", "caller_label")
    list_display_links = ("started_at", "question_start")
    list_filter = (OutcomeFilter, "tenant", "model", "started_at")
    search_fields = ("question", "public_id")
    ordering = ("-started_at",)
    change_form_template = "admin/agentic/run/page.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return super().get_queryset(request).select_related("tenant").prefetch_related("runfinisheds")

    @admin.display(description="question")
    def question_start(self, run: Run) -> str:
        return run.question if len(run.question) <= 90 else run.question[:89] + "…"

    @admin.display(description="outcome")
    def outcome(self, run: Run) -> str:
        end = run_page.end_of(run)
        return run_page.OUTCOMES.get(end.outcome, end.outcome) if end else "not finished"

    @admin.display(description="seconds")
    def seconds(self, run: Run) -> str:
        end = run_page.end_of(run)
        return f"{end.seconds:.2f} of {run.max_seconds:g}" if end else ""

    @admin.display(description="steps")
    def steps(self, run: Run) -> str:
        end = run_page.end_of(run)
        return f"{end.steps} of {run.max_steps}" if end else ""

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        run = self.get_object(request, object_id)
        page = run_page.of(run, request.user) if run else None
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})


@admin.register(Sentence)
class SentenceAdmin(AuditAdmin):
    """Sentences that verification took out, and beside them those that it let stand."""

    list_display = ("at", "tenant", "verdict", "reason", "drafted", "detail_words", "run_link")
    list_display_links = ("at",)
    list_filter = ("kept", "reason", "support", "tenant", "final", "at")
    search_fields = ("drafted",)
    ordering = ("-at", "position")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Sentence]:
        return super().get_queryset(request).select_related("tenant", "run").filter(structural=False)

    @admin.display(description="verdict")
    def verdict(self, sentence: Sentence) -> str:
        return f"✓ kept ({sentence.support})" if sentence.kept else "✗ removed"

    @admin.display(description="detail")
    def detail_words(self, sentence: Sentence) -> str:
        return run_page.detail_words(sentence.detail)

    @admin.display(description="run")
    def run_link(self, sentence: Sentence) -> str:
        return run_page.link(sentence.run)


@admin.register(WidenAttempt)
class WidenAttemptAdmin(AuditAdmin):
    """Arguments that would have reached beyond the caller's scope. None had an effect."""

    list_display = ("at", "tenant", "kind", "tool", "argument", "requested", "effective_words", "run_link")
    list_display_links = ("at",)
    list_filter = ("kind", "tool", "tenant", "at")
    search_fields = ("requested", "argument")
    ordering = ("-at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WidenAttempt]:
        return super().get_queryset(request).select_related("tenant", "run")

    @admin.display(description="effective")
    def effective_words(self, attempt: WidenAttempt) -> str:
        return attempt.effective if attempt.effective is not None else "nothing"

    @admin.display(description="run")
    def run_link(self, attempt: WidenAttempt) -> str:
        return run_page.link(attempt.run)


@admin.register(CallerAttempt)
class CallerAttemptAdmin(AuditAdmin):
    """The same of callers who call the tools themselves, outside of any run."""

    list_display = ("at", "tenant", "caller_label", "kind", "tool", "argument", "requested", "effective")
    list_display_links = ("at",)
    list_filter = ("kind", "tool", "tenant", "at")
    search_fields = ("requested", "argument", "caller_label")
    ordering = ("-at",)


class TenantSettingsAdmin(ModelAdmin[Any]):
    """Settings of tenants: for administrators of each, and for superusers who set tenants up."""

    tenant_field = "tenant_id"

    def _tenants(self, request: HttpRequest) -> frozenset[int]:
        return administered_tenants(request.user)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        if getattr(request.user, "is_superuser", False):
            return rows
        return rows.filter(**{f"{self.tenant_field}__in": self._tenants(request)})

    def _may(self, request: HttpRequest, obj: Any = None) -> bool:
        if getattr(request.user, "is_superuser", False):
            return True
        tenants = self._tenants(request)
        return bool(tenants) if obj is None else getattr(obj, self.tenant_field) in tenants

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._may(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_superuser", False))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


_BUDGETS = ("agentic_max_steps", "agentic_max_seconds")
_CAPS = ("agentic_daily_cap", "agentic_daily_tokens", "agentic_daily_cost_usd", "agentic_key_share")
_LIMITS = (*_BUDGETS, *_CAPS, "verification", "removed_text", "model_judge")


@admin.register(AgentPolicy)
class AgentPolicyAdmin(TenantSettingsAdmin):
    """The budgets by tenant. An empty field inherits; the row without a tenant holds the defaults of all."""

    list_display = ("tenant_words", *_LIMITS, "in_force", "used_today", "updated_at")
    list_editable = (*_BUDGETS, *_CAPS)
    list_select_related = ("tenant",)
    search_fields = ("tenant__slug",)
    fields = ("tenant", *_LIMITS)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("tenant",) if obj else ()

    @admin.display(description="tenant", ordering="tenant__slug")
    def tenant_words(self, policy: AgentPolicy) -> str:
        return policy.tenant.slug if policy.tenant else "(defaults of all tenants)"

    @admin.display(description="in force")
    def in_force(self, policy: AgentPolicy) -> str:
        return run_page.in_force(policy)

    @admin.display(description="used today")
    def used_today(self, policy: AgentPolicy) -> str:
        return run_page.used_today(policy)

    def save_model(self, request: HttpRequest, obj: AgentPolicy, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.changed_data and obj.tenant_id:
            before = {name: str(form.initial.get(name)) for name in form.changed_data}
            after = {name: str(form.cleaned_data.get(name)) for name in form.changed_data}
            AdminAct.objects.create(
                tenant_id=obj.tenant_id,
                actor=f"user:{request.user.pk}",
                act="policy-changed",
                detail={"before": before, "after": after},
            )
