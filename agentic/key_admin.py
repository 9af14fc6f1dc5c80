"""Service keys in the admin: for administrators of each tenant. A token is on one page, once, and kept nowhere."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from agentic.callers import Access, create_key, revoke_key, rotate_key, state_of
from agentic.reviewers import administered_tenants
from mailsearch.models import ApiKey, Folder, Mailbox, Permission, Tenant

_STATES = {"valid": "✓ valid", "expired": "– expired", "revoked": "✗ revoked"}


class KeyForm(forms.Form):
    """What a new key may do and read. What is not chosen is denied."""

    tenant = forms.ModelChoiceField(Tenant.objects.none())
    name = forms.CharField(max_length=200, help_text="What the key is for.")
    permissions = forms.MultipleChoiceField(
        choices=Permission.choices, widget=forms.CheckboxSelectMultiple, help_text="None implies another."
    )
    all_mailboxes = forms.BooleanField(required=False, help_text="All of the tenant's, those to come too.")
    mailboxes = forms.ModelMultipleChoiceField(Mailbox.objects.none(), required=False)
    folders = forms.ModelMultipleChoiceField(Folder.objects.none(), required=False)
    recursive = forms.BooleanField(required=False, help_text="And the folders below those folders.")
    include_junk = forms.BooleanField(required=False, help_text="Junk and trash of its mailboxes, too.")
    expires_at = forms.DateTimeField(required=False, help_text="UTC: 2026-12-31 or 2026-12-31 12:00. Empty: never.")
    reason = forms.CharField(max_length=500, required=False, help_text="Kept with the act.")

    def __init__(self, tenants: frozenset[int], data: Any = None) -> None:
        super().__init__(data)
        chosen: Mapping[str, QuerySet[Any]] = {
            "tenant": Tenant.objects.filter(pk__in=tenants).order_by("slug"),
            "mailboxes": Mailbox.objects.filter(tenant__in=tenants).order_by("tenant__slug", "slug"),
            "folders": Folder.objects.filter(tenant__in=tenants)
            .select_related("mailbox")
            .order_by("mailbox__slug", "path"),
        }
        for name, rows in chosen.items():
            self.fields[name].queryset = rows  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        tenant = given.get("tenant")
        for name in ("mailboxes", "folders"):
            if any(one.tenant_id != getattr(tenant, "pk", None) for one in given.get(name) or ()):
                self.add_error(name, "Choose those of the tenant alone.")
        reads = given.get("all_mailboxes") or given.get("mailboxes") or given.get("folders")
        if not reads and set(given.get("permissions") or ()) - {Permission.AUDIT_READ}:
            self.add_error("mailboxes", "Say what the key may read: mailboxes, folders or all mailboxes.")
        return given


class EndForm(forms.Form):
    """Why a key is rotated or revoked, and how long the old one goes on."""

    overlap = forms.IntegerField(min_value=0, max_value=2160, initial=24, required=False, help_text="Hours.")
    reason = forms.CharField(max_length=500, required=False, help_text="Kept with the act.")


@admin.register(ApiKey)
class KeyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """Keys by tenant, with their last use. Made, rotated and revoked; never changed or deleted."""

    list_display = ("prefix", "name", "tenant", "state", "permission_words", "last_used_at", "expires_at", "created_at")
    list_select_related = ("tenant",)
    list_filter = ("tenant",)
    search_fields = ("prefix", "name")
    ordering = ("tenant__slug", "name", "-created_at")
    fields = (
        "prefix", "name", "tenant", "state", "permission_words", "reads", "created_at", "last_used_at", "expires_at",
        "revoked_at",
    )  # fmt: skip
    readonly_fields = fields
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        keys: QuerySet[ApiKey] = super().get_queryset(request)
        return keys.filter(tenant__in=administered_tenants(request.user)).select_related("grant")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(administered_tenants(request.user))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        tenants = administered_tenants(request.user)
        return bool(tenants) if obj is None else obj.tenant_id in tenants

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(administered_tenants(request.user))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="state")
    def state(self, key: ApiKey) -> str:
        return _STATES[state_of(key)]

    @admin.display(description="may")
    def permission_words(self, key: ApiKey) -> str:
        return ", ".join(key.permissions)

    @admin.display(description="reads")
    def reads(self, key: ApiKey) -> str:
        grant = key.grant
        named = ["all mailboxes, those to come too"] if grant.all_mailboxes else []
        named += [str(one) for one in (*grant.mailboxes.all(), *grant.folders.select_related("mailbox"))]
        return ", ".join(named) or "nothing"

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(f"<int:pk>/{act}/", self.admin_site.admin_view(view), name=f"mailsearch_apikey_{act}")
            for act, view in (("rotate", self.rotate_view), ("revoke", self.revoke_view))
        ]
        return own + super().get_urls()

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = KeyForm(administered_tenants(request.user), request.POST or None)
        if not form.is_valid():
            return self._page(request, "Make a key", "form.html", form=form, act="Make the key")
        given = form.cleaned_data
        access = Access(
            tuple(given["permissions"]),
            given["all_mailboxes"],
            tuple(given["mailboxes"]),
            tuple(given["folders"]),
            given["recursive"],
            given["include_junk"],
        )
        key, token = create_key(
            given["tenant"], given["name"], access, given["expires_at"], actor=_actor(request), reason=given["reason"]
        )
        return self._shown_once(request, key, token)

    def rotate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Put a new key in an old one's place."""
        key, form = self._ended(request, pk)
        if state_of(key) != "valid" or not form.is_valid():
            return self._page(request, f"Rotate {key}", "form.html", form=form, act="Make a new key in its place")
        overlap = timedelta(hours=form.cleaned_data["overlap"] or 0)
        made, token = rotate_key(key, overlap, actor=_actor(request), reason=form.cleaned_data["reason"])
        return self._shown_once(request, made, token)

    def revoke_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """End a key now."""
        key, form = self._ended(request, pk)
        del form.fields["overlap"]
        if not form.is_valid():
            return self._page(request, f"Revoke {key}", "form.html", form=form, act="End the key now")
        revoke_key(key, actor=_actor(request), reason=form.cleaned_data["reason"])
        return redirect(reverse("admin:mailsearch_apikey_changelist"))

    def _ended(self, request: HttpRequest, pk: int) -> tuple[ApiKey, EndForm]:
        key = self.get_queryset(request).filter(pk=pk).select_related("tenant").first()
        if key is None:
            raise Http404
        return key, EndForm(request.POST or None)

    def _shown_once(self, request: HttpRequest, key: ApiKey, token: str) -> HttpResponse:
        return self._page(request, f"The key {key}", "token.html", key=key, token=token)

    def _page(self, request: HttpRequest, title: str, template: str, **more: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "title": title, "opts": self.opts, **more}
        return TemplateResponse(request, f"admin/mailsearch/apikey/{template}", context)


def _actor(request: HttpRequest) -> str:
    return f"user:{request.user.pk}"
