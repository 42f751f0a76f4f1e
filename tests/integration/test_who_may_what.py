"""Every page that needs a login: which role may use it, by which method. A page without a line here fails the test.

A line says which permission each method needs; which roles have it is in `people.roles`. Each role's operator then asks for each page:
he gets it, or a refusal that names who may.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from django.conf import settings
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver, get_resolver

from apps.tasks.people.roles import (
    ADD_DRAFT,
    CHANGE_DRAFT,
    CHANGE_POINTS,
    DELETE_DRAFT,
    EXPLAIN_USER,
    KILL_TASK,
    PUBLISH_DRAFT,
    REPAIR_REPLICA,
    REVIEW_DRAFT,
    ROLES,
    VIEW_AUDIT,
    VIEW_DRAFT,
    VIEW_POINTS,
    VIEW_REVISION,
    VIEW_TASK,
)
from deploy.local.private_stack import PrivateStack

OPERATOR = "any operator"
ADMINISTRATOR = "an administrator alone"
NOBODY = "nobody at all"
EDIT_OR_PUBLISH = (CHANGE_DRAFT, PUBLISH_DRAFT)

Needed = str | tuple[str, ...]


class Page(NamedTuple):
    get: Needed | None = None
    post: Needed | None = None


def look(permission: Needed) -> Page:
    return Page(get=permission)


def both(permission: Needed) -> Page:
    return Page(permission, permission)


def do(permission: Needed) -> Page:
    return Page(post=permission)


PAGES: dict[str, Page] = {
    # Everybody who is logged in
    "admin:index": both(OPERATOR),
    "admin:search": both(OPERATOR),
    "admin:jsi18n": look(OPERATOR),
    "admin:app_list": both(OPERATOR),
    "admin:password_change": both(OPERATOR),
    "admin:password_change_done": look(OPERATOR),
    "operator-settings": both(OPERATOR),
    # The console
    "console:overview": look(OPERATOR),
    "console:now": look(OPERATOR),
    "console:series": look(OPERATOR),
    "console:table": look(OPERATOR),
    "console:csv": look(OPERATOR),
    "console:close-five-minutes": do(OPERATOR),
    "cache:nodes": look(OPERATOR),
    "cache:add": do(ADMINISTRATOR),
    "cache:change": both(ADMINISTRATOR),
    # Points
    "tasks-points": look(VIEW_POINTS),
    "tasks-points-pause": do(CHANGE_POINTS),
    "tasks-points-rate": do(CHANGE_POINTS),
    "tasks-points-grants": look(VIEW_POINTS),
    "tasks-points-resend": do(CHANGE_POINTS),
    "tasks-points-days": look(VIEW_POINTS),
    "tasks-points-compare": do(CHANGE_POINTS),
    # Replica diff
    "diff:runs": look(OPERATOR),
    "diff:runs-now": look(OPERATOR),
    "diff:all-runs": look(OPERATOR),
    "diff:run": look(OPERATOR),
    "diff:run-now": look(OPERATOR),
    "diff:differences": look(OPERATOR),
    "diff:outcome": look(OPERATOR),
    "diff:outcome-now": look(OPERATOR),
    "diff:start": do(REPAIR_REPLICA),
    "diff:change": do(REPAIR_REPLICA),
    "diff:recheck": do(REPAIR_REPLICA),
    "diff:preview": do(REPAIR_REPLICA),
    "diff:repair": do(REPAIR_REPLICA),
    "diff:use": both(REPAIR_REPLICA),
    # Tasks, drafts, revisions
    "admin:tasks_task_changelist": both(VIEW_TASK),
    "tasks-task": Page(VIEW_TASK, CHANGE_DRAFT),
    "tasks-task-new": both(CHANGE_DRAFT),
    "tasks-task-codes": look(VIEW_TASK),
    "tasks-task-switch": both(KILL_TASK),
    "tasks-calendar": look(VIEW_TASK),
    "tasks-drafts": look(VIEW_DRAFT),
    "tasks-draft-open": do(ADD_DRAFT),
    "tasks-draft-leave": do(VIEW_TASK),
    "tasks-draft": look(VIEW_DRAFT),
    "tasks-item-revert": do(CHANGE_DRAFT),
    "tasks-draft-check": do(CHANGE_DRAFT),
    "tasks-draft-ask": do(CHANGE_DRAFT),
    "tasks-draft-approve": do(REVIEW_DRAFT),
    "tasks-draft-send-back": do(REVIEW_DRAFT),  # and the draft's own editor, who is another one here
    "tasks-draft-resolve": do(CHANGE_DRAFT),
    "tasks-draft-discard": do(DELETE_DRAFT),
    "tasks-draft-enter": do(CHANGE_DRAFT),
    "tasks-draft-publish": both(PUBLISH_DRAFT),
    "tasks-draft-cancel": do(PUBLISH_DRAFT),
    "tasks-revisions": look(VIEW_REVISION),
    "tasks-revision": look(VIEW_REVISION),
    "tasks-roll-back": both(EDIT_OR_PUBLISH),
    "tasks-attributes": look(VIEW_TASK),
    "tasks-attribute": Page(VIEW_TASK, CHANGE_DRAFT),
    "tasks-attribute-new": both(CHANGE_DRAFT),
    "tasks-attribute-remove": do(CHANGE_DRAFT),
    "tasks-events": look(VIEW_TASK),
    "tasks-event": Page(VIEW_TASK, CHANGE_DRAFT),
    "tasks-event-new": both(CHANGE_DRAFT),
    "tasks-event-remove": do(CHANGE_DRAFT),
    "tasks-templates": look(CHANGE_DRAFT),
    "tasks-lists": look(VIEW_TASK),
    "tasks-list": look(VIEW_TASK),
    "tasks-list-new": both(CHANGE_DRAFT),
    "tasks-list-contents": do(CHANGE_DRAFT),
    "tasks-list-remove": do(CHANGE_DRAFT),
    "tasks-exchange": look(VIEW_TASK),
    "tasks-export-json": look(VIEW_TASK),
    "tasks-export-csv": look(VIEW_TASK),
    "tasks-exchange-dry-run": do(CHANGE_DRAFT),
    "tasks-exchange-take": do(CHANGE_DRAFT),
    # Looking closer
    "tasks-list-users": look(EXPLAIN_USER),
    "tasks-explain": look(EXPLAIN_USER),
    "tasks-audit": look(VIEW_AUDIT),
    "tasks-audit-csv": look(VIEW_AUDIT),
    "tasks-audit-entry": look(VIEW_AUDIT),
    # Accounts and keys
    "admin:auth_user_password_change": both(ADMINISTRATOR),
    "admin:tasks_apikey_revoke_this": both(ADMINISTRATOR),
    **{
        f"admin:{model}_{page}": both(ADMINISTRATOR)
        for model in ("auth_user", "auth_group", "tasks_apikey")
        for page in ("changelist", "add", "history", "change", "delete")
    },
    "admin:tasks_apikey_delete": both(NOBODY),  # keys are revoked
}

NO_PAGES = {
    "admin:login": "is for those who are not logged in",
    "admin:logout": "anybody may leave",
    "admin:autocomplete": "answers for a form's field, by the permission on what is looked up; no form here has one",
    "admin:view_on_site": "leads from an object to its page; none here has one",
    # Of the admin's own task pages the list alone is used: tasks are changed in drafts.
    "admin:tasks_task_add": "",
    "admin:tasks_task_change": "",
    "admin:tasks_task_delete": "",
    "admin:tasks_task_history": "",
}


def named_pages() -> dict[str, URLPattern]:
    """Every named address under /admin/ and /console/, on whichever module it was put."""

    def walk(patterns: list[Any], route: str, names: str) -> Iterator[tuple[str, URLPattern]]:
        for pattern in patterns:
            here = route + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                inner = f"{names}{pattern.namespace}:" if pattern.namespace else names
                yield from walk(pattern.url_patterns, here, inner)
            elif pattern.name and here.startswith(("admin/", "console/")):
                yield names + pattern.name, pattern

    return dict(walk(get_resolver().url_patterns, "", ""))


@pytest.fixture(autouse=True)
def pages_in_this_process(django_on_stack: PrivateStack, stack: PrivateStack) -> Iterator[None]:
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}):
        yield


@pytest.fixture(scope="module")
def operators(django_on_stack: PrivateStack) -> dict[str, Any]:
    """One for each role, one without any, and the administrator."""
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group

    users, tag = get_user_model().objects, secrets.token_hex(4)
    made = {role: users.create_user(f"{role}-{tag}", is_staff=True) for role in (*ROLES, "nobody")}
    for role in ROLES:
        made[role].groups.set([Group.objects.get(name=role)])
    made["administrator"] = users.create_superuser(f"administrator-{tag}")
    return made


@pytest.fixture(scope="module")
def clients(operators: dict[str, Any]) -> dict[str, Client]:
    """Each operator's browser; he is logged in once."""
    clients = {role: Client(raise_request_exception=False) for role in operators}
    for role, client in clients.items():
        client.force_login(operators[role], backend="django.contrib.auth.backends.ModelBackend")
    return clients


