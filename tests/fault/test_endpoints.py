"""Incidents of the databases' endpoints: gateways that go, masters that change, databases that go back.

What the database has lost is gone; all that the product can do is to say so, loudly and by name, and never to use a server
that holds something else than the master.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from deploy.local.mariadb import MariaDBServer, replicate
from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import Load, Run, final_states
from tests.consistency.history import judge
from tests.stack.gateway import Gateway
from tests.stack.operating import operate
from tests.stack.task_client import TaskClient, new_event_id
from tests.stack.waiting import eventually
from workers.protocol import DBSvrError, MasterDown, TimedOut

MakeStack = Callable[..., PrivateStack]
USER = 7_000_000_001


@pytest.fixture
def gateways() -> Iterator[Callable[[int], Gateway]]:
    with ExitStack() as opened:
        yield lambda port: opened.enter_context(Gateway(port))


def master_stats(stack: PrivateStack) -> dict[str, Any]:
    stats = stack.stats()
    return stats["master"] if stats else {}  # type: ignore[return-value]


def both_masters(stack: PrivateStack) -> dict[str, list[str]]:
    """The master's list names the first replica too: the one to be promoted."""
    return {"master": [stack.master.endpoint, stack.replica.endpoint]}


def finish(client: TaskClient, uid: int, event_id: str | None = None) -> bool:
    """A write, repeated with its event id until it is answered, as a logic server does. Was it newly applied?"""
    event_id = event_id or new_event_id()

    def try_once() -> Any:
        try:
            return client.finish(uid, event_id)
        except (MasterDown, TimedOut, redis.ConnectionError):
            return None

    return bool(eventually(try_once, within_s=30).applied)


def promote(stack: PrivateStack, replica: MariaDBServer) -> None:
    replica.promote()
    eventually(lambda: master_stats(stack).get("endpoint") == replica.endpoint and master_stats(stack)["state"] == "up", within_s=30)


def test_master_endpoint_switched_to_the_other_gateway_and_back_by_itself(
    make_stack: MakeStack, gateways: Callable[[int], Gateway]
) -> None:
    made: list[Gateway] = []

    def endpoints(stack: PrivateStack) -> dict[str, list[str]]:
        made.extend(gateways(stack.master.port) for _ in range(2))
        return {"master": [gateway.endpoint for gateway in made]}

    stack = make_stack(endpoints=endpoints)
    first, second = made
    run = Run(stack, Load(clients=4, users=50, clear_share=0.0, operations=10**9, seed=31)).start()
    eventually(lambda: len(run.history) > 200)

    first.cut()
    eventually(lambda: master_stats(stack)["endpoint"] == second.endpoint, within_s=15)
    before = len(run.history)
    eventually(lambda: len(run.history) > before + 200)
    assert stack.stats()["generation"] == 1, "it is the same server behind both"  # type: ignore[index]

    first.open()
    eventually(lambda: master_stats(stack)["endpoint"] == first.endpoint, within_s=30)
    before = len(run.history)
    eventually(lambda: len(run.history) > before + 200)
    run.stop()
    violations = judge(run.wait(), final_states(stack))
    assert not violations, str(violations[0])


def test_a_black_holed_replica_harms_no_read_and_no_write(make_stack: MakeStack, gateways: Callable[[int], Gateway]) -> None:
    made: list[Gateway] = []

    def endpoints(stack: PrivateStack) -> dict[str, list[str]]:
        made.extend(gateways(stack.replica.port) for _ in range(2))
        return {"r1": [gateway.endpoint for gateway in made]}

    stack = make_stack(endpoints=endpoints)
    preferred, other = made
    run = Run(stack, Load(clients=4, users=50, clear_share=0.0, operations=10**9, seed=32)).start()
    eventually(lambda: len(run.history) > 200)

    preferred.swallow()
    before = len(run.history)
    eventually(lambda: stack.stats()["replicas"]["r1"]["endpoint"] == other.endpoint, within_s=40)  # type: ignore[index]
    assert len(run.history) > before + 200, "reads and writes went on meanwhile"

    preferred.cut()
    preferred.open()
    eventually(lambda: stack.stats()["replicas"]["r1"]["endpoint"] == preferred.endpoint, within_s=40)  # type: ignore[index]
    run.stop()
    history = run.wait()
    assert not [each for each in history if each.state is None], "nothing went without an answer"
    violations = judge(history, final_states(stack))
    assert not violations, str(violations[0])


