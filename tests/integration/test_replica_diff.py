"""The replica diff on a real master and replica: every kind of difference, with its key; and nothing where there is none."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Iterator

import pytest
from celery import current_app
from django.test import Client

from apps.dbsvr.diff import runs, service
from apps.dbsvr.diff.encoding import row_sha1
from apps.dbsvr.diff.models import (
    CANCELLED,
    DIFFERENT,
    ENDED,
    EQUAL,
    GONE,
    NOT_COMPARED,
    OPEN,
    PAUSED,
    RUNNING,
    STOPPED,
    Difference,
    DiffRun,
)
from apps.dbsvr.diff.servers import open_master
from apps.dbsvr.diff.statements import rows_by_key
from apps.dbsvr.diff.throttle import Throttle
from apps.tasks.keys import create_api_key
from deploy.local.private_stack import PrivateStack
from tasksys_site.celery import DIFF_SCHEDULE
from tasksys_site.configuration import load
from tests.stack.diffing import SCHEMA, TrapTable, begin, compare, found_keys, is_accounted_for, on_replica_alone, wait_for, work
from tests.stack.exposition import exposed
from tests.stack.waiting import eventually


@pytest.fixture
def traps(django_on_stack: PrivateStack) -> Iterator[TrapTable]:
    table = TrapTable(django_on_stack)
    yield table
    table.drop()


def key(uid: int, part: str = "p0") -> str:
    return json.dumps([str(uid), part])


def test_equal_tables_are_equal_and_every_key_is_accounted_for(traps: TrapTable) -> None:
    run = traps.compare()

    assert (run.state, run.outcome, run.rows_compared, run.differences) == (ENDED, EQUAL, traps.rows, 0), run.why
    assert run.chunks > 1
    assert is_accounted_for(run)


def test_every_kind_of_difference_is_found_with_its_key(traps: TrapTable) -> None:
    expected: dict[str, str] = {}

    def broken(uid: int, assignment: str, part: str = "p0") -> None:
        traps.break_replica(f"UPDATE {{t}} SET {assignment} WHERE uid = {uid} AND part = '{part}'")
        expected[key(uid, part)] = "changed"

    traps.change("UPDATE {t} SET one = NULL, two = 'x' WHERE uid IN (20, 21, 22)")
    traps.change("UPDATE {t} SET one = 'a,1:b', two = 'c' WHERE uid = 23")
    traps.change("UPDATE {t} SET one = 'N', two = '' WHERE uid = 24")
    traps.wait_for_replica()
    broken(1, "one = 'first row'")
    broken(1500, "one = 'last row'", "p1")
    traps.change("DELETE FROM {t} WHERE uid > 1500")
    broken(10, "amount = amount + 0.0001")
    broken(20, "one = 'x', two = NULL")  # NULL moved between columns
    broken(21, "two = NULL")
    broken(23, "one = 'a', two = '1:b,c'")  # a separator moved
    broken(24, "one = NULL")  # NULL is not the text N
    broken(24, "two = NULL", "p1")  # nor an empty text
    for uid in (30, 31):
        broken(uid, "two = 'the same edit'")  # on two rows
    for uid in (40, 41, 42, 43):
        broken(uid, "two = 'the same edit'")  # on four
    broken(50, "one = UPPER(one)")
    broken(51, "one = CONCAT(one, ' ')")
    broken(52, "bytes = CONCAT(bytes, X'00')")
    broken(53, "bytes = X''")
    broken(54, "bytes = X'FF2C4E'")
    broken(55, "ratio = ratio * 1.0000002")
    broken(56, "exact = exact * 1.0000000000000004")
    broken(57, "seen = seen + INTERVAL 1 MICROSECOND, day = day")
    broken(58, "day = NULL")
    broken(59, "flags = flags ^ 1")
    broken(60, "kind = 'A,b'")
    broken(61, "one = 'te\\u4e2dxt'")
    traps.break_replica("DELETE FROM {t} WHERE uid = 70", "DELETE FROM {t} WHERE uid = 1499 AND part = 'p1'")
    expected |= {key(70): "missing", key(70, "p1"): "missing", key(1499, "p1"): "missing"}
    traps.break_replica("INSERT INTO {t} (uid, part) VALUES (0, 'p'), (71, 'q'), (999999, 'z')")
    expected |= {key(0, "p"): "extra", key(71, "q"): "extra", key(999999, "z"): "extra"}

    run = traps.compare()

    assert found_keys(run) == expected
    assert (run.outcome, run.differences) == (DIFFERENT, len(expected))
    assert is_accounted_for(run)
    difference = Difference.objects.get(table=traps.name, key=key(20))
    assert (difference.master_row["one"], difference.master_row["two"]) == (None, "x")
    assert (difference.replica_row["one"], difference.replica_row["two"]) == ("x", None)
    assert Difference.objects.get(table=traps.name, key=key(54)).replica_row["bytes"] == {"hex": "ff2c4e"}
    assert Difference.objects.get(table=traps.name, key=key(70)).replica_row is None

    seen_first = difference.first_seen_at
    again = traps.compare(first="20", last="20")  # a range looks at what lies outside of it, too, if it was known to differ
    difference.refresh_from_db()
    assert (again.outcome, difference.first_seen_at) == (DIFFERENT, seen_first)
    traps.break_replica("UPDATE {t} SET one = NULL, two = 'x' WHERE uid = 20 AND part = 'p0'")
    traps.compare(first="20", last="20")
    difference.refresh_from_db()
    assert difference.state == GONE


def test_the_servers_hash_a_row_as_python_does(traps: TrapTable) -> None:
    traps.change("UPDATE {t} SET one = NULL, two = 'x', ratio = NULL WHERE uid = 2")
    traps.change("UPDATE {t} SET two = '中,1:N ', fixed = 'a ', kind = 'A,b', exact = -1e300, ratio = 1e-30 WHERE uid = 3")
    traps.change("UPDATE {t} SET bytes = X'002C4EFF', amount = -0.5, seen = NULL, flags = NULL, day = NULL WHERE uid = 4")
    with contextlib.closing(open_master(load().databases)) as master:
        table = master.shape(SCHEMA, traps.name)
        keys = [(str(uid), part) for uid in range(1, 60) for part in ("p0", "p1")]
        rows = master.rows(rows_by_key(table, keys))
    names = [column.name for column in table.columns]
    assert len(rows) == len(keys)
    for row in rows:
        values = dict(zip(names, row[:-1], strict=True))
        assert row_sha1(table.columns, values) == (row[-1] or b"").decode(), values


def test_a_range_and_a_sample_compare_what_they_say(traps: TrapTable) -> None:
    traps.break_replica("DELETE FROM {t} WHERE uid IN (100, 1400)")

    low = traps.compare(first="1", last="101")
    assert (low.outcome, set(found_keys(low))) == (DIFFERENT, {key(100), key(100, "p1")})

    seen: set[str] = set()
    compared = 0
    for _ in range(3):
        run = work(begin(f"{SCHEMA}.{traps.name}", kind="sample", sample=40, chunk_rows=300))
        assert (run.state, is_accounted_for(run)) == (ENDED, True)
        seen |= set(found_keys(run))
        compared += run.rows_compared
    assert seen == {key(100), key(100, "p1"), key(1400), key(1400, "p1")}  # three nights of 40 percent cover the table
    assert compared >= traps.rows


def test_no_difference_is_seen_while_rows_change_and_the_replica_is_late(traps: TrapTable) -> None:
    stack = traps.stack
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            traps.change(f"UPDATE {{t}} SET amount = amount + 1 WHERE uid BETWEEN {number % 1400} AND {number % 1400 + 40}")
            traps.change(f"REPLACE INTO {{t}} (uid, part, one) VALUES ({number % 3000}, 'new', '{number}')")
            traps.change(f"DELETE FROM {{t}} WHERE uid = {(number * 7) % 3000} AND part = 'new'")

    writer = threading.Thread(target=write)
    stack.replica.delay(2)
    try:
        writer.start()
        run = traps.compare(chunk_rows=1500)
    finally:
        ended.set()
        writer.join()
        stack.replica.delay(0)
    assert (run.differences, run.keys_not_compared) == (0, 0), run.why
    wait_for(stack.master, stack.replica)
    assert traps.compare().outcome == EQUAL


@pytest.mark.long
def test_twenty_runs_under_a_full_write_load_and_five_seconds_of_lag_see_no_difference(django_on_stack: PrivateStack) -> None:
    stack = django_on_stack
    ended = threading.Event()
    written = [0] * 4

    def write(place: int) -> None:
        changes = json.dumps([{"task": task, "period": "once", "op": "add", "value": 1, "target": 10**9} for task in (1, 2, 3)])
        with stack.client(timeout_s=30) as client:
            number = 0
            while not ended.is_set():
                pipe = client.pipeline(transaction=False)
                for _ in range(16):
                    number += 1
                    uid = 3_000_000 + (number * 7919) % 2000
                    pipe.execute_command("TASK.FINISH", uid, "node-1", f"load-{place}-{number}", changes)
                written[place] += len(pipe.execute(raise_on_error=False))

    writers = [threading.Thread(target=write, args=(place,)) for place in range(len(written))]
    stack.replica.delay(5)
    runs_made: list[DiffRun] = []
    try:
        for writer in writers:
            writer.start()
        began_at = time.monotonic()
        for number in range(20):
            table, last = (("user_task", ""), ("user_state", ""), ("applied_event", "3000100"))[number % 3]
            runs_made.append(compare(f"{SCHEMA}.{table}", last=last, chunk_rows=20_000))
        rate = sum(written) / (time.monotonic() - began_at)
    finally:
        ended.set()
        for writer in writers:
            writer.join()
        stack.replica.delay(0)
    print(f"{rate:.0f} writes/s; not decided: {[run.keys_not_compared for run in runs_made]}")
    assert [run.differences for run in runs_made] == [0] * 20
    assert {run.state for run in runs_made} == {ENDED}, [run.why for run in runs_made]
    assert rate > 100
    wait_for(stack.master, stack.replica)


def test_what_cannot_be_compared_says_why_and_is_resumed_where_it_stood(traps: TrapTable) -> None:
    stack = traps.stack
    run = begin(f"{SCHEMA}.{traps.name}", chunk_rows=200)
    runs.work(run.pk, load(), "first", slice_s=0.0)  # no chunk at all
    DiffRun.objects.filter(pk=run.pk).update(chunk_rows=200)
    stack.replica.stop_sql_thread()
    try:
        run = work(run)
    finally:
        stack.replica.start_sql_thread()
    assert (run.state, run.outcome) == (STOPPED, NOT_COMPARED)
    assert "its SQL thread is stopped" in run.why
    assert is_accounted_for(run)

    service.resume(run, None)
    run = work(run)
    assert (run.state, run.outcome, run.rows_compared) == (ENDED, EQUAL, traps.rows)
    assert is_accounted_for(run)


def test_a_table_that_is_missing_unreadable_or_another_one_is_not_compared(traps: TrapTable) -> None:
    stack = traps.stack
    on_replica_alone(stack.replica, [f"ALTER TABLE {traps.name} MODIFY two VARCHAR(201) NULL"])
    unlike = traps.compare()
    assert (unlike.state, unlike.outcome) == (STOPPED, NOT_COMPARED)
    assert "columns differ: two is varchar(200)" in unlike.why

    on_replica_alone(stack.replica, ["REVOKE SELECT ON `tasksys\\_user`.* FROM tasksys_reading@'127.0.0.1'"])
    try:
        service.cancel(unlike, None)
        denied = traps.compare()
    finally:
        on_replica_alone(stack.replica, ["GRANT SELECT ON `tasksys\\_user`.* TO tasksys_reading@'127.0.0.1'"])
    assert denied.outcome == NOT_COMPARED
    assert "denied" in denied.why

    on_replica_alone(stack.replica, [f"DROP TABLE {traps.name}"])
    missing = traps.compare()
    assert missing.outcome == NOT_COMPARED
    assert "doesn't exist" in missing.why
    on_replica_alone(stack.replica, [f"CREATE TABLE {traps.name} (a INT)"])  # so that it can be dropped on both


class Killed(BaseException):
    """Nothing of the worker's own is done after it."""