@pytest.fixture(scope="module")
def address_of(operators: dict[str, Any]) -> Iterator[Callable[[str], str]]:
    """The address of a page, with something real to be about; a new draft each time, as a deed may end it."""
    from django.contrib.auth.models import Group
    from django.urls import reverse

    from apps.cachesync.models import DRAINING, CacheNode
    from apps.dbsvr.diff.models import DiffRun
    from apps.tasks.config.documents import Attribute, EventType, UserList
    from apps.tasks.keys import create_api_key
    from apps.tasks.models import AuditEntry
    from apps.tasks.publishing.drafts import open_draft
    from apps.tasks.publishing.lists import store
    from tests.stack import published

    tag = secrets.token_hex(4)
    attribute, event = Attribute(name=f"level_{tag}", type="number"), EventType(name=f"event_{tag}")
    task = published.task(f"who-may-{tag}")
    contents = store([7])
    listed = UserList(name=f"list-{tag}", sha256=contents.sha256, count=contents.count)
    revision = published.publish_tasks(task, attribute, event, listed)
    key, _text = create_api_key(f"who may {tag}", ["read"])
    group = Group.objects.create(name=f"who-may-{tag}")
    # Not one that other tests use: a deed that is allowed is done.
    run = DiffRun.objects.create(replica="r1", schema="tasksys_user", table=f"who_may_{tag}", state="ended")
    node = CacheNode.objects.create(name=f"who-may-{tag}", url="redis://127.0.0.1:1/0", state=DRAINING, changed_at=0)

    def arguments(name: str) -> dict[str, Any]:
        accounts = {"auth_user": operators["nobody"].pk, "auth_group": group.pk, "tasks_apikey": key.pk}
        for model, pk in accounts.items():
            if name.startswith(f"admin:{model}_") and not name.endswith(("_changelist", "_add")):
                return {"id" if name.endswith("password_change") else "object_id": pk}
        if (name.startswith("tasks-draft-") and name not in ("tasks-draft-open", "tasks-draft-leave")) or name == "tasks-draft":
            return {"number": open_draft(operators["administrator"]).pk}
        match name:
            case "tasks-item-revert":
                return {"number": open_draft(operators["administrator"]).pk, "kind": "task", "key": task.code}
            case "tasks-task" | "tasks-task-switch":
                return {"code": task.code}
            case "tasks-revision" | "tasks-roll-back":
                return {"number": revision.number}
            case "tasks-attribute" | "tasks-attribute-remove":
                return {"name": attribute.name}
            case "tasks-event" | "tasks-event-remove":
                return {"name": event.name}
            case "tasks-list" | "tasks-list-users" | "tasks-list-contents" | "tasks-list-remove":
                return {"name": listed.name}
            case "tasks-audit-entry":
                return {"number": AuditEntry.objects.order_by("-id").values_list("id", flat=True)[0]}
            case "console:table" | "console:csv":
                return {"key": "throughput"}
            case "diff:run" | "diff:run-now":
                return {"number": run.pk}
            case "diff:change":
                return {"number": run.pk, "change": "pause"}
            case "diff:differences":
                return {"replica": "r1"}
            case "diff:use":
                return {"replica": "r1", "change": "hold"}  # asks for a reason, and does nothing without
            case "cache:change":
                return {"name": node.name, "change": "drain"}
            case "admin:app_list":
                return {"app_label": "tasks"}
        return {}

    yield lambda name: reverse(name, kwargs=arguments(name))
    node.delete()
    run.delete()


