"""The hot read: one round trip to the user's cache node and no query; the same answer whichever way it is asked for."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, quote_plus

import msgspec
from django.http import HttpRequest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tasks.api import reading
from deploy.local.private_stack import PrivateStack
from tests.api.conftest import Caller
from tests.stack import cache_nodes
from tests.stack.published import publish_tasks, texts
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

READS = 20


def test_a_hit_costs_one_command_on_one_node(api: Caller, uid: int, make_task: Callable[..., Any], stack: PrivateStack) -> None:
    make_task()
    cache_nodes.work_off()  # a purge that another test has left unfinished keeps every node out of use
    eventually(lambda: api.tasks(uid)[0] == 200 and _copies(stack, uid) == 1)
    for node in stack.nodes.values():
        with node.client() as client:
            client.config_resetstat()

    for _ in range(READS):
        api.tasks(uid)

    assert _calls(stack, "get") == READS
    assert _calls(stack, "evalsha") + _calls(stack, "eval") + _calls(stack, "set") + _calls(stack, "mget") == 0


def test_the_short_way_and_djangos_own_give_the_same_answer(api: Caller, uid: int, make_task: Callable[..., Any], web: WebProcess) -> None:
    task = make_task()
    path = f"/api/v1/users/{uid}/tasks?lang=zh-hans&status=available"

    def over_http() -> tuple[dict[str, Any], Any]:
        request = urllib.request.Request(web.address + path, headers={"Authorization": f"Api-Key {api.key}", "X-Request-Id": "same"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(answer.headers), json.loads(answer.read())

    eventually(lambda: task.code in {each["code"] for each in over_http()[1]["tasks"]})
    headers, body = over_http()
    _status, expected = api.call("GET", path, headers={"X-Request-Id": "same"})

    assert body == expected
    ours = {name.lower(): value for name, value in api.headers.items()}
    theirs = {name.lower(): value for name, value in headers.items()}
    assert {name: theirs.get(name) for name in ours} == ours
    assert theirs["content-language"] == "zh-hans"


def test_what_is_kept_of_an_answer_goes_with_its_revision(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(texts=texts("Before"))
    assert _name(api, uid, task.code, "en") == "Before"
    assert _name(api, uid, task.code, "en") == "Before"

    from apps.tasks.publishing.live import live_configuration

    publish_tasks(msgspec.structs.replace(live_configuration().tasks[task.code], texts={**texts("After"), "zh-hans": texts("之后")["en"]}))

    eventually(lambda: _name(api, uid, task.code, "en") == "After")
    assert _name(api, uid, task.code, "zh-hans") == "之后"
    assert _name(api, uid, task.code, "en") == "After"


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=4), st.booleans())
def test_a_query_is_read_as_everybody_writes_it(values: dict[str, str], is_form: bool) -> None:
    values = {name.encode("utf-8", "ignore").decode(): value.encode("utf-8", "ignore").decode() for name, value in values.items()}
    query = "&".join(f"{quote_plus(name)}={quote_plus(value, safe='' if is_form else '{}:,=')}" for name, value in values.items())
    request = HttpRequest()
    request.META["QUERY_STRING"] = query

    assert reading.read_query(request) == dict(parse_qsl(query, keep_blank_values=True))


def _name(api: Caller, uid: int, code: str, language: str) -> Any:
    tasks = api.tasks(uid, f"?lang={language}")[1]["tasks"]
    return next(each["name"] for each in tasks if each["code"] == code)


def _copies(stack: PrivateStack, uid: int) -> int:
    found = 0
    for node in stack.nodes.values():
        with node.client() as client:
            found += client.exists(f"c:{{{uid}}}")
    return found


def _calls(stack: PrivateStack, command: str) -> int:
    total = 0
    for node in stack.nodes.values():
        with node.client() as client:
            total += client.info("commandstats").get(f"cmdstat_{command}", {}).get("calls", 0)
    return total
