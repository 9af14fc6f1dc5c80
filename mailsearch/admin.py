"""The store's side of the admin: tenants and where their mail comes from."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from mailsearch.models import Mailbox, MailSource, Tenant


class SetUpBySuperusers(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """What is set up once: seen and changed by superusers, deleted by nobody here."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_superuser", False))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Tenant)
class TenantAdmin(SetUpBySuperusers):
    list_display = ("slug", "name", "timezone", "may_leave", "evaluation", "created_at")
    search_fields = ("slug", "name")


@admin.register(Mailbox)
class MailboxAdmin(SetUpBySuperusers):
    list_display = ("slug", "tenant", "address", "authserv_id")
    list_filter = ("tenant",)


@admin.register(MailSource)
class MailSourceAdmin(SetUpBySuperusers):
    """How sources do. They are added by `manage.py add_source`: token commands run on this machine."""

    list_display = ("location", "tenant", "mailbox", "kind", "state", "last_sync_at", "error")
    list_filter = ("state", "kind", "tenant")
    search_fields = ("location", "mailbox__slug")
    list_select_related = ("tenant", "mailbox")
    # Secrets stand in a table of their own, which no page reads.
    fields = (
        "location",
        "tenant",
        "mailbox",
        "tls",
        "login",
        "secret_env",
        "ca_file",
        "state",
        "last_sync_at",
        "error",
    )
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)
