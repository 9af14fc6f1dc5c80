from django.apps import AppConfig


class MailsearchConfig(AppConfig):
    name = "mailsearch"
    default_auto_field = "django.db.models.BigAutoField"
