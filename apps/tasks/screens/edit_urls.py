"""The screens for changing the configuration. All under /admin/tasks/."""

from __future__ import annotations

from apps.tasks.screens import draft_pages, publish_pages, registry_pages, revision_pages, switch_page, task_pages

urlpatterns = [
    *task_pages.urlpatterns,
    *switch_page.urlpatterns,
    *draft_pages.urlpatterns,
    *publish_pages.urlpatterns,
    *revision_pages.urlpatterns,
    *registry_pages.urlpatterns,
]
