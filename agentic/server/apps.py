from django.contrib.admin.apps import AdminConfig


class AuditedAdminConfig(AdminConfig):
    """Django's admin with our site, which binds each page to the audit that its reader may see."""

    default_site = "agentic.admin_site.AuditedSite"