def test_replica_promoted_to_master_and_the_lost_acknowledged_writes_are_named(make_stack: MakeStack) -> None:
    stack = make_stack(replicas=2, endpoints=both_masters)
    promoted, ahead = stack.replicas["r1"], stack.replicas["r2"]
    client = TaskClient(stack)
    kept = new_event_id()
    assert finish(client, USER, kept)
    eventually(lambda: promoted.execute("SELECT 1 FROM applied_event WHERE event_id = %s", "tasksys_user", [kept]))
    promoted.execute("STOP SLAVE IO_THREAD")
    eventually(lambda: promoted.replication_status()["Slave_IO_Running"] == "No")
    lost = [new_event_id() for _ in range(5)]
    for number, event_id in enumerate(lost):
        assert finish(client, USER + number, event_id)
    eventually(lambda: ahead.execute("SELECT 1 FROM applied_event WHERE event_id = %s", "tasksys_user", [lost[-1]]))
    eventually(lambda: stack.stats()["replicas"]["r2"]["tick"] >= stack.stats()["replicas"]["r1"]["tick"] + 5)  # type: ignore[index]

    stack.master.kill()
    promote(stack, promoted)

    stats: dict[str, Any] = stack.stats()  # type: ignore[assignment]
    assert stats["generation"] == 2
    assert stats["lost"]["cause"] == "promotion"
    assert {named["event_id"] for named in stats["lost"]["named"]} == set(lost)
    assert stats["lost"]["is_complete"]
    file = Path(stats["lost"]["file"])
    assert {json.loads(line)["event_id"] for line in file.read_text().splitlines()} == set(lost)
    assert all(event_id in stack.front.log.read_text() for event_id in lost)
    answer = client.get(USER)
    assert (answer.generation, answer.version) == (2, 1), "what the new master holds, of a newer generation than any copy"
    assert not finish(client, USER, kept)
    assert finish(client, USER, lost[0]), "a lost event, sent again, is applied"

    eventually(lambda: stack.stats()["replicas"]["r2"]["state"] == "refused")  # type: ignore[index]
    assert "past the fork" in stack.stats()["replicas"]["r2"]["refusal"]  # type: ignore[index]
    stack.front.stop()
    stack.front.start()
    eventually(lambda: master_stats(stack).get("state") == "up", within_s=30)
    eventually(lambda: stack.stats()["replicas"]["r2"]["state"] == "refused")  # type: ignore[index]

    ahead.stop()
    shutil.rmtree(ahead.data)
    ahead.start()
    replicate(promoted, ahead)
    said = operate(stack, "rebuilt", "r2", "--instance", "a")
    assert said.returncode == 0, said.stdout
    eventually(lambda: stack.stats()["replicas"]["r2"]["state"] == "serving", within_s=30)  # type: ignore[index]
    client.close()


def test_old_master_returns_writable_and_is_never_used(make_stack: MakeStack) -> None:
    stack = make_stack(endpoints=both_masters)
    old, new = stack.master, stack.replica
    client = TaskClient(stack)
    assert finish(client, USER)
    eventually(lambda: new.execute("SELECT version FROM user_state WHERE uid = %s", "tasksys_user", [USER]) == [(1,)])
    old.kill()
    promote(stack, new)
    assert finish(client, USER)

    old.start()

    eventually(lambda: "two writable masters" in master_stats(stack)["warning"], within_s=20)
    assert "two writable masters" in stack.front.log.read_text()
    assert old.execute("SELECT version FROM user_state WHERE uid = %s", "tasksys_user", [USER]) == [(1,)]
    for process in (stack.master_worker, stack.front):
        process.stop()
        process.start()
    assert finish(client, USER)
    assert master_stats(stack)["endpoint"] == new.endpoint, "also after everything was restarted"
    assert client.get(USER).version == 3

    new.kill()
    eventually(lambda: "former master" in master_stats(stack)["why"], within_s=30)
    with pytest.raises(DBSvrError):
        client.finish(USER)

    said = operate(stack, "adopt", old.endpoint)
    assert said.returncode == 0, said.stdout
    eventually(lambda: master_stats(stack)["state"] == "up", within_s=30)
    stats: dict[str, Any] = stack.stats()  # type: ignore[assignment]
    assert stats["generation"] == 3
    assert stats["lost"]["cause"] == "adoption"
    answer = client.get(USER)
    assert (answer.generation, answer.version) == (3, 1)
    client.close()


