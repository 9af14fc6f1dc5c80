"""Every address of the service."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("agentic.web.pages.urls")),
    path("v1/", include("agentic.web.urls")),
    path("admin/", admin.site.urls),
]
