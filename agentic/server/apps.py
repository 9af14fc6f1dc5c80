from django.contrib.admin.apps import AdminConfig
from django.contrib.admin.sites import site
from django.utils.module_loading import autodiscover_modules


class AuditedAdminConfig(AdminConfig):
    """Django's admin with our site, which binds each page to the audit that its reader may see."""

    default_site = "agentic.admin_site.AuditedSite"

    def ready(self) -> None:
        super().ready()
        autodiscover_modules("key_admin", register_to=site)
