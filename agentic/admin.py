"""The admin: tenants with their limits. Runs, sentences and widen attempts have pages of their own (web/pages)."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from agentic import run_page
from agentic.models import AdminAct, AgentPolicy
from agentic.reviewers import administered_tenants

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin
else:
    # Only the stubs know Django's admin classes as generic.
    class ModelAdmin(admin.ModelAdmin):
        def __class_getitem__(cls, _: object) -> type:
            return cls


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
