"""The addresses of the page Replica diff."""

from __future__ import annotations

from django.urls import path, re_path

from apps.dbsvr.console.diff import hold_views, repair_views, views

app_name = "diff"

urlpatterns = [
    path("", views.runs, name="runs"),
    path("now", views.runs_now, name="runs-now"),
    path("all", views.all_runs, name="all-runs"),
    path("start", views.start, name="start"),
    path("runs/<int:number>", views.run, name="run"),
    path("runs/<int:number>/now", views.run_now, name="run-now"),
    path("runs/<int:number>/<slug:change>", views.change, name="change"),
    path("differences/<slug:replica>", views.differences, name="differences"),
    path("recheck", views.recheck, name="recheck"),
    path("preview", repair_views.preview, name="preview"),
    path("repair", repair_views.repair, name="repair"),
    path("outcome", repair_views.outcome, name="outcome"),
    path("outcome/now", repair_views.outcome_now, name="outcome-now"),
    re_path(r"^replicas/(?P<replica>[a-z0-9-]+)/(?P<change>hold|release)$", hold_views.use, name="use"),
]
