"""Logins, locks, the zone and language of an operator, and what of it stands in the audit log."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.test import Client, override_settings
from django.utils import timezone

from deploy.local.private_stack import PrivateStack

PASSWORD = secrets.token_urlsafe(12)
OPERATORS_ADDRESS, OTHER_ADDRESS, PROXY = "203.0.113.9", "203.0.113.10", "10.0.0.5"


@pytest.fixture(autouse=True)
def pages_in_this_process() -> Iterator[None]:
    """It has collected no static files; and passwords are hashed here only to be compared, not to withstand anybody."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    quick = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}, PASSWORD_HASHERS=quick):
        yield


@pytest.fixture
def account(django_on_stack: PrivateStack, stack: PrivateStack) -> Any:
    """An operator who may do everything, of the test's own."""
    from django.contrib.auth import get_user_model

    return get_user_model().objects.create_superuser(f"people-{secrets.token_hex(4)}", password=PASSWORD)


@pytest.fixture
def log_in(account: Any) -> Callable[..., Any]:
    def log_in(client: Client | None = None, password: str = PASSWORD, address: str = OPERATORS_ADDRESS, **more: Any) -> Any:
        given = {"username": account.username, "password": password}
        return (client or Client()).post("/admin/login/?next=/admin/", given, REMOTE_ADDR=address, **more)

    return log_in


def entries(key: str) -> list[tuple[str, str, str]]:
    from apps.tasks.models import AuditEntry

    return list(AuditEntry.objects.filter(key=key).order_by("id").values_list("action", "who", "address"))


def fail_until_locked(log_in: Callable[..., Any], **more: Any) -> Any:
    answers = [log_in(password="wrong", **more) for _try in range(settings.AXES_FAILURE_LIMIT)]
    assert [answer.status_code for answer in answers[:-1]] == [200] * (len(answers) - 1)
    return answers[-1]


# Locks


def test_failed_logins_lock_the_account_and_the_page_says_for_how_long(log_in: Callable[..., Any]) -> None:
    answer = fail_until_locked(log_in)

    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) == settings.AXES_COOLOFF_TIME.total_seconds()
    assert "Try again in 15 minutes." in answer.content.decode()
    assert log_in().status_code == 429, "the right password does not open a locked account"


def test_a_lock_is_for_one_address_so_nobody_locks_out_a_colleague(log_in: Callable[..., Any]) -> None:
    fail_until_locked(log_in)

    assert log_in(address=OTHER_ADDRESS).status_code == 302


def test_a_lock_ends_by_itself_and_tries_meanwhile_do_not_prolong_it(log_in: Callable[..., Any]) -> None:
    with time_machine.travel(timezone.now(), tick=True) as clock:
        fail_until_locked(log_in)
        clock.shift(settings.AXES_COOLOFF_TIME - timedelta(minutes=1))
        assert log_in().status_code == 429
        clock.shift(timedelta(minutes=2))

        assert log_in().status_code == 302


def test_a_login_forgets_the_failures_before_it(log_in: Callable[..., Any]) -> None:
    for _try in range(settings.AXES_FAILURE_LIMIT - 1):
        log_in(password="wrong")
    assert log_in().status_code == 302

    assert log_in(password="wrong").status_code == 200


def test_behind_a_proxy_the_address_is_the_clients(log_in: Callable[..., Any], account: Any) -> None:
    with override_settings(PROXIES=(PROXY,)):
        fail_until_locked(log_in, address=PROXY, headers={"X-Forwarded-For": f"127.0.0.1, {OPERATORS_ADDRESS}"})

        assert log_in(address=PROXY, headers={"X-Forwarded-For": f"127.0.0.1, {OTHER_ADDRESS}"}).status_code == 302
    assert entries(account.username)[0][2] == OPERATORS_ADDRESS


def test_a_name_that_nobody_has_is_locked_just_the_same(stack: PrivateStack, django_on_stack: PrivateStack) -> None:
    name = f"nobody-{secrets.token_hex(4)}"
    answers = [Client().post("/admin/login/", {"username": name, "password": "x"}) for _try in range(settings.AXES_FAILURE_LIMIT)]

    assert [answer.status_code for answer in answers] == [200] * (settings.AXES_FAILURE_LIMIT - 1) + [429]


