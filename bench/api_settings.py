"""Tasksys's settings, and the views to compare with at addresses of their own."""

from __future__ import annotations

from tasksys_site.settings import *  # noqa: F403

ROOT_URLCONF = "bench.api_views"
