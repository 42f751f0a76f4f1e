"""The pages for accounts and roles: Django's own in the theme's dress, locks shown and lifted, each change of rights noted."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin
from unfold.decorators import action, display
from unfold.forms import AdminPasswordChangeForm, UserCreationForm

from apps.tasks.moments import say_moment
from apps.tasks.people.audit import DELETED, GROUP, PASSWORD, UNLOCKED, note, note_rights, rights_of
from apps.tasks.people.forms import OperatorForm
from apps.tasks.people.locks import lock_of, recent_failures, unlock

admin.site.unregister(User)
admin.site.unregister(Group)


class RightsNoted(ModelAdmin):  # type: ignore[misc]
    """Accounts and groups: what they may is compared before and after they are saved, many-to-many rows included."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        form.rights_before = rights_of(self.model.objects.get(pk=obj.pk)) if change else None
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        note_rights(form.instance, form.rights_before, request)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self._note_deletion(request, obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for each in queryset:
            self._note_deletion(request, each)
        super().delete_queryset(request, queryset)

    def _note_deletion(self, request: HttpRequest, obj: User | Group) -> None:
        if isinstance(obj, Group):
            note(DELETED, obj.name, kind=GROUP, before=rights_of(obj), request=request)
        else:
            note(DELETED, obj.get_username(), before=rights_of(obj), request=request)


@admin.register(User)
class OperatorAdmin(UserAdmin, RightsNoted):  # type: ignore[misc, type-arg]
    form = OperatorForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "shown_roles", "shown_state", "shown_last_login")
    list_filter = ("groups", "is_active", "is_superuser")
    actions = ("unlock_logins",)
    filter_horizontal = ()
    readonly_fields = ("shown_last_login", "shown_state_now")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("What he may"), {"fields": ("groups", "is_superuser", "is_active")}),
        (_("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (_("Logins"), {"fields": ("shown_state_now", "shown_last_login")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups").annotate(failed_logins=recent_failures())

    @display(description=_("roles"))
    def shown_roles(self, user: User) -> str:
        names = [group.name for group in user.groups.all()]
        return ", ".join([str(_("administrator")), *names] if user.is_superuser else names) or "–"

    @display(description=_("state"), label={"active": "success", "locked": "danger", "inactive": "default"})
    def shown_state(self, user: User) -> tuple[str, Any]:
        if not user.is_active or not user.is_staff:
            return "inactive", _("cannot log in")
        lock = lock_of(user.get_username()) if user.failed_logins else None  # type: ignore[attr-defined]  # a query for few rows, not for each
        if lock is not None:
            return "locked", _("locked for %(address)s until %(until)s") % {"address": lock.address, "until": say_moment(lock.until)}
        return "active", _("active")

    @display(description=_("state"))
    def shown_state_now(self, user: User) -> str:
        return str(self.shown_state(user)[1])

    @display(description=_("last login"), ordering="last_login")
    def shown_last_login(self, user: User) -> str:
        return say_moment(user.last_login) or "–"

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Rights come with roles. Single ones are shown where an account has some, so that they can be taken away."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or not obj.user_permissions.exists():
            return fieldsets
        single = (_("Single rights, beside the roles"), {"fields": ("user_permissions",)})
        return (*fieldsets, single)

    @action(description=_("Unlock"), permissions=["change"], icon="lock_open")
    def unlock_logins(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        unlocked = 0
        for user in queryset:
            if unlock(user.get_username()):
                note(UNLOCKED, user.get_username(), request=request)
                unlocked += 1
        messages.success(request, ngettext("%(count)d account unlocked.", "%(count)d accounts unlocked.", unlocked) % {"count": unlocked})

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        obj.is_staff = True  # every account is an operator's; what he may, his roles say
        super().save_model(request, obj, form, change)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Who administers accounts without being a superuser gives roles, not power that he lacks himself."""
        fields = tuple(super().get_readonly_fields(request, obj))
        return fields if request.user.is_superuser else (*fields, "is_superuser", "user_permissions")  # type: ignore[union-attr]

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and _may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_touch(request, obj)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        answer: HttpResponse = super().user_change_password(request, id, form_url)
        if request.method == "POST" and answer.status_code == 302:
            user = self.get_object(request, id)
            note(PASSWORD, user.get_username() if user else id, request=request)
        return answer


@admin.register(Group)
class RoleAdmin(GroupAdmin, RightsNoted):  # type: ignore[misc, type-arg]
    pass


def _may_touch(request: HttpRequest, obj: User | None) -> bool:
    """A superuser's account is touched by superusers: with his password one would be he."""
    return obj is None or not obj.is_superuser or request.user.is_superuser  # type: ignore[union-attr]
