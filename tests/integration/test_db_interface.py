"""DbInterface on the real DBSvr: what it reads and writes, and what it does while a DBSvr is away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.dbsvr.db_interface import DbInterface
from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import DBSvr, Instance
from tests.stack.waiting import eventually
from workers.protocol import BadArgument, Change, DBSvrError, NotAuthenticated, Snapshot, TimedOut

ADD_ONE = [Change(task=1, period="once", op="add", value=1)]
SECRET = "a secret with a space"


@pytest.fixture
def client(stack: PrivateStack) -> Iterator[DbInterface]:
    interface = DbInterface(stack.configuration().dbsvr, deadline_ms=5_000)
    yield interface
    interface.close()


def test_a_write_is_read_back_at_once_by_anybody(client: DbInterface) -> None:
    answer = client.finish(66_001, "node-1", "e1", ADD_ONE)
    snapshot = client.get(66_001, "node-2")

    assert (answer.applied, answer.base_version, answer.snapshot.version) == (True, 0, 1)
    assert snapshot.version == 1
    assert [(task.task, task.progress) for task in snapshot.tasks] == [(1, 1)]


def test_a_write_sent_twice_counts_once(client: DbInterface) -> None:
    first = client.finish(66_002, "node-1", "e1", ADD_ONE)
    again = client.finish(66_002, "node-1", "e1", ADD_ONE)

    assert (again.applied, again.results) == (False, first.results)
    assert client.get(66_002, "node-1").version == 1


def test_a_cleared_user_has_nothing_left_but_his_version(client: DbInterface) -> None:
    client.finish(66_003, "node-1", "e1", ADD_ONE)

    answer = client.clear(66_003, "node-1", "c1")

    assert answer.applied
    assert (answer.snapshot.tasks, answer.snapshot.version) == ([], 2)


def test_more_users_than_one_command_takes_come_back_in_order(client: DbInterface) -> None:
    uids = [66_100 + number for number in range(1_203)]
    client.finish(uids[700], "node-1", "e1", ADD_ONE)

    answers = client.get_many(uids, "node-1")

    assert [answer.uid for answer in answers if isinstance(answer, Snapshot)] == uids
    assert isinstance(answers[700], Snapshot)
    assert answers[700].version == 1


def test_bad_arguments_come_back_as_badarg(client: DbInterface) -> None:
    with pytest.raises(BadArgument, match="uid"):
        client.get(0, "node-1")
    with pytest.raises(BadArgument, match="node"):
        client.get(1, "No Node")
    with pytest.raises(BadArgument, match="changes"):
        client.finish(1, "node-1", "e1", [])


def test_stats_and_explain_are_there_for_the_asking(client: DbInterface) -> None:
    assert client.stats("a")["master"]["state"] == "up"
    assert client.explain(66_004)["uid"] == 66_004
    with pytest.raises(KeyError):
        client.stats("nobody")


def test_a_front_that_is_started_again_is_found_again_within_the_deadline(stack: PrivateStack, client: DbInterface) -> None:
    client.get(66_005, "node-1")
    stack.front.stop()
    answers: list[Snapshot] = []
    reader = threading.Thread(target=lambda: answers.append(client.get(66_005, "node-1", deadline_ms=20_000)))
    reader.start()

    stack.front.start()
    reader.join()

    assert [answer.uid for answer in answers] == [66_005]


def test_writes_around_a_killed_master_worker_count_exactly_once_each(stack: PrivateStack, client: DbInterface) -> None:
    failed: list[DBSvrError] = []

    def write(thread: int) -> None:
        for number in range(20):
            try:
                client.finish(66_006, "node-1", f"e{thread}-{number}", ADD_ONE, deadline_ms=20_000)
            except DBSvrError as error:
                failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    eventually(lambda: client.get(66_006, "node-1").version >= 5)
    stack.master_worker.kill()
    stack.master_worker.start()
    for thread in threads:
        thread.join()

    assert not failed
    snapshot = client.get(66_006, "node-1")
    assert (snapshot.version, snapshot.tasks[0].progress) == (80, 80)


def test_a_frozen_front_costs_no_more_than_the_deadline(stack: PrivateStack, client: DbInterface) -> None:
    client.get(66_007, "node-1")
    stack.front.freeze()
    try:
        with pytest.raises(TimedOut):
            client.get(66_007, "node-1", deadline_ms=300)
    finally:
        stack.front.thaw()

    assert client.get(66_007, "node-1").uid == 66_007


@pytest.fixture
def locked_instance(make_stack: Callable[..., PrivateStack], tmp_path: Path) -> Instance:
    """A DBSvr of the test's own that lets in only who knows its secret."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET + "\n")
    stack = make_stack()
    front = stack.front
    front.stop()
    locked = Instance(port=stack.front_port, queue_key=stack.queue_key, auth_user="logic", auth_secret_file=secret)
    front._environment |= {
        "TASKSYS_DBSVR__INSTANCES__A__AUTH_USER": "logic",
        "TASKSYS_DBSVR__INSTANCES__A__AUTH_SECRET_FILE": str(secret),
    }
    front.start()
    return locked


def test_a_dbsvr_with_a_secret_lets_in_only_who_knows_it(locked_instance: Instance, tmp_path: Path) -> None:
    with_secret = DbInterface(DBSvr(instances={"a": locked_instance}), deadline_ms=10_000)
    eventually(lambda: answers(with_secret), within_s=20)

    without = DbInterface(DBSvr(instances={"a": Instance(port=locked_instance.port, queue_key=1)}), deadline_ms=2_000)
    wrong_file = tmp_path / "wrong"
    wrong_file.write_text("something else")
    wrong = DbInterface(
        DBSvr(instances={"a": locked_instance.model_copy(update={"auth_secret_file": wrong_file})}),
        deadline_ms=2_000,
    )
    for stranger in (without, wrong):
        with pytest.raises(NotAuthenticated):
            stranger.get(1, "node-1")


def answers(client: DbInterface) -> bool:
    try:
        return client.get(1, "node-1").uid == 1
    except DBSvrError:
        return False
