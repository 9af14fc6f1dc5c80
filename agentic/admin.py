"""The admin: tenants with their limits. Runs, sentences and widen attempts have pages of their own (web/pages)."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from agentic.models import AgentPolicy
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


@admin.register(AgentPolicy)
class AgentPolicyAdmin(TenantSettingsAdmin):
    """The limits of tenants. They have a page of their own, where each change has a reason and a history."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return redirect("tenant-settings")

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        policy = self.get_object(request, unquote(object_id)) if object_id else None
        if policy is None:
            raise Http404
        return redirect("settings-of", policy.tenant.slug) if policy.tenant else redirect("settings-defaults")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
