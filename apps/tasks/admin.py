"""The admin's pages for operators: tasks and API keys. Users and groups are in `people.admin`."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import action, display

from apps.tasks.forms import NewApiKeyForm
from apps.tasks.keys import digest, new_key_text, prefix_of, revoke_api_key
from apps.tasks.models import ApiKey, Task
from apps.tasks.moments import say_moment
from apps.tasks.people import admin as people_admin  # noqa: F401  # registers accounts and roles
from apps.tasks.screens.task_list import TaskAdmin

admin.site.register(Task, TaskAdmin)


LIMIT_FIELDS = ("requests_per_s", "burst")


@admin.register(ApiKey)
class ApiKeyAdmin(ModelAdmin):  # type: ignore[misc]
    list_display = ("name", "shown_prefix", "shown_scopes", "shown_limit", "shown_state", "shown_created_at", "last_used_on")
    search_fields = ("name", "prefix")
    actions = ("revoke",)
    actions_detail = ("revoke_this",)

    @display(description=_("begins with"))
    def shown_prefix(self, key: ApiKey) -> SafeString:
        return format_html("<code>{}…</code>", key.prefix)

    @display(description=_("may"), label=True)
    def shown_scopes(self, key: ApiKey) -> list[str]:
        return list(key.scopes)

    @display(description=_("state"), label={"valid": "success", "revoked": "danger"})
    def shown_state(self, key: ApiKey) -> tuple[str, Any]:
        return ("valid", _("valid")) if key.revoked_at is None else ("revoked", _("revoked"))

    @display(description=_("requests a second"), ordering="requests_per_s")
    def shown_limit(self, key: ApiKey) -> str:
        return "–" if key.requests_per_s is None else str(key.requests_per_s)

    @display(description=_("created at"), ordering="created_at")
    def shown_created_at(self, key: ApiKey) -> str:
        return say_moment(key.created_at)

    @display(description=_("revoked at"))
    def shown_revoked_at(self, key: ApiKey) -> str:
        return say_moment(key.revoked_at) or "–"

    def get_form(self, request: HttpRequest, obj: ApiKey | None = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, **({**kwargs, "form": NewApiKeyForm} if obj is None else kwargs))

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("name", "scopes", *LIMIT_FIELDS)
        return (
            "name",
            *LIMIT_FIELDS,
            "shown_prefix",
            "shown_scopes",
            "shown_state",
            "shown_created_at",
            "shown_revoked_at",
            "last_used_on",
        )

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> tuple[str, ...]:
        """A key's rights never change: who needs others gets another key. How often it may ask does."""
        return () if obj is None else self.get_fields(request, obj)[1 + len(LIMIT_FIELDS) :]

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        text = new_key_text()
        obj.prefix, obj.sha256 = prefix_of(text), digest(text)
        super().save_model(request, obj, form, change)
        messages.warning(
            request,
            format_html("{} <code class='break-all font-semibold'>{}</code>", _("Copy this key now, it will not be shown again:"), text),
        )

    @action(description=_("Revoke"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for key in queryset:
            self._revoke(request, key)

    @action(description=_("Revoke"), permissions=["change"], icon="block")
    def revoke_this(self, request: HttpRequest, object_id: str) -> HttpResponse:
        from django.shortcuts import get_object_or_404, redirect

        self._revoke(request, get_object_or_404(ApiKey, pk=object_id))
        return redirect("admin:tasks_apikey_changelist")

    def _revoke(self, request: HttpRequest, key: ApiKey) -> None:
        revoke_api_key(key)
        self.log_change(request, key, [{"changed": {"fields": ["revoked_at"]}}])
        messages.success(request, _("“%(name)s” is revoked. It stops working within two seconds.") % {"name": key.name})

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Keys are revoked, not deleted: who could do what, and until when, stays known."""
        return False
