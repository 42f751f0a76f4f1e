"""Profiles of an external system, as a logic server meets them: a web process of its own, which is told where they come from."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from apps.cachesync.scripts import FORGOTTEN
from apps.cachesync.scripts import keys as keys_on_node
from apps.tasks.config.documents import Attribute, Condition, EventType, Feed
from deploy.local.ports import free_ports
from deploy.local.private_stack import PrivateStack
from tests.stack import published
from tests.stack.cache_nodes import work_off
from tests.stack.profile_system import TOKEN, ProfileSystem
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

TIMEOUT_MS = 1_500


class Server:
    """One logic server at the web process."""

    def __init__(self, address: str, key: str) -> None:
        self._address = address
        self._key = key

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Api-Key {self._key}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self._address + path, data, headers, method=method), timeout=30) as answer:
            return dict(json.load(answer))

    def state(self, uid: int, code: str) -> str:
        every = "available,in_progress,completed,claimable,claimed,unavailable"
        tasks = self.ask("GET", f"/api/v1/users/{uid}/tasks?status={every}")["tasks"]
        return str(next(task["state"] for task in tasks if task["code"] == code))

    def check(self, uid: int, code: str, attributes: dict[str, object] | None = None) -> dict[str, Any]:
        """How explain sees the task's one condition."""
        found = self.ask("POST", "/api/v1/explain", {"uid": uid, "tasks": [code], "attributes": attributes or {}})
        (only,) = [check for check in found["tasks"][0]["checks"] if check["check"] == "condition"]
        return dict(only)


@pytest.fixture(scope="module")
def system() -> Iterator[ProfileSystem]:
    system = ProfileSystem().start()
    yield system
    system.behave()
    system.stop()


@pytest.fixture(scope="module")
def server(django_on_stack: PrivateStack, keys: dict[str, str], system: ProfileSystem) -> Iterator[Server]:
    token = django_on_stack.directory / "profiles-token"
    token.write_text(TOKEN)
    told = {"URL": system.url, "TOKEN_FILE": str(token), "TIMEOUT_MS": str(TIMEOUT_MS)}
    process = WebProcess(django_on_stack, free_ports(1)[0], more={f"TASKSYS_PROFILES__{name}": value for name, value in told.items()})
    process.start()
    yield Server(process.address, keys["all"])
    process.stop()


@dataclass(frozen=True)
class Asking:
    """A task for users whose `attribute`, a level of its own, is 30 and more."""

    code: str
    attribute: str


@pytest.fixture
def publish(make_task: Callable[..., Any], server: Server, uid: int) -> Callable[[int], Asking]:
    def publish(ttl_s: int) -> Asking:
        attribute = f"level_{uid}"
        published.publish_tasks(Attribute(name=attribute, type="number", ttl_s=ttl_s))
        code = str(make_task(conditions=((Condition(attribute=attribute, operator=">=", value=30),),)).code)
        eventually(lambda: code in {task["code"] for task in server.ask("GET", "/api/v1/users/7/tasks?status=unavailable")["tasks"]})
        return Asking(code, attribute)

    return publish


@pytest.fixture
def task(publish: Callable[[int], Asking]) -> Asking:
    """A level is kept for two seconds."""
    return publish(2)


@pytest.fixture(autouse=True)
def well(system: ProfileSystem, django_on_stack: PrivateStack) -> Iterator[None]:
    work_off()  # what other tests have left would keep nodes out of use: no cache sync center runs here
    yield
    system.stop()
    system.behave()
    system.start()


def asked(system: ProfileSystem, uid: int) -> int:
    return sum(str(uid) in question["uids"] for question in system.questions)


def test_a_user_whose_copy_and_profile_lie_on_his_node_costs_one_command(
    server: Server, stack: PrivateStack, system: ProfileSystem, publish: Callable[[int], Asking], uid: int
) -> None:
    task = publish(300)
    system.profiles[uid] = {task.attribute: 30}
    eventually(lambda: server.state(uid, task.code) == "available")
    eventually(lambda: kept_on(stack, uid))
    before, questions = commands(stack), len(system.questions)

    for _ in range(10):
        server.state(uid, task.code)

    after = commands(stack)
    assert {
        name: after[name] - before.get(name, 0) for name in ("mget", "get", "evalsha") if after.get(name, 0) != before.get(name, 0)
    } == {"mget": 10}
    assert len(system.questions) == questions


def test_what_the_profile_system_says_decides_and_what_the_caller_passes_wins(
    server: Server, system: ProfileSystem, task: Asking, uid: int
) -> None:
    system.profiles[uid + 1] = {task.attribute: 30, "of_no_condition": True}

    assert server.state(uid + 1, task.code) == "available"
    assert server.check(uid + 1, task.code)["note"] == "profile"
    overruled = server.check(uid + 1, task.code, {task.attribute: 3})
    assert (overruled["note"], overruled["actual"], overruled["outcome"]) == ("caller", 3, "unmet")
    assert all("of_no_condition" not in question["attributes"] for question in system.questions)  # no condition asks for it
    done = server.ask("POST", f"/api/v1/users/{uid + 1}/tasks/{task.code}/complete", {"event_id": "e1"})
    assert done["task"]["completed_now"]