def alternatives(needed: Needed) -> tuple[str, ...]:
    return (needed,) if isinstance(needed, str) else needed


def may(role: str, needed: Needed) -> bool:
    if needed in (OPERATOR, NOBODY):
        return needed == OPERATOR
    if role == "administrator":
        return True
    return any(permission in ROLES.get(role, ()) for permission in alternatives(needed))


def test_every_page_has_its_line_and_every_line_its_page() -> None:
    assert named_pages().keys() - PAGES.keys() - NO_PAGES.keys() == set(), "say in PAGES who may use it"
    assert (PAGES.keys() | NO_PAGES.keys()) - named_pages().keys() == set()


@pytest.mark.parametrize("name", PAGES)
def test_each_role_gets_the_page_or_is_told_who_may(name: str, clients: dict[str, Client], address_of: Callable[[str], str]) -> None:
    page = PAGES[name]
    for role, client in clients.items():
        for method, needed in (("GET", page.get), ("POST", page.post)):
            answer = client.generic(method, address_of(name))
            where = f"{role}: {method} {name} was answered {answer.status_code}"
            assert answer.status_code < 500, where
            if needed is None:
                assert answer.status_code in (403, 405), where
            elif may(role, needed):
                assert answer.status_code not in (403, 405), where
                assert "/admin/login/" not in answer.headers.get("Location", ""), where
            else:
                assert answer.status_code == 403, where
                assert_names_who_may(answer.content.decode(), needed, where)


