"""The addresses of the page Cache."""

from __future__ import annotations

from django.urls import path

from apps.cachesync.console import views

app_name = "cache"

urlpatterns = [
    path("", views.nodes, name="nodes"),
    path("add", views.add, name="add"),
    path("<slug:name>/<slug:change>", views.change, name="change"),
]
