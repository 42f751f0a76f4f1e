"""A replica that somebody has said is not to be used: by no DBSvr, whatever is restarted, until it is released."""

from __future__ import annotations

import time
from collections.abc import Callable

from deploy.local.private_stack import SECOND_HALF, PrivateStack
from tests.stack.operating import operate
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually

MakeStack = Callable[..., PrivateStack]
WITHIN_S = 1.0
"""So long after the word no read may come from the replica, of any DBSvr."""


def test_a_held_replica_serves_nothing_of_either_dbsvr_until_it_is_released_also_after_kills(make_stack: MakeStack) -> None:
    stack = make_stack(replicas=2, instances=("a", "b"))
    uids = {"a": range(1, 200), "b": range(SECOND_HALF, SECOND_HALF + 199)}
    clients = {name: TaskClient(stack, instance=name) for name in stack.dbsvrs}

    def servers_of_reads() -> set[str]:
        return {snapshot.served_by for name, client in clients.items() for snapshot in client.get_many(uids[name])}

    eventually(lambda: {"r1", "r2"} <= servers_of_reads())

    told_at = time.monotonic()
    assert clients["a"].ask("TASK.HOLD", "r1", "wang", "3 rows differ") in (b"OK", "OK")
    assert {snapshot.served_by for snapshot in clients["a"].get_many(uids["a"])} <= {"r2", "master"}, "the one that was told, at once"
    eventually(lambda: clients["b"].stats()["replicas"]["r1"]["state"] == "held")
    assert time.monotonic() - told_at < 3 * WITHIN_S
    assert servers_of_reads() <= {"r2", "master"}
    shown = clients["b"].stats()["replicas"]["r1"]
    assert (shown["hold"]["why"], shown["hold"]["by"]) == ("3 rows differ", "wang")
    assert shown["lag_ms"] is not None, "how far it is behind stays known"
    assert clients["a"].explain(1)["servers"]["r1"]["why"] == "held by wang: 3 rows differ"

    for dbsvr in stack.dbsvrs.values():
        dbsvr.front.kill()
        dbsvr.master_worker.kill()
        dbsvr.replica_workers["r1"].kill()
        for process in (dbsvr.front, dbsvr.master_worker, dbsvr.replica_workers["r1"]):
            process.start()
    for name in stack.dbsvrs:
        eventually(lambda name=name: stack.stats(name) is not None)
    clients = {name: TaskClient(stack, instance=name) for name in stack.dbsvrs}
    eventually(lambda: "r2" in servers_of_reads())
    for name in stack.dbsvrs:
        eventually(lambda name=name: clients[name].stats()["replicas"]["r1"]["state"] == "held")
        assert clients[name].stats()["reads"]["by_server"].get("r1", 0) == 0, "not one read since the new front began"

    said = operate(stack, "release", "r1", "--by", "wang")
    assert said.returncode == 0, said.stdout + said.stderr
    eventually(lambda: "r1" in {snapshot.served_by for snapshot in clients["b"].get_many(uids["b"])})
    eventually(lambda: "r1" in {snapshot.served_by for snapshot in clients["a"].get_many(uids["a"])})
