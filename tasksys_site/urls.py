"""Which address leads where."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path

from apps.dbsvr.diff.metrics import metrics as diff_metrics
from apps.dbsvr.sweeps.metrics import metrics as sweeps_metrics
from apps.tasks.api.documentation import ApiDocumentation, ApiSchema
from apps.tasks.api.views import no_such_endpoint
from apps.tasks.people.views import change_own_password, choose_language, operator_settings
from apps.tasks.points.metrics import metrics as points_metrics
from tasksys_site.pages import favicon, healthz, home

urlpatterns = [
    path("", home, name="home"),
    path("healthz", healthz, name="healthz"),
    path("metrics/diff", diff_metrics, name="diff-metrics"),
    path("metrics/sweeps", sweeps_metrics, name="sweeps-metrics"),
    path("metrics/points", points_metrics, name="points-metrics"),
    path("favicon.ico", favicon),
    path("admin/tasks/", include("apps.tasks.screens.more_urls")),
    path("admin/tasks/", include("apps.tasks.screens.edit_urls")),
    path("admin/me/", admin.site.admin_view(operator_settings), name="operator-settings"),
    path("admin/password_change/", admin.site.admin_view(change_own_password, cacheable=True)),
    path("admin/", admin.site.urls),
    path("i18n/setlang/", choose_language, name="set_language"),
    path("api/v1/", include("apps.tasks.api.urls")),
    path("api/schema/", ApiSchema.as_view(), name="schema"),
    path("api/docs/", ApiDocumentation.as_view(), name="api-docs"),
    re_path(r"^api/", no_such_endpoint),
    path("console/cache/", include("apps.cachesync.console.urls")),
    path("console/diff/", include("apps.dbsvr.console.diff.urls")),
    path("console/", include("apps.dbsvr.console.urls")),
]

handler403 = "apps.tasks.people.access.forbidden_page"
handler500 = "tasksys_site.pages.server_error"