def assert_names_who_may(text: str, needed: Needed, where: str) -> None:
    if needed in (ADMINISTRATOR, NOBODY):
        assert "An administrator may." in text, where
        return
    assert "Who may: the roles " in text, where
    roles = text.partition("Who may: the roles ")[2].partition(", and administrators")[0].split(", ")
    wanted = [role for role in ROLES if any(permission in ROLES[role] for permission in alternatives(needed))]
    # Another line's permission may be asked for first (looking, before editing), and a test's own group may have it too.
    assert set(wanted) <= set(roles), where


@pytest.mark.parametrize("name", PAGES)
def test_without_a_login_no_page_is_shown(name: str, address_of: Callable[[str], str]) -> None:
    page = PAGES[name]
    for method in [method for method, needed in (("GET", page.get), ("POST", page.post)) if needed is not None]:
        answer = Client().generic(method, address_of(name))
        is_led_to_the_login = answer.status_code == 302 and "/admin/login/" in answer.headers["Location"]

        assert is_led_to_the_login or answer.status_code == 401 or name == "admin:jsi18n", f"{method} {name}: {answer.status_code}"


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page.post is not None])
def test_a_form_of_another_site_changes_nothing(name: str, operators: dict[str, Any], address_of: Callable[[str], str]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(operators["administrator"], backend="django.contrib.auth.backends.ModelBackend")

    assert client.post(address_of(name)).status_code == 403


def test_the_roles_are_made_with_what_they_are_written_with(django_on_stack: PrivateStack) -> None:
    from django.contrib.auth.models import Group

    for role, permissions in ROLES.items():
        found = Group.objects.get(name=role).permissions.values_list("content_type__app_label", "codename")
        assert {f"{app}.{codename}" for app, codename in found} == permissions


def test_what_an_administrator_made_of_a_role_stays_at_the_next_migration(django_on_stack: PrivateStack) -> None:
    from django.contrib.auth.models import Group, Permission

    viewer = Group.objects.get(name="viewer")
    taken = Permission.objects.get(codename="view_auditentry")
    viewer.permissions.remove(taken)
    try:
        django_on_stack.migrate()

        assert not viewer.permissions.filter(pk=taken.pk).exists()
    finally:
        viewer.permissions.add(taken)
