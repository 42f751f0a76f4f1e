"""Which address leads where."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path

from apps.tasks.api.documentation import ApiDocumentation, ApiSchema
from apps.tasks.api.views import NoSuchEndpoint
from tasksys_site.pages import favicon, healthz, home

urlpatterns = [
    path("", home, name="home"),
    path("healthz", healthz, name="healthz"),
    path("favicon.ico", favicon),
    path("admin/tasks/", include("apps.tasks.screens.more_urls")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/v1/", include("apps.tasks.api.urls")),
    path("api/schema/", ApiSchema.as_view(), name="schema"),
    path("api/docs/", ApiDocumentation.as_view(), name="api-docs"),
    re_path(r"^api/", NoSuchEndpoint.as_view()),
    path("console/cache/", include("apps.cachesync.console.urls")),
    path("console/", include("apps.dbsvr.console.urls")),
]

handler500 = "tasksys_site.pages.server_error"