def test_a_batch_asks_for_its_users_together_and_an_event_is_judged_by_the_profile(
    server: Server, system: ProfileSystem, make_task: Callable[..., Any], publish: Callable[[int], Asking], uid: int
) -> None:
    task = publish(300)
    published.publish_tasks(EventType(name=f"shot-{uid}"))
    condition = ((Condition(attribute=task.attribute, operator=">=", value=30),),)
    fed = make_task(conditions=condition, feeds=(Feed(event=f"shot-{uid}"),)).code
    eventually(lambda: fed in {task["code"] for task in server.ask("GET", "/api/v1/users/7/tasks?status=unavailable")["tasks"]})
    users = range(uid + 400_000_000, uid + 400_000_050)  # nobody else's
    system.profiles.update({user: {task.attribute: 30 if user % 2 else 3} for user in users})
    questions = len(system.questions)

    items = server.ask("POST", "/api/v1/users:batchGet", {"items": [{"uid": user} for user in users]})["items"]
    told = [{"uid": user, "event_id": "e1", "type": f"shot-{uid}"} for user in users]
    outcomes = server.ask("POST", "/api/v1/events:batch", {"items": told})["items"]

    assert [{shown["code"] for shown in item["result"]["tasks"]} >= {task.code} for item in items] == [bool(user % 2) for user in users]
    assert [[each["code"] for each in item["result"]["tasks"]] for item in outcomes] == [[fed] if user % 2 else [] for user in users]
    assert len(system.questions) - questions < 15


def test_while_it_is_dead_old_values_stand_and_new_users_are_unknown_and_nobody_waits(
    server: Server, system: ProfileSystem, task: Asking, uid: int
) -> None:
    system.profiles[uid] = {task.attribute: 30}
    eventually(lambda: server.state(uid, task.code) == "available")

    system.stop()
    eventually(lambda: server.check(uid, task.code)["note"] == "profile_outdated")

    assert server.state(uid, task.code) == "available"
    stranger = server.check(uid + 500, task.code)
    assert (stranger["outcome"], stranger["note"], stranger["reason"]) == ("unknown", "missing", "attribute_unknown")

    system.profiles[uid] = {task.attribute: 7}
    system.start()
    eventually(lambda: server.state(uid, task.code) == "unavailable", within_s=45)


def test_a_slow_one_costs_its_deadline_a_few_times_and_then_nothing(server: Server, system: ProfileSystem, task: Asking, uid: int) -> None:
    system.profiles[uid] = {task.attribute: 30}
    system.delay_s = 20.0

    took = []
    for offset in range(6):
        began = time.monotonic()
        assert server.state(uid + offset, task.code) == "unavailable"
        took.append(time.monotonic() - began)

    assert max(took) < 3 * TIMEOUT_MS / 1000
    assert sum(each >= TIMEOUT_MS / 1000 for each in took) <= 4
    system.behave()
    eventually(lambda: server.state(uid, task.code) == "available", within_s=45)


def test_wrong_types_no_json_and_half_an_answer_make_nobody_eligible_and_no_500(
    server: Server, system: ProfileSystem, task: Asking, uid: int
) -> None:
    for offset, wrong in enumerate(["thirty", True, {"is": 30}, [30]]):
        system.profiles[uid + offset] = {task.attribute: wrong}
        assert server.check(uid + offset, task.code)["note"] == "wrong_type"

    system.say(200, {"profiles": {}})
    assert server.check(uid + 10, task.code)["note"] == "missing"
    system.say(200, {"profiles": {str(uid + 11): None}})
    assert server.check(uid + 11, task.code)["note"] == "missing"
    system.say(200, b"<html>it works")
    assert server.check(uid + 12, task.code)["note"] == "missing"
    system.say(404, {"profiles": {}})
    assert server.check(uid + 13, task.code)["note"] == "missing"


def test_an_erased_users_profile_goes_from_every_node(
    server: Server, stack: PrivateStack, system: ProfileSystem, task: Asking, uid: int
) -> None:
    system.profiles[uid] = {task.attribute: 30}
    eventually(lambda: server.state(uid, task.code) == "available")
    (node,) = eventually(lambda: kept_on(stack, uid))
    other = next(each for each in stack.nodes.values() if each.name != node)
    with other.client() as client:
        client.set(keys_on_node(uid)[2], "{}")  # from a time when that node was his

    server.ask("DELETE", f"/api/v1/users/{uid}")

    assert kept_on(stack, uid) == []
    server.state(uid, task.code)
    assert kept_on(stack, uid) == []  # not so soon


def kept_on(stack: PrivateStack, uid: int) -> list[str]:
    """The nodes that keep a profile of him."""
    found = []
    for node in stack.nodes.values():
        with node.client() as client:
            if client.get(keys_on_node(uid)[2]) not in (None, FORGOTTEN, FORGOTTEN.decode()):
                found.append(node.name)
    return found


def commands(stack: PrivateStack) -> dict[str, int]:
    """What all nodes have been asked, by command."""
    total: dict[str, int] = {}
    for node in stack.nodes.values():
        with node.client() as client:
            for name, figures in client.info("commandstats").items():
                total[name.removeprefix("cmdstat_")] = total.get(name.removeprefix("cmdstat_"), 0) + figures["calls"]
    return total
