"""Grants, claims and old rules over the wire: written with their write, once, and answered the same for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.task_client import TaskClient, change, new_event_id
from tests.stack.waiting import eventually
from workers.protocol import CLAIMED, DBSvrError, OldRules, WriteAnswer

UID = 78_000


@pytest.fixture
def client(stack: PrivateStack) -> Iterator[TaskClient]:
    client = TaskClient(stack)
    yield client
    client.close()


def grants_of(stack: PrivateStack, uid: int) -> list[tuple[str, ...]]:
    rows = f"SELECT grant_id, version, tier, points, total FROM grant_outbox WHERE uid = {uid} ORDER BY version, tier"
    return [tuple(map(str, row)) for row in stack.master.execute(rows, "tasksys_user")]


def test_the_same_event_50_times_in_parallel_counts_once_also_where_the_worker_is_killed(stack: PrivateStack, client: TaskClient) -> None:
    uid, event_id, asked = UID + 1, new_event_id(), threading.Semaphore(0)
    changes = [change(op="distinct", member="朋友", target=1, points=50), change(task=2, value=5, target=9, tiers=[[3, 7], [9, 8]])]

    def ask_until_answered(_: int) -> WriteAnswer:
        one, answers = TaskClient(stack, timeout_s=10.0), list[WriteAnswer]()

        def is_answered() -> bool:
            asked.release()
            try:
                answers.append(one.finish(uid, event_id, changes))
            except DBSvrError as error:
                if not error.retryable:
                    raise
            return bool(answers)

        eventually(is_answered, within_s=60)
        one.close()
        return answers[0]

    with ThreadPoolExecutor(50) as pool:
        waiting = [pool.submit(ask_until_answered, place) for place in range(50)]
        for _ in range(20):
            asked.acquire()
        stack.master_worker.kill()
        stack.master_worker.start()
        answers = [each.result() for each in waiting]

    assert all(answer.results == answers[0].results for answer in answers)
    assert [(result.points, result.granted) for result in answers[0].results] == [(50, 1), (7, 1)]
    assert grants_of(stack, uid) == [(f"{uid}:1:once:0", "1", "0", "50", "57"), (f"{uid}:2:once:1", "1", "1", "7", "57")]
    snapshot = client.get(uid)
    assert (snapshot.version, snapshot.points, [record.granted for record in snapshot.tasks]) == (1, 57, [1, 1])


def test_a_claim_clicked_50_times_gives_once_and_a_replica_shows_it(stack: PrivateStack, client: TaskClient) -> None:
    uid, rules = UID + 2, {"target": 1, "points": 50, "by_claim": True}
    client.finish(uid, changes=[change(**rules), change(task=2)])

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: TaskClient(stack).finish(uid, None, [change(op="claim", value=0, **rules)]), range(50)))

    assert sorted(answer.results[0].points for answer in answers) == [0] * 49 + [50]
    assert sum(answer.results[0].refused == "already_claimed" for answer in answers) == 49
    assert len(grants_of(stack, uid)) == 1
    eventually(lambda: client.get(uid).served_by == "r1")
    shown = client.get(uid)
    assert [(record.state, record.granted) for record in shown.tasks] == [(CLAIMED, 1), ("in_progress", 0)]
    assert shown.tasks == client.finish(uid, changes=[change(op="revert", mode="add", task=3)]).snapshot.tasks


def test_a_clear_deletes_the_grants_and_a_new_life_earns_anew(stack: PrivateStack, client: TaskClient) -> None:
    uid, earning = UID + 3, [change(op="complete", value=0, points=5)]
    client.finish(uid, changes=earning)
    client.clear(uid)
    assert grants_of(stack, uid) == []

    client.finish(uid, changes=earning)
    client.finish(uid, changes=earning)

    assert grants_of(stack, uid) == [(f"{uid}:1:once:0~b2", "3", "0", "5", "5")]
    assert client.get(uid).points == 5


def test_a_write_by_rules_older_than_the_users_record_does_nothing_unless_it_was_done_before(client: TaskClient) -> None:
    uid, event_id = UID + 4, new_event_id()
    first = client.finish(uid, event_id, [change(revision=3)])
    client.finish(uid, changes=[change(revision=5)])

    with pytest.raises(OldRules) as caught:
        client.finish(uid, None, [change(task=2, revision=4), change(revision=4)])
    repeated = client.finish(uid, event_id, [change(revision=3)])

    assert (caught.value.revision, caught.value.retryable) == (5, False)
    assert (repeated.applied, repeated.results) == (False, first.results)
    assert [(record.task, record.progress, record.revision) for record in client.get(uid).tasks] == [(1, 2, 5)]
    assert client.stats()["errors"]["OLDRULES"] >= 1


def test_grants_and_reached_caps_are_counted(client: TaskClient) -> None:
    before = client.stats()["writes"]
    capped = change(op="complete", value=0, points=1, caps={"total": 1}, task=77)

    client.finish(UID + 5, changes=[capped])
    refused = client.finish(UID + 6, changes=[capped]).results[0]

    after = client.stats()["writes"]
    assert (refused.refused, refused.about, refused.progress) == ("capped", "total", 0)
    assert (after["grants"] - before["grants"], after["capped"] - before["capped"]) == (1, 1)