def test_an_administrator_sees_a_lock_and_lifts_it(log_in: Callable[..., Any], account: Any) -> None:
    fail_until_locked(log_in)
    administrator = Client()
    log_in(administrator, address=OTHER_ADDRESS)

    page = administrator.get(f"/admin/auth/user/?q={account.username}").content.decode()
    assert f"locked for {OPERATORS_ADDRESS} until" in page
    administrator.post("/admin/auth/user/", {"action": "unlock_logins", "_selected_action": [account.pk], "index": 0})

    assert log_in().status_code == 302
    assert ("unlocked", account.username) in [entry[:2] for entry in entries(account.username)]


def test_a_request_of_the_api_asks_nothing_about_locks(django_on_stack: PrivateStack, stack: PrivateStack) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as asked:
        Client().get("/api/v1/users/1/tasks", headers={"Authorization": "Api-Key tsk_wrong"})

    assert [query["sql"] for query in asked if "axes" in query["sql"] or "session" in query["sql"] or "auth_user" in query["sql"]] == []


# The audit log


def test_logins_failures_locks_and_logouts_are_noted(log_in: Callable[..., Any], account: Any) -> None:
    client = Client()
    log_in(client)
    client.post("/admin/logout/", REMOTE_ADDR=OPERATORS_ADDRESS)
    fail_until_locked(log_in)
    log_in()  # a try at a locked account: not noted, or the log could be filled with them

    name, failures = account.username, settings.AXES_FAILURE_LIMIT
    wanted = ["login", "logout", *["login_failed"] * failures, "locked"]
    assert sorted(entries(name)) == sorted((action, name, OPERATORS_ADDRESS) for action in wanted)


def test_a_change_of_rights_is_noted_with_before_and_after(log_in: Callable[..., Any], account: Any) -> None:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group

    from apps.tasks.models import AuditEntry

    other = get_user_model().objects.create_user(f"other-{secrets.token_hex(4)}", is_staff=True)
    client = Client()
    log_in(client)
    given = {"username": other.username, "is_active": "on", "groups": [Group.objects.get(name="editor").pk]}
    answer = client.post(f"/admin/auth/user/{other.pk}/change/", given)

    assert answer.status_code == 302, re.findall(r"errorlist.*?</ul>", answer.content.decode(), re.DOTALL)
    entry = AuditEntry.objects.get(key=other.username, action="rights")
    assert (entry.who, entry.before["roles"], entry.after["roles"]) == (account.username, [], ["editor"])


def test_a_new_account_is_an_operators_and_single_rights_are_shown_where_there_are_some(log_in: Callable[..., Any]) -> None:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Permission

    client, name = Client(), f"new-{secrets.token_hex(4)}"
    log_in(client)
    password = secrets.token_urlsafe(14)
    given = {"username": name, "usable_password": "true", "password1": password, "password2": password}
    answer = client.post("/admin/auth/user/add/", given)
    assert answer.status_code == 302, re.findall(r"errorlist.*?</ul>", answer.content.decode(), re.DOTALL)
    made = get_user_model().objects.get(username=name)
    assert (made.is_staff, made.is_superuser) == (True, False)
    assert "Single rights" not in client.get(f"/admin/auth/user/{made.pk}/change/").content.decode()

    made.user_permissions.add(Permission.objects.get(codename="kill_task"))
    assert "Single rights" in client.get(f"/admin/auth/user/{made.pk}/change/").content.decode()


def test_who_gives_roles_without_being_an_administrator_cannot_make_or_touch_one(log_in: Callable[..., Any], account: Any) -> None:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Permission

    users, tag = get_user_model().objects, secrets.token_hex(4)
    clerk, other = users.create_user(f"clerk-{tag}", is_staff=True), users.create_user(f"colleague-{tag}", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(content_type__model="user", content_type__app_label="auth"))
    client = Client()
    client.force_login(clerk, backend="django.contrib.auth.backends.ModelBackend")

    answer = client.post(f"/admin/auth/user/{other.pk}/change/", {"username": other.username, "is_active": "on", "is_superuser": "on"})
    other.refresh_from_db()
    assert (answer.status_code, other.is_superuser) == (302, False)
    assert client.post(f"/admin/auth/user/{account.pk}/change/", {"username": account.username}).status_code == 403
    assert client.get(f"/admin/auth/user/{account.pk}/password/").status_code == 403
    assert client.get(f"/admin/auth/user/{account.pk}/delete/").status_code == 403


