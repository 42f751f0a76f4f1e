"""The screens for looking around, checking and moving in bulk. All under /admin/tasks/."""

from __future__ import annotations

from apps.tasks.screens import audit, calendar, exchange, explain, lists

urlpatterns = [*calendar.urlpatterns, *explain.urlpatterns, *lists.urlpatterns, *exchange.urlpatterns, *audit.urlpatterns]
