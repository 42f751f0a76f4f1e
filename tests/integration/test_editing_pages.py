"""What the editing pages do with what is posted: two tabs, what was changed since, clones; and what the list costs and filters."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import msgspec
import pytest
from django.conf import settings
from django.db import connections
from django.http import HttpResponse
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.tasks.models import Draft, Task
from apps.tasks.publishing.live import live_configuration
from deploy.local.private_stack import PrivateStack
from tests.stack.published import publish_tasks, task

Fields = dict[str, str | list[str]]
HOST = {"HTTP_HOST": "127.0.0.1"}


@pytest.fixture(autouse=True)
def static_files_as_they_are() -> Iterator[None]:
    """Without the collected files' names, which only a web process has."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}):
        yield


@pytest.fixture
def client(django_on_stack: PrivateStack) -> Client:
    from django.contrib.auth import get_user_model

    account = get_user_model().objects.create_superuser(f"editor-{secrets.token_hex(4)}", password=secrets.token_urlsafe(12))
    client = Client(**HOST)
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    return client


def fields_in(answer: HttpResponse, form: str = "task-form") -> Fields:
    """What a browser would send for the form as it was answered, without pressing a button."""
    page = answer.content.decode()
    body = page[page.index(f'id="{form}"') :]
    body = body[: body.index("</form>")]
    fields: Fields = {}
    for tag in re.findall(r"<input[^>]*>", body):
        found = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if found.get("type") in ("checkbox", "radio") and " checked" not in tag:
            continue
        fields[found["name"]] = unescape(found.get("value", "on" if found.get("type") == "checkbox" else ""))
    for name, text in re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>\n?([^<]*)</textarea>', body):
        fields[name] = unescape(text)
    for name, inner in re.findall(r'<select[^>]*name="([^"]*)".*?>(.*?)</select>', body, re.DOTALL):
        chosen = re.findall(r'<option value="([^"]*)" selected', inner) or re.findall(r'<option value="([^"]*)"', inner)[:1]
        fields[name] = unescape(chosen[0]) if chosen else ""
    return fields


def address_of(code: str) -> str:
    return f"/admin/tasks/task/{code}/"


@pytest.fixture
def live(django_on_stack: PrivateStack) -> Any:
    """A task with something in every part of its form."""
    document = task(f"edited-{secrets.token_hex(4)}", points=10, weight=3)
    publish_tasks(document)
    return document


def drafted(code: str) -> Any:
    from apps.tasks.publishing import drafts

    draft = Draft.objects.filter(items__key=code).latest("pk")
    return drafts.configuration_of(draft).tasks[code]


def test_a_form_that_is_saved_unchanged_changes_nothing(client: Client, live: Any) -> None:
    client.post(address_of(live.code), {**fields_in(client.get(address_of(live.code))), "save": "1"})

    assert not Draft.objects.filter(items__key=live.code).exists()


def test_two_tabs_of_one_draft_do_not_overwrite_each_other(client: Client, live: Any) -> None:
    first, second = (fields_in(client.get(address_of(live.code))) for _tab in range(2))
    client.post(address_of(live.code), {**first, "points": "20", "save": "1"})

    refused = client.post(address_of(live.code), {**second, "weight": "9", "save": "1"})

    assert refused.status_code == 200
    assert "after you opened it here" in refused.content.decode()
    assert drafted(live.code).points == 20
    assert drafted(live.code).weight == 3
    # Told of it, the operator keeps his own.
    client.post(address_of(live.code), {**fields_in(refused), "save": "1"})
    assert (drafted(live.code).points, drafted(live.code).weight) == (10, 9)


def test_tabs_with_different_tasks_do_not_get_into_each_others_way(client: Client, live: Any) -> None:
    other = task(f"beside-{secrets.token_hex(4)}", points=10)
    publish_tasks(other)
    forms = {code: fields_in(client.get(address_of(code))) for code in (live.code, other.code)}

    for code, form in forms.items():
        assert client.post(address_of(code), {**form, "points": "20", "save": "1"}).status_code == 302

    assert (drafted(live.code).points, drafted(other.code).points) == (20, 20)


def test_a_row_that_is_added_does_not_forget_what_the_form_was_filled_in_upon(client: Client, live: Any) -> None:
    form = fields_in(client.get(address_of(live.code)))
    publish_tasks(msgspec.structs.replace(live, points=77))

    with_row = fields_in(client.post(address_of(live.code), {**form, "add": "conditions:new"}))
    client.post(address_of(live.code), {**with_row, "weight": "5", "save": "1"})

    # The points of the newer revision are nobody's edit here: they stay, and nothing conflicts.
    from apps.tasks.publishing import drafts

    draft = Draft.objects.filter(items__key=live.code).latest("pk")
    assert with_row["seen"] == form["seen"]
    assert drafts.conflicts_of(draft) == []
    assert (drafted(live.code).points, drafted(live.code).weight) == (77, 5)


