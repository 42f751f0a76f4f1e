"""The console's addresses."""

from __future__ import annotations

from django.urls import path

from apps.dbsvr.console import history_views, views

app_name = "console"

urlpatterns = [
    path("", views.overview, name="overview"),
    path("now", views.now, name="now"),
    path("five-minutes/close", views.close_five_minutes, name="close-five-minutes"),
    path("series", history_views.series, name="series"),
    path("history/<slug:key>", history_views.table, name="table"),
    path("history/<slug:key>.csv", history_views.csv, name="csv"),
]
