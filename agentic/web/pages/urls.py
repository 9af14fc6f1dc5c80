"""The addresses of the pages."""

from django.urls import path

from agentic.web.pages import (
    asking,
    exports,
    messages,
    record_pages,
    review_pages,
    run_pages,
    settings_pages,
    signing_in,
    usage,
    widen_pages,
)

urlpatterns = [
    path("", signing_in.home, name="home"),
    path("sign-in", signing_in.sign_in, name="sign-in"),
    path("sign-out", signing_in.sign_out, name="sign-out"),
    path("tenant", signing_in.choose_tenant, name="choose-tenant"),
    path("ask", asking.ask, name="ask"),
    path("runs", run_pages.runs, name="runs-page"),
    path("runs/<str:run>", run_pages.run, name="run-page"),
    path("runs/<str:run>/export", exports.run, name="run-export"),
    path("audit/accesses", record_pages.accesses, name="accesses"),
    path("audit/acts", record_pages.acts, name="acts"),
    path("audit/export/<str:what>.<str:form>", exports.audit, name="audit-export"),
    path("runs/<str:run>/events", asking.events, name="run-page-events"),
    path("runs/<str:run>/cancel", asking.cancel, name="run-page-cancel"),
    path("review", review_pages.review, name="review"),
    path("review/rates", review_pages.review_rates, name="review-rates"),
    path("review/verdict", review_pages.verdict, name="review-verdict"),
    path("widen-attempts", widen_pages.widen_attempts, name="widen-attempts"),
    path("widen-attempts/seen", widen_pages.seen, name="widen-seen"),
    path("settings", settings_pages.settings, name="tenant-settings"),
    path("settings/defaults", settings_pages.of_tenant, name="settings-defaults"),
    path("settings/change", settings_pages.change_settings, name="settings-change"),
    path("settings/of/<slug:slug>", settings_pages.of_tenant, name="settings-of"),
    path("settings/of/<slug:slug>/what-if", settings_pages.rehearse, name="settings-what-if"),
    path("usage", usage.usage, name="usage-page"),
    path("messages/<str:message>", messages.message, name="message-page"),
    path("messages/<str:message>/raw", messages.raw, name="message-page-raw"),
    path("messages/<str:message>/quarantine", messages.quarantine, name="message-page-quarantine"),
]
