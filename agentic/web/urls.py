"""The addresses of the API, below `/v1/`."""

from django.urls import path, re_path

from agentic.web import (
    account_api,
    audit_api,
    description,
    intake_api,
    mail_api,
    messages_api,
    runs_api,
    search_api,
    verify_api,
)
from agentic.web.views import NowhereView

urlpatterns = [
    path("openapi.json", description.openapi, name="openapi"),
    path("docs", description.page, name="docs"),
    path("problems", description.problem_page, name="problems"),
    path("search", search_api.SearchView.as_view(), name="search"),
    path("runs", runs_api.RunsView.as_view(), name="runs"),
    path("runs/<str:run>", runs_api.RunView.as_view(), name="run"),
    path("runs/<str:run>/events", runs_api.EventsView.as_view(), name="run-events"),
    path("runs/<str:run>/cancel", runs_api.CancelView.as_view(), name="run-cancel"),
    path("messages", messages_api.MessagesView.as_view(), name="messages"),
    path("messages/<str:message>", mail_api.MessageView.as_view(), name="message"),
    path("messages/<str:message>/raw", mail_api.RawMessageView.as_view(), name="message-raw"),
    path("messages/<str:message>/related", mail_api.RelatedView.as_view(), name="message-related"),
    path("threads/<str:thread>", mail_api.ThreadView.as_view(), name="thread"),
    path("attachments/<str:attachment>", mail_api.AttachmentView.as_view(), name="attachment"),
    path("attachments/<str:attachment>/file", mail_api.AttachmentFileView.as_view(), name="attachment-file"),
    path("contacts", mail_api.ContactsView.as_view(), name="contacts"),
    path("messages/<str:message>/quarantine", intake_api.QuarantineView.as_view(), name="message-quarantine"),
    path("audit/<str:what>", audit_api.ExportView.as_view(), name="audit"),
    path("verify", verify_api.VerifyView.as_view(), name="verify"),
    path("me", account_api.MeView.as_view(), name="me"),
    path("usage", account_api.UsageView.as_view(), name="usage"),
    re_path("", NowhereView.as_view(), name="nowhere"),
]