def test_a_code_that_is_taken_is_refused(client: Client, live: Any) -> None:
    form = fields_in(client.get(f"/admin/tasks/new-task/?from={live.code}"))

    answer = client.post("/admin/tasks/new-task/", {**form, "code": live.code, "save": "1"})

    assert "a task with this code already" in answer.content.decode()


def test_a_clone_has_everything_but_the_code(client: Client, live: Any) -> None:
    code = f"clone-{secrets.token_hex(4)}"
    address = f"/admin/tasks/new-task/?from={live.code}"

    client.post(address, {**fields_in(client.get(address)), "code": code, "save": "1"})

    assert drafted(code) == msgspec.structs.replace(live, code=code)


def test_a_page_of_the_list_takes_as_many_queries_for_many_tasks_as_for_few(client: Client, live: Any) -> None:
    mark = secrets.token_hex(4)
    publish_tasks(*(task(f"few-{mark}-{number}") for number in range(3)), *(task(f"many-{mark}-{number}") for number in range(40)))

    def queries(text: str) -> tuple[int, int]:
        client.get(f"/admin/tasks/task/?q={text}-{mark}")
        with CaptureQueriesContext(connections["default"]) as captured:
            page = client.get(f"/admin/tasks/task/?q={text}-{mark}").content.decode()
        return len(captured), page.count("field-shown_name")

    few, many = queries("few"), queries("many")

    assert (few[1], many[1]) == (3, 40)
    assert few[0] == many[0]


@pytest.mark.parametrize("warning", ["starts_soon", "ends_soon", "no_traffic", "cap_near"])
def test_the_list_is_filtered_by_what_it_warns_of(client: Client, stack: PrivateStack, warning: str) -> None:
    mark, now = secrets.token_hex(4), timezone.now()
    publish_tasks(
        task(f"a-{mark}", starts_at=now + timedelta(days=3)),
        task(f"b-{mark}", ends_at=now + timedelta(days=3)),
        task(f"c-{mark}", caps=msgspec.convert({"total": 10}, type(task().caps))),
    )
    capped = Task.objects.get(code=f"c-{mark}")
    stack.master.execute(
        "REPLACE INTO task_traffic (instance, task_id, day, started, completed) VALUES (%s, %s, %s, 9, 8)",
        "tasksys_user",
        ("a", capped.pk, now.date()),
    )

    page = client.get(f"/admin/tasks/task/?q={mark}&warning={warning}").content.decode()

    shown = {code for code in (f"a-{mark}", f"b-{mark}", f"c-{mark}") if f"/task/{code}/" in page}
    wanted: dict[str, Callable[[], set[str]]] = {
        "starts_soon": lambda: {f"a-{mark}"},
        "ends_soon": lambda: {f"b-{mark}"},
        "no_traffic": lambda: {f"b-{mark}"},
        "cap_near": lambda: {f"c-{mark}"},
    }
    assert shown == wanted[warning]()


def test_an_archived_task_stands_in_no_list_unless_it_is_asked_for(client: Client, live: Any) -> None:
    publish_tasks(msgspec.structs.replace(live, archived=True))

    assert f"/task/{live.code}/" not in client.get(f"/admin/tasks/task/?q={live.code}").content.decode()
    assert f"/task/{live.code}/" in client.get(f"/admin/tasks/task/?q={live.code}&state=archived").content.decode()
    assert live_configuration().tasks[live.code].archived


def test_many_tasks_are_archived_at_once_in_the_draft_with_a_row_for_each_in_the_audit_log(client: Client) -> None:
    from apps.tasks.models import AuditEntry

    mark = secrets.token_hex(4)
    publish_tasks(*(task(f"old-{mark}-{number}") for number in range(3)))
    numbers = list(Task.objects.filter(code__startswith=f"old-{mark}").values_list("pk", flat=True))

    client.post("/admin/tasks/task/", {"action": "archive_in_draft", "_selected_action": numbers})

    assert all(drafted(f"old-{mark}-{number}").archived for number in range(3))
    assert not any(live_configuration().tasks[f"old-{mark}-{number}"].archived for number in range(3))
    assert AuditEntry.objects.filter(action="save", key__startswith=f"old-{mark}").count() == 3