def test_what_a_role_may_is_noted_too(log_in: Callable[..., Any], account: Any) -> None:
    from django.contrib.auth.models import Permission

    from apps.tasks.models import AuditEntry

    client, name = Client(), f"role-{secrets.token_hex(4)}"
    log_in(client)
    kill = Permission.objects.get(codename="kill_task")
    client.post("/admin/auth/group/add/", {"name": name, "permissions": [kill.pk]})

    entry = AuditEntry.objects.get(key=name)
    assert (entry.kind, entry.action, entry.before, entry.after) == ("group", "rights", None, {"permissions": ["tasks.kill_task"]})


def test_a_new_password_is_noted_and_never_kept(log_in: Callable[..., Any], account: Any) -> None:
    client, new = Client(), secrets.token_urlsafe(14)
    log_in(client)
    given = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}

    assert client.post("/admin/password_change/", given).status_code == 302
    assert entries(account.username)[-1][:2] == ("password", account.username)
    from apps.tasks.models import AuditEntry

    assert not [row for row in AuditEntry.objects.filter(key=account.username).values_list("before", "after", "note") if new in str(row)]


# Zone and language


def test_an_operator_reads_in_his_zone_and_language_after_every_login(log_in: Callable[..., Any], account: Any) -> None:
    client = Client()
    log_in(client)
    assert client.post("/admin/me/", {"time_zone": "Asia/Shanghai", "language": "zh-hans"}).status_code == 302

    elsewhere = Client()
    log_in(elsewhere)
    page = elsewhere.get("/admin/me/").content.decode()

    assert 'lang="zh-hans"' in page
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d Asia/Shanghai", page)
    moment = re.search(r'<time datetime="([^"]+)\+00:00">\d{4}-\d\d-\d\d (\d\d)', page)
    assert moment is not None
    assert (int(moment[1][11:13]) + 8) % 24 == int(moment[2])


def test_the_next_operator_at_the_same_browser_reads_in_his_own_zone(log_in: Callable[..., Any], account: Any) -> None:
    client = Client()
    log_in(client)
    client.post("/admin/me/", {"time_zone": "Asia/Shanghai", "language": ""})
    from django.contrib.auth import get_user_model

    other = get_user_model().objects.create_superuser(f"next-{secrets.token_hex(4)}", password=PASSWORD)
    client.post("/admin/logout/")
    client.post("/admin/login/", {"username": other.username, "password": PASSWORD})

    assert "Asia/Shanghai</a>" not in client.get("/admin/me/").content.decode()


def test_a_language_chosen_in_passing_is_there_at_the_next_login(log_in: Callable[..., Any], account: Any) -> None:
    client = Client()
    log_in(client)
    client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/admin/"})

    elsewhere = Client()
    log_in(elsewhere)

    assert 'lang="zh-hans"' in elsewhere.get("/admin/").content.decode()


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "x" * 65, "<b>", ""])
def test_a_cookie_that_names_no_zone_changes_nothing(log_in: Callable[..., Any], zone: str) -> None:
    client = Client()
    log_in(client)
    client.cookies["tasksys_zone"] = zone

    assert f"{settings.TIME_ZONE}</a>" in client.get("/admin/").content.decode()


def test_a_zone_that_does_not_exist_is_refused_at_its_field(log_in: Callable[..., Any]) -> None:
    client = Client()
    log_in(client)

    answer = client.post("/admin/me/", {"time_zone": "Mars/Olympus", "language": ""})

    assert answer.status_code == 200
    assert "Mars/Olympus" in answer.content.decode()


# Sessions and cookies


def test_the_cookies_are_for_this_site_alone_and_the_session_ends(log_in: Callable[..., Any]) -> None:
    client = Client()
    session = log_in(client).cookies[settings.SESSION_COOKIE_NAME]

    assert session["httponly"]
    assert session["samesite"] == "Lax"
    assert session["max-age"] == 12 * 3600
    assert not session["secure"], "the test's stack is served by plain http"


def test_a_page_without_a_login_asks_no_database_whatever_its_cookies_say(django_on_stack: PrivateStack) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = Client()
    client.cookies["tasksys_zone"] = "Asia/Shanghai"
    with CaptureQueriesContext(connection) as asked:
        client.get("/")

    assert len(asked) == 0


# Migrations


def test_the_models_are_as_the_migrations_make_them(django_on_stack: PrivateStack) -> None:
    from django.core.management import call_command

    call_command("makemigrations", "--check", "--dry-run", verbosity=1)
