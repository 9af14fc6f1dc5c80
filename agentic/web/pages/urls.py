"""The addresses of the pages."""

from django.urls import path

from agentic.web.pages import signing_in

urlpatterns = [
    path("", signing_in.home, name="home"),
    path("sign-in", signing_in.sign_in, name="sign-in"),
    path("sign-out", signing_in.sign_out, name="sign-out"),
    path("tenant", signing_in.choose_tenant, name="choose-tenant"),
]
