"""Mending rows of a replica through the DBSvr: what is executed, who may, and what readers see afterwards."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator

import pytest

from apps.cachesync.task_interface import TaskInterface
from apps.dbsvr.db_interface import db_interface
from apps.dbsvr.diff import service
from apps.dbsvr.diff.models import EQUAL, GONE, OPEN, REPAIRING, Difference
from apps.dbsvr.diff.tasks import recheck
from apps.tasks.models import AuditEntry
from deploy.local.private_stack import SECOND_HALF, PrivateStack
from tests.stack.cache_nodes import NODES, put_copy, start_logic_node, version_on, work_off
from tests.stack.diffing import SCHEMA, compare, on_replica_alone, wait_for
from tests.stack.segments import wait_until_balanced
from workers.protocol import BadArgument, Change, DBSvrError, RepairOrder, encode

ADD = [Change(task=7, period="once", op="add", value=1, target=10)]
_uids = itertools.count(2_400_001)


@pytest.fixture
def logic_node(django_on_stack: PrivateStack) -> Iterator[TaskInterface]:
    interface = start_logic_node()
    yield interface
    interface.close()


def user(stack: PrivateStack) -> int:
    """One with a record, at version 1, on master and replica."""
    uid = next(_uids)
    db_interface().finish(uid, "node-1", "e1", ADD)
    wait_for(stack.master, stack.replica)
    return uid


def on_replica(stack: PrivateStack, sql: str) -> list[tuple[object, ...]]:
    return stack.replica.execute(sql, SCHEMA)


def differences(*uids: int) -> list[Difference]:
    return list(Difference.objects.filter(uid__in=uids).exclude(state=GONE).order_by("uid", "table"))


def compare_users(first: int, last: int) -> set[str]:
    return {compare(f"{SCHEMA}.{table}", str(first), str(last)).outcome for table in ("user_state", "user_task", "applied_event")}


def test_three_differences_are_mended_and_every_reader_sees_it(
    django_on_stack: PrivateStack, stack: PrivateStack, logic_node: TaskInterface
) -> None:
    changed, missing, extra = (user(stack) for _ in range(3))
    for uid in (changed, missing):
        assert logic_node.get(uid).version == 1
    on_replica_alone(
        stack.replica,
        [
            f"UPDATE user_task SET progress = 9 WHERE uid = {changed}",
            f"DELETE FROM user_task WHERE uid = {missing}",
            f"INSERT INTO user_task (uid, task_id, period_key, progress, state, revision) VALUES ({extra}, 8, 'd1', 1, 0, 1)",
        ],
    )
    for node in NODES:
        put_copy(stack, node, changed, 1)
    compare_users(changed, extra)
    found = differences(changed, missing, extra)
    assert [each.kind for each in found] == ["changed", "missing", "extra"]
    ids = [each.pk for each in found]

    previews = service.preview_repair(ids)
    assert [preview.by_hand for preview in previews] == ["", "", ""]
    assert [preview.statements[0].split()[0] for preview in previews] == ["REPLACE", "REPLACE", "DELETE"]
    assert on_replica(stack, f"SELECT progress FROM user_task WHERE uid = {changed}") == [(9,)]  # nothing was done
    mended = service.repair(ids, None, "found by the nightly run")

    assert [each.error for each in mended] == ["", "", ""]
    assert {each.state for each in Difference.objects.filter(pk__in=ids)} == {REPAIRING}
    entry = AuditEntry.objects.filter(action="repair_row", key=str(ids[0])).latest("pk")
    assert entry.note == "found by the nightly run"
    assert [line.split()[0] for line in entry.after["statements"]] == ["REPLACE", "REPLACE", "INSERT"]
    recheck(ids)
    assert {each.state for each in Difference.objects.filter(pk__in=ids)} == {GONE}
    assert compare_users(changed, extra) == {EQUAL}
    status = stack.replica.replication_status()
    assert (status["Slave_SQL_Running"], status["Last_SQL_Error"]) == ("Yes", "")
    # Copies of before are older than the version now, and are purged on every node.
    work_off()
    assert [version_on(stack, node, changed) for node in NODES] == [None, None]
    read = logic_node.get(changed)
    assert (read.version, [task.progress for task in read.tasks]) == (2, [1])
    # The worker has not kept what it knew of him.
    assert db_interface().finish(changed, "node-1", "e2", ADD).snapshot.version == 3


def test_a_user_of_whom_the_replica_shows_more_than_the_master_gets_a_version_above_it(
    stack: PrivateStack, django_on_stack: object
) -> None:
    known, unknown, lost = user(stack), next(_uids), user(stack)
    on_replica_alone(
        stack.replica,
        [
            f"UPDATE user_state SET version = 41 WHERE uid = {known}",
            f"INSERT INTO user_state (uid, version, points, updated_at) VALUES ({unknown}, 17, 5, 0)",
            f"DELETE FROM user_state WHERE uid = {lost}",
        ],
    )
    compare_users(known, lost)
    ids = [each.pk for each in differences(known, unknown, lost)]
    assert len(ids) == 3

    assert [each.error for each in service.repair(ids, None, "")] == ["", "", ""]

    recheck(ids)
    assert differences(known, unknown, lost) == []
    states = on_replica(stack, f"SELECT version, points FROM user_state WHERE uid IN ({known}, {unknown}, {lost}) ORDER BY uid")
    assert states == [(42, 0), (18, 0), (2, 0)]


def test_an_event_id_that_the_replica_lacks_is_mended_byte_for_byte(stack: PrivateStack, django_on_stack: object) -> None:
    uid = user(stack)
    on_replica_alone(stack.replica, [f"UPDATE applied_event SET result = CONCAT(result, ' ') WHERE uid = {uid}"])
    compare_users(uid, uid)
    (difference,) = differences(uid)

    service.repair([difference.pk], None, "")

    recheck([difference.pk])
    difference.refresh_from_db()
    assert (difference.state, difference.table) == (GONE, "applied_event")


def test_without_the_right_a_repair_says_what_to_grant_and_does_nothing(stack: PrivateStack, django_on_stack: object) -> None:
    uid = user(stack)
    on_replica_alone(stack.replica, [f"UPDATE user_task SET progress = 3 WHERE uid = {uid}"])
    compare_users(uid, uid)
    (difference,) = differences(uid)
    stack.master.execute("REVOKE BINLOG ADMIN ON *.* FROM tasksys_repair@'127.0.0.1'")
    try:
        (preview,) = service.preview_repair([difference.pk])
        (mended,) = service.repair([difference.pk], None, "")
    finally:
        stack.master.execute("GRANT BINLOG ADMIN ON *.* TO tasksys_repair@'127.0.0.1'")

    assert "GRANT BINLOG ADMIN ON *.* TO tasksys_repair" in preview.by_hand
    assert "GRANT BINLOG ADMIN ON *.* TO tasksys_repair" in mended.error
    difference.refresh_from_db()
    assert difference.state == OPEN
    assert on_replica(stack, f"SELECT version FROM user_state WHERE uid = {uid}") == [(1,)]
    service.repair([difference.pk], None, "")
    recheck([difference.pk])
    difference.refresh_from_db()
    assert difference.state == GONE


def test_a_row_of_the_configuration_is_mended_by_hand(stack: PrivateStack, django_on_stack: object) -> None:
    stack.master.execute("INSERT INTO django_content_type (app_label, model) VALUES ('diff''s', 'probe')", "tasksys")
    wait_for(stack.master, stack.replica)
    on_replica_alone(stack.replica, ["DELETE FROM django_content_type WHERE app_label = 'diff''s'"], "tasksys")
    assert compare("tasksys.django_content_type").differences == 1
    (difference,) = Difference.objects.filter(table="django_content_type")

    (preview,) = service.preview_repair([difference.pk])
    (mended,) = service.repair([difference.pk], None, "")
    assert "is not the DBSvr's" in preview.by_hand
    assert "is not the DBSvr's" in mended.error
    administrator = stack.master
    administrator.execute(";".join(preview.statements), "tasksys")

    wait_for(stack.master, stack.replica)
    recheck([difference.pk])
    difference.refresh_from_db()
    assert difference.state == GONE


@pytest.mark.parametrize(
    "order",
    [
        RepairOrder(table="db_info", key=["a"]),
        RepairOrder(table="nothing_here", key=["1"]),
        RepairOrder(table="user_task", key=["1"]),
        RepairOrder(table="user_task; DROP", key=["1"]),
        RepairOrder(table="user_state", key=["x'); --"]),
    ],
)
def test_an_order_for_anything_but_a_users_row_is_refused(stack: PrivateStack, django_on_stack: object, order: RepairOrder) -> None:
    with pytest.raises(BadArgument):
        db_interface().repair(1, "none", "repair-1", order)


def test_a_row_of_another_user_than_the_one_named_is_refused(stack: PrivateStack, django_on_stack: object) -> None:
    one, other = user(stack), user(stack)
    with pytest.raises(BadArgument):
        db_interface().repair(one, "none", "repair-2", RepairOrder(table="user_task", key=[str(other), "7", "once"]))
    assert json.loads(json.dumps(db_interface().get(other, "none").version)) == 1


def test_a_repair_that_comes_to_the_other_dbsvr_is_done_by_the_owner(make_stack: Callable[..., PrivateStack]) -> None:
    pair = make_stack(instances=("a", "b"))
    wait_until_balanced(pair)
    uid = SECOND_HALF + 5  # b's
    order = encode(RepairOrder(table="user_state", key=[str(uid)]))
    with pair.client(instance="b") as owner, pair.client(instance="a") as other:
        owner.execute_command("TASK.FINISH", uid, "none", "e1", encode(ADD))
        answer = json.loads(other.execute_command("TASK.REPAIR", uid, "none", "repair-1", order))
        assert (answer["applied"], answer["version"]) == (True, 2)
        assert json.loads(owner.execute_command("TASK.GET", uid, "none"))["version"] == 2
        assert json.loads(owner.execute_command("TASK.FINISH", uid, "none", "e2", encode(ADD)))["snapshot"]["version"] == 3
    wait_for(pair.master, pair.replica)
    assert pair.replica.execute(f"SELECT version FROM user_state WHERE uid = {uid}", SCHEMA) == [(3,)]


def test_a_master_worker_that_is_killed_amid_repairs_leaves_them_to_the_next_one(stack: PrivateStack, django_on_stack: object) -> None:
    uid = user(stack)
    answers: list[int | DBSvrError] = []
    killed = threading.Event()

    def repair_again_and_again() -> None:
        order = RepairOrder(table="user_task", key=[str(uid), "7", "once"])
        for number in range(60):
            if number == 15:
                killed.set()
            try:
                answers.append(db_interface().repair(uid, "none", f"repair-{number}", order, deadline_ms=5_000).version)
            except DBSvrError as error:
                answers.append(error)

    repairer = threading.Thread(target=repair_again_and_again)
    repairer.start()
    killed.wait(30)
    stack.master_worker.kill()
    stack.master_worker.start()
    repairer.join(90)
    stack.wait_until_serving()

    versions = [each for each in answers if isinstance(each, int)]
    assert len(answers) == 60
    assert len(versions) > 15
    assert versions == sorted(set(versions))  # each raised the version; none was answered with another's
    assert all(each.outcome_unknown or each.retryable for each in answers if isinstance(each, DBSvrError)), answers
    read = db_interface().get(uid, "none")
    assert (read.version >= versions[-1], [task.progress for task in read.tasks]) == (True, [1])
    wait_for(stack.master, stack.replica)
    assert compare_users(uid, uid) == {EQUAL}
