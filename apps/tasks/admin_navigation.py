"""What stands in the admin's sidebar."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Groups of links; who lacks the permission does not see the link."""

    def may_see(permission: str) -> Any:
        return lambda request: request.user.has_perm(permission)

    def link(title: Any, icon: str, address: Any, permission: str | None = None) -> dict[str, Any]:
        item = {"title": title, "icon": icon, "link": address}
        return {**item, "permission": may_see(permission)} if permission else item

    return [
        {
            "title": _("Tasks"),
            "items": [
                link(_("Tasks"), "task_alt", reverse_lazy("admin:tasks_task_changelist"), "tasks.view_task"),
                link(_("Drafts"), "edit_note", reverse_lazy("tasks-drafts"), "tasks.view_draft"),
                link(_("Revisions"), "history", reverse_lazy("tasks-revisions"), "tasks.view_revision"),
                link(_("Templates"), "dashboard_customize", reverse_lazy("tasks-templates"), "tasks.change_draft"),
                link(_("Calendar"), "calendar_month", reverse_lazy("tasks-calendar"), "tasks.view_task"),
                link(_("Explain a user"), "person_search", reverse_lazy("tasks-explain"), "tasks.explain_user"),
                link(_("Lists of users"), "group_add", reverse_lazy("tasks-lists"), "tasks.view_task"),
                link(_("Attributes"), "badge", reverse_lazy("tasks-attributes"), "tasks.view_task"),
                link(_("Event types"), "bolt", reverse_lazy("tasks-events"), "tasks.view_task"),
                link(_("Points"), "toll", reverse_lazy("tasks-points"), "tasks.view_pointsprovider"),
                link(_("Import and export"), "swap_vert", reverse_lazy("tasks-exchange"), "tasks.view_task"),
                link(_("Audit log"), "receipt_long", reverse_lazy("tasks-audit"), "tasks.view_auditentry"),
                link(_("API keys"), "key", reverse_lazy("admin:tasks_apikey_changelist"), "tasks.view_apikey"),
            ],
        },
        {
            "title": _("People"),
            "separator": True,
            "items": [
                link(_("Users"), "person", reverse_lazy("admin:auth_user_changelist"), "auth.view_user"),
                link(_("Groups"), "group", reverse_lazy("admin:auth_group_changelist"), "auth.view_group"),
            ],
        },
        {
            "title": _("Elsewhere"),
            "separator": True,
            "items": [
                link(_("Console"), "monitoring", "/console/"),
                link(_("API"), "api", reverse_lazy("api-docs")),
            ],
        },
    ]