def test_a_killed_workers_run_goes_on_after_its_last_chunk(traps: TrapTable, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begin(f"{SCHEMA}.{traps.name}", chunk_rows=200)
    chunks = itertools.count()

    def be_killed_at_the_third(_throttle: Throttle) -> str:
        if next(chunks) == 2:
            raise Killed
        return ""

    with monkeypatch.context() as patched:
        patched.setattr(Throttle, "why_wait", be_killed_at_the_third)
        with pytest.raises(Killed):
            runs.work(run.pk, load(), "killed")
    run.refresh_from_db()
    done = run.rows_compared
    assert (run.state, run.worker) == (RUNNING, "killed")
    assert not runs.work(run.pk, load(), "other")  # its lease stands until its time is over: nobody else touches the run
    DiffRun.objects.filter(pk=run.pk).update(lease_until="2020-01-01T00:00:00Z")
    assert run.pk in runs.lost_runs()

    run = work(run, "other")

    assert (run.state, run.outcome, run.rows_compared) == (ENDED, EQUAL, traps.rows)
    assert 0 < done < traps.rows
    assert is_accounted_for(run)


def test_a_run_is_paused_resumed_and_cancelled(traps: TrapTable) -> None:
    run = begin(f"{SCHEMA}.{traps.name}", chunk_rows=200)
    runs.work(run.pk, load(), "one", slice_s=0.0)
    service.pause(run, None)
    assert work(run).state == PAUSED
    with pytest.raises(service.Refused):
        service.start_run("r1", f"{SCHEMA}.{traps.name}")

    service.resume(run, None)
    runs.work(run.pk, load(), "two", slice_s=0.0)
    service.cancel(run, None)
    run = work(run)
    assert (run.state, run.outcome) == (CANCELLED, NOT_COMPARED)
    assert is_accounted_for(run)


def test_a_lost_connection_is_made_again_or_said(traps: TrapTable) -> None:
    stack = traps.stack
    run = begin(f"{SCHEMA}.{traps.name}", chunk_rows=100)
    ended: list[DiffRun] = []
    worker = threading.Thread(target=lambda: ended.append(work(run)))
    stack.replica.freeze()
    try:
        worker.start()
        eventually(lambda: DiffRun.objects.get(pk=run.pk).state == RUNNING)
    finally:
        stack.replica.thaw()
    worker.join(60)
    assert ended[0].outcome == EQUAL

    stack.replica.stop()
    began_at = time.monotonic()
    try:
        lost = traps.compare()
    finally:
        stack.replica.start()
    assert (lost.state, lost.outcome) == (STOPPED, NOT_COMPARED)
    assert "Can't connect" in lost.why
    assert time.monotonic() - began_at < 60
    eventually(lambda: not stack.replica.execute("SELECT 1") or stack.replica.replication_status()["Slave_SQL_Running"] == "Yes", 30)


def test_the_tables_of_both_schemas_are_offered_and_the_users_tables_are_equal(django_on_stack: PrivateStack) -> None:
    wait_for(django_on_stack.master, django_on_stack.replica)
    offered = service.tables()
    names = {(table.schema, table.name) for table in offered}
    assert {(SCHEMA, "user_state"), (SCHEMA, "user_task"), (SCHEMA, "grant_outbox"), ("tasksys", "config_revision")} <= names
    assert (SCHEMA, "db_info") not in names
    outcomes = {table.name: compare(f"{table.schema}.{table.name}") for table in offered if table.in_schedule}
    assert {name: run.why for name, run in outcomes.items() if run.outcome != EQUAL} == {}
    assert OPEN not in {each.state for each in Difference.objects.exclude(table__startswith="traps_")}


def test_prometheus_learns_how_many_rows_differ_and_how_long_ago_a_run_was_clean(traps: TrapTable) -> None:
    traps.compare()
    traps.break_replica("DELETE FROM {t} WHERE uid = 7")
    traps.compare()
    _key, text = create_api_key(f"prometheus {traps.name}", ["read"])

    refused = Client().get("/metrics/diff")
    body = exposed("/metrics/diff", text)

    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, "Api-Key")
    labels = f'replica="r1",schema="{SCHEMA}",table="{traps.name}"'
    assert f"tasksys_diff_differences{{{labels}}} 2.0" in body
    assert f"tasksys_diff_clean_run_age_seconds{{{labels}}} " in body


@pytest.mark.long
def test_a_celery_worker_that_is_killed_in_a_chunk_leaves_a_run_that_the_next_one_ends(traps: TrapTable) -> None:
    stack = traps.stack
    first, second = stack.celery("diff", 2), stack.celery("diff", 2)
    run = begin(f"{SCHEMA}.{traps.name}", chunk_rows=200)
    stack.replica.freeze()  # in the midst of whatever the worker asks
    try:
        first.start()
        eventually(lambda: DiffRun.objects.get(pk=run.pk).state == RUNNING, 60)
        first.kill()
    finally:
        stack.replica.thaw()
    run.refresh_from_db()
    assert (run.state, run.outcome) == (RUNNING, "")
    second.start()
    try:
        DiffRun.objects.filter(pk=run.pk).update(lease_until="2020-01-01T00:00:00Z")
        current_app.send_task(DIFF_SCHEDULE, ignore_result=True)
        eventually(lambda: DiffRun.objects.get(pk=run.pk).state == ENDED, 60)
    finally:
        second.stop()
    run.refresh_from_db()
    assert (run.outcome, run.rows_compared) == (EQUAL, traps.rows)
    assert is_accounted_for(run)