def test_two_writable_masters_are_said_and_the_present_one_stays(make_stack: MakeStack) -> None:
    stack = make_stack(endpoints=both_masters)
    client = TaskClient(stack)

    stack.replica.promote()

    eventually(lambda: "two writable masters" in master_stats(stack)["warning"], within_s=20)
    assert finish(client, USER)
    assert master_stats(stack)["endpoint"] == stack.master.endpoint
    # What takes writes is no replica; while its worker is on the way out it is merely silent.
    eventually(lambda: stack.stats()["replicas"]["r1"]["state"] == "down", within_s=20)  # type: ignore[index]
    stack.master_worker.stop()
    stack.master_worker.start()
    assert finish(client, USER)
    assert master_stats(stack)["endpoint"] == stack.master.endpoint
    assert client.get(USER).version == 2
    client.close()


def test_a_master_that_was_made_read_only_is_left_and_found_again(make_stack: MakeStack) -> None:
    stack = make_stack()
    client = TaskClient(stack)
    assert finish(client, USER)

    stack.master.execute("SET GLOBAL read_only = 1")

    eventually(lambda: "read_only" in master_stats(stack)["why"])
    with pytest.raises(DBSvrError) as refused:
        client.finish(USER)
    assert refused.value.code == "MASTERDOWN"
    assert client.get(USER).version == 1, "the replica goes on serving"
    stack.master.execute("SET GLOBAL read_only = 0")
    assert finish(client, USER)
    client.close()


class Backup:
    """A copy of a database's files, taken while it is stopped."""

    def __init__(self, server: MariaDBServer) -> None:
        self._server = server
        self._copy = server.directory / "backup"
        server.stop()
        shutil.copytree(server.data, self._copy)
        server.start()

    def restore(self) -> None:
        self._server.kill()
        shutil.rmtree(self._server.data)
        shutil.copytree(self._copy, self._server.data)
        self._server.start()


@pytest.mark.parametrize("front", ["lives on", "is restarted", "has forgotten everything"])
def test_master_restored_to_an_earlier_state(make_stack: MakeStack, front: str) -> None:
    stack = make_stack()
    client = TaskClient(stack)
    assert finish(client, USER)
    backup = Backup(stack.master)
    eventually(lambda: master_stats(stack)["state"] == "up", within_s=30)
    lost = [new_event_id() for _ in range(3)]
    for event_id in lost:
        assert finish(client, USER, event_id)
    eventually(lambda: stack.replica.execute("SELECT version FROM user_state WHERE uid = %s", "tasksys_user", [USER]) == [(4,)])

    if front != "lives on":
        stack.front.stop()
    if front == "has forgotten everything":
        shutil.rmtree(stack.directory / "state")
    backup.restore()
    if front != "lives on":
        stack.front.start()

    eventually(lambda: (stats := stack.stats()) and stats["generation"] == 2 and stats["master"]["state"] == "up", within_s=40)
    stats: dict[str, Any] = stack.stats()  # type: ignore[assignment]
    assert stats["lost"]["cause"] == "restore"
    assert stats["lost"]["ticks"] > 0
    if front == "lives on":
        assert {named["event_id"] for named in stats["lost"]["named"]} == set(lost)
    else:
        assert not stats["lost"]["is_complete"], "nobody remembers which they were, and that is said"
    eventually(lambda: stack.stats()["replicas"]["r1"]["state"] in ("refused", "down"))  # type: ignore[index]
    answer = client.get(USER)
    assert (answer.generation, answer.version, answer.served_by) == (2, 1, "master"), "never from the replica, which holds what is lost"
    assert finish(client, USER, lost[0])
    client.close()
