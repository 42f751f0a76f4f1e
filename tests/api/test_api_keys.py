"""Who may call: keys, scopes, and how fast a revoked key dies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from apps.tasks.demo import demo_configuration
from deploy.local.private_stack import PrivateStack
from tests.api.conftest import Caller
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

TASKS = "/api/v1/users/42/tasks"


@pytest.mark.parametrize(
    "header",
    [
        "Api-Key",
        "Api-Key ",
        "Api-Key nonsense",
        "Api-Key tsk_aaaaaaaa_" + "x" * 32,
        "Bearer abc",
        "Basic YTpi",
        "nonsense",
        "Api-Key \xff",
        " ",
    ],
)
def test_a_key_that_is_none_opens_nothing(keys: dict[str, str], stack: PrivateStack, header: str) -> None:
    caller = Caller(None)

    status, problem = caller.call("GET", TASKS, headers={"Authorization": header})

    assert (status, problem["code"]) == (401, "not_authenticated")
    assert caller.headers["WWW-Authenticate"] == "Api-Key"


def test_without_a_key_the_header_is_named(keys: dict[str, str], stack: PrivateStack) -> None:
    status, problem = Caller(None).call("GET", TASKS)

    assert (status, problem["pointer"]) == (401, "header/Authorization")


def test_the_scheme_is_read_without_regard_to_case(keys: dict[str, str], stack: PrivateStack) -> None:
    assert Caller(None).call("GET", TASKS, headers={"Authorization": f"api-key {keys['read']}"})[0] == 200


@pytest.mark.parametrize(
    ("scope", "statuses"),
    [("read", (200, 403, 403)), ("write", (403, 200, 403)), ("admin", (403, 403, 200)), ("all", (200, 200, 200))],
)
def test_a_key_may_do_what_its_scopes_say(
    keys: dict[str, str], stack: PrivateStack, uid: int, make_task: Callable[..., Any], scope: str, statuses: tuple[int, int, int]
) -> None:
    caller, code = Caller(keys[scope]), make_task().code

    answers = [caller.tasks(uid), caller.complete(uid, code, "e1"), caller.forget(uid, "e2")]

    assert tuple(status for status, _body in answers) == statuses
    assert all(body["code"] == "scope_missing" for status, body in answers if status == 403)


def test_a_revoked_key_dies_within_two_seconds_in_every_process(web: WebProcess, stack: PrivateStack) -> None:
    from apps.tasks.keys import create_api_key, revoke_api_key

    key, text = create_api_key("soon revoked", ["read"])
    here = Caller(text)
    eventually(lambda: here.tasks(42)[0] == 200)
    eventually(lambda: status_over_http(web, text) == 200)

    revoke_api_key(key)

    eventually(lambda: here.tasks(42)[0] == 401 and status_over_http(web, text) == 401, within_s=6)  # three times its two seconds


def test_the_first_day_of_use_is_written_down(stack: PrivateStack, keys: dict[str, str]) -> None:
    from django.utils import timezone

    from apps.tasks.keys import create_api_key

    key, text = create_api_key("used", ["read"])
    assert key.last_used_on is None
    eventually(lambda: Caller(text).tasks(42)[0] == 200)

    def is_written() -> bool:
        key.refresh_from_db()
        return key.last_used_on == timezone.now().date()

    eventually(is_written, within_s=3)


def test_a_request_queries_no_database_of_the_web(api: Caller, uid: int) -> None:
    """The keys and the tasks are held by the process: what is asked per request is the DBSvr alone."""
    from django.db import connections
    from django.test.utils import CaptureQueriesContext

    api.tasks(uid)
    with CaptureQueriesContext(connections["default"]) as configuration, CaptureQueriesContext(connections["userdata"]) as users:
        assert api.tasks(uid)[0] == 200

    assert (len(configuration), len(users)) == (0, 0)


def test_a_key_made_on_the_command_line_opens(stack: PrivateStack, keys: dict[str, str], tmp_path: Path) -> None:
    printed = stack.manage("create_api_key", "from a script", "--scopes", "read", "write").strip()
    stack.manage("create_api_key", "into a file", "--file", str(tmp_path / "key"))

    eventually(lambda: Caller(printed).tasks(42)[0] == 200, within_s=3)
    eventually(lambda: Caller((tmp_path / "key").read_text().strip()).tasks(42)[0] == 200, within_s=3)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_the_demo_is_loaded_once(stack: PrivateStack, keys: dict[str, str], tmp_path: Path) -> None:
    from apps.tasks.models import ApiKey
    from apps.tasks.publishing.live import live_configuration, live_number

    file = str(tmp_path / "demo-api-key")
    stack.manage("load_demo", "--key-file", file)
    key, number = Path(file).read_text(), live_number()
    stack.manage("load_demo", "--key-file", file)

    assert live_number() == number
    assert live_configuration().tasks.keys() >= demo_configuration(datetime.now(timezone.utc)).tasks.keys()
    assert Path(file).read_text() == key
    assert ApiKey.objects.filter(name="demo").count() == 1


def status_over_http(web: WebProcess, key: str) -> int:
    import urllib.error
    import urllib.request

    request = urllib.request.Request(web.address + TASKS, headers={"Authorization": f"Api-Key {key}"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
