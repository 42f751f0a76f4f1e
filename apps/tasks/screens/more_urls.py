"""The screens for looking around, checking and moving in bulk. All under /admin/tasks/."""

from __future__ import annotations

from apps.tasks.screens import audit, calendar, exchange, explain, gallery, lists, points

urlpatterns = [
    *calendar.urlpatterns,
    *explain.urlpatterns,
    *gallery.urlpatterns,
    *lists.urlpatterns,
    *exchange.urlpatterns,
    *audit.urlpatterns,
    *points.urlpatterns,
]
