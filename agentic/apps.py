from django.apps import AppConfig


class AgenticConfig(AppConfig):
    name = "agentic"
    default_auto_field = "django.db.models.BigAutoField"
