"""Sweeps of old rows on real servers: what is old goes, what is needed stays, nobody is kept waiting, and no event is applied twice."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from typing import Any

import MySQLdb
import pytest
import redis

from deploy.local.mariadb import grant_on_tables
from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import Configuration
from tests.stack import published
from tests.stack.checked import checked
from tests.stack.operators import operator
from tests.stack.points import grant_rows, write_grants
from tests.stack.waiting import eventually

_blocks = itertools.count(930_000_000, 10_000)
USERS = "tasksys_user"
DAY = 86_400_000
CHANGE = '[{"task": 6, "period": "once", "op": "add", "value": 3, "target": 3, "points": 50}]'


@pytest.fixture
def uid() -> int:
    """The first of ten thousand that are this test's."""
    return next(_blocks)


class Calm:
    """A pace that never waits."""

    def why_wait(self) -> str:
        return ""


@pytest.fixture
def swept(django_on_stack: PrivateStack) -> Iterator[Callable[..., Any]]:
    """Sweep a table to its end as if a day had begun; its row. The tests' rows alone are old."""
    from apps.dbsvr.sweeps import rounds
    from apps.dbsvr.sweeps.models import Sweep

    def forget() -> None:
        Sweep.objects.all().delete()

    def sweep(table: Any, pace: Any = None, slice_s: float = 60.0) -> Any:
        configuration = configured(django_on_stack)
        Sweep.objects.filter(pk=table.name).update(began_at=None, ended_at=None)
        rounds.work(table, configuration, pace or Calm(), slice_s)
        return Sweep.objects.get(pk=table.name)

    forget()
    yield sweep
    forget()


def configured(stack: PrivateStack) -> Configuration:
    """Due at any time of the day."""
    configuration = stack.configuration()
    return configuration.model_copy(update={"sweep": configuration.sweep.model_copy(update={"at": "00:00"})})


def events_of(stack: PrivateStack, first: int, last: int) -> dict[tuple[int, str], date]:
    rows = stack.master.execute("SELECT uid, event_id, day FROM applied_event WHERE uid BETWEEN %s AND %s", USERS, (first, last))
    return {(uid, event_id): day for uid, event_id, day in rows}


def write_events(stack: PrivateStack, first: int, count: int, days_ago: int) -> None:
    """One for each user, applied so many days ago."""
    stack.master.execute(
        "INSERT INTO applied_event (uid, event_id, result, day)"
        f" SELECT {first} + seq, 'old', '[[6,\"once\",3]]', UTC_DATE() - INTERVAL {days_ago} DAY FROM seq_0_to_{count - 1}",
        USERS,
    )


def finish(stack: PrivateStack, uid: int, event_id: str, changes: str = CHANGE) -> dict[str, Any]:
    with stack.client() as client:
        answer: dict[str, Any] = json.loads(client.execute_command("TASK.FINISH", uid, "node-1", event_id, changes))
        return answer


# -- event ids


def test_event_ids_that_may_not_come_again_go_and_younger_ones_stay(stack: PrivateStack, uid: int, swept: Callable[..., Any]) -> None:
    from apps.dbsvr.sweeps.events import AppliedEvents

    write_events(stack, uid, 3_000, days_ago=40)
    write_events(stack, uid + 5_000, 10, days_ago=31)
    finish(stack, uid + 6_000, "today")

    row = swept(AppliedEvents(30))

    left = events_of(stack, uid, uid + 9_999)
    assert len(left) == 11
    assert min(left.values()) == datetime.now(timezone.utc).date() - timedelta(days=31)
    assert (row.removed, row.error, row.oldest) == (3_000, "", min(left.values()))
    assert row.looked >= 3_011
    assert not row.is_under_way
    assert row.gone_before == datetime.now(timezone.utc).date() - timedelta(days=31)


def test_an_event_that_comes_again_within_the_retention_is_answered_as_before_and_changes_nothing(
    stack: PrivateStack, uid: int, swept: Callable[..., Any]
) -> None:
    from apps.dbsvr.sweeps.events import AppliedEvents

    first = finish(stack, uid, "the-event")
    stack.master.execute("UPDATE applied_event SET day = day - INTERVAL 31 DAY WHERE uid = %s", USERS, (uid,))

    swept(AppliedEvents(30))

    again = finish(stack, uid, "the-event")
    assert first["applied"]
    assert not again["applied"]
    assert (again["results"], again["snapshot"]["version"]) == (first["results"], 1)


def test_a_worker_that_is_killed_in_the_middle_leaves_a_round_that_the_next_one_goes_on_with(
    stack: PrivateStack, uid: int, swept: Callable[..., Any]
) -> None:
    from apps.dbsvr.sweeps import rounds
    from apps.dbsvr.sweeps.events import AppliedEvents
    from apps.dbsvr.sweeps.models import Sweep

    class Killed(BaseException):
        """As SIGKILL: nothing is tidied up after it."""

    class Dying(AppliedEvents):
        pieces = 0

        def delete(self, keys: Any, before: date) -> int:
            removed = super().delete(keys, before)
            if self.pieces == 3:
                raise Killed
            return removed

        def look(self, *arguments: Any) -> Any:
            self.pieces += 1
            return super().look(*arguments)

    write_events(stack, uid, 9_000, days_ago=40)
    with pytest.raises(Killed):
        swept(Dying(30))
    middle = Sweep.objects.get(pk="applied_event")
    assert middle.is_under_way
    assert middle.removed > 0

    assert rounds.work(AppliedEvents(30), configured(stack), Calm()) is False

    ended = Sweep.objects.get(pk="applied_event")
    assert (ended.began_at, ended.before) == (middle.began_at, middle.before)
    assert ended.looked - middle.looked < 9_000
    assert events_of(stack, uid, uid + 9_999) == {}
    assert not ended.is_under_way


@pytest.mark.long
def test_a_celery_worker_that_is_killed_in_a_piece_leaves_a_round_that_another_ends(
    stack: PrivateStack, uid: int, swept: Callable[..., Any]
) -> None:
    from celery import current_app

    from apps.dbsvr.sweeps.models import Sweep
    from tasksys_site.celery import SWEEP_EVENTS

    def state() -> Any:
        return Sweep.objects.filter(pk="applied_event").first()

    write_events(stack, uid, 9_000, days_ago=40)
    stack.environment["TASKSYS_SWEEP__ROWS_AT_ONCE"] = "10"
    first, second = stack.celery("diff", 2), stack.celery("diff", 2)
    del stack.environment["TASKSYS_SWEEP__ROWS_AT_ONCE"]
    try:
        first.start()
        current_app.send_task(SWEEP_EVENTS, ignore_result=True)
        eventually(lambda: (it := state()) is not None and it.removed > 0, 60)
        first.kill()
        left = state()
        assert left.is_under_way
        assert 0 < len(events_of(stack, uid, uid + 9_999)) < 9_000

        second.start()
        current_app.send_task(SWEEP_EVENTS, ignore_result=True)
        eventually(lambda: not state().is_under_way, 60)
    finally:
        first.kill()
        second.stop()
    assert (state().began_at, state().error) == (left.began_at, "")
    assert events_of(stack, uid, uid + 9_999) == {}


def test_one_at_a_time_sweeps_a_table_and_once_a_day(stack: PrivateStack, uid: int, swept: Callable[..., Any]) -> None:
    from apps.dbsvr.sweeps import rounds
    from apps.dbsvr.sweeps.events import AppliedEvents
    from apps.dbsvr.sweeps.models import Sweep

    swept(AppliedEvents(30))
    write_events(stack, uid, 1, days_ago=40)

    assert rounds.work(AppliedEvents(30), configured(stack), Calm()) is False
    assert len(events_of(stack, uid, uid)) == 1

    Sweep.objects.update(began_at=None)
    connection = other_connection(stack)
    try:
        connection.cursor().execute("SELECT GET_LOCK('tasksys.sweep.applied_event', 0)")
        assert rounds.work(AppliedEvents(30), configured(stack), Calm()) is False
        assert Sweep.objects.get(pk="applied_event").began_at is None
    finally:
        connection.close()


def test_a_sweep_waits_for_no_row_that_is_being_written_and_keeps_nobody_waiting(
    stack: PrivateStack, uid: int, swept: Callable[..., Any]
) -> None:
    """Rows beside, between and after those that go are made by a transaction that is open all the while."""
    from apps.dbsvr.sweeps.events import AppliedEvents

    write_events(stack, uid, 50, days_ago=40)
    writer = other_connection(stack)
    try:
        cursor = writer.cursor()
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        cursor.execute("BEGIN")
        cursor.executemany(
            "INSERT INTO applied_event (uid, event_id, result, day) VALUES (%s, 'new', '[]', UTC_DATE())",
            [(uid + number,) for number in range(0, 50, 2)],
        )
        began = time.monotonic()
        row = swept(AppliedEvents(30))
        assert time.monotonic() - began < 1.5
        assert (row.error, row.removed >= 50) == ("", True)
        writer.commit()
    finally:
        writer.close()
    assert {event for _uid, event in events_of(stack, uid, uid + 50)} == {"new"}

    # And the other way about: an open transaction that deletes keeps no writer out of the gaps.
    write_events(stack, uid, 50, days_ago=40)
    from django.db import connections, transaction

    with transaction.atomic(using="userdata"):
        AppliedEvents(30).delete([(uid + number, "old") for number in range(50)], datetime.now(timezone.utc).date())
        for number in range(0, 50, 5):
            assert finish(stack, uid + number, "beside")["applied"]
    connections["userdata"].close()


def test_a_flood_of_writes_meets_no_error_while_the_table_is_swept(stack: PrivateStack, uid: int, swept: Callable[..., Any]) -> None:
    from apps.dbsvr.sweeps.events import AppliedEvents

    write_events(stack, uid, 8_000, days_ago=40)
    stop, errors, written = threading.Event(), [], []

    def write(number: int) -> None:
        """Users between those whose rows go."""
        with stack.client() as client:
            for turn in itertools.count():
                if stop.is_set():
                    return
                user = uid + (number + 8 * turn) % 8_000
                try:
                    answer = json.loads(client.execute_command("TASK.FINISH", user, "node-1", f"new-{number}-{turn}", CHANGE))
                    written.append(answer["applied"])
                except (redis.RedisError, ValueError) as error:
                    errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: len(written) > 50)
        row = swept(AppliedEvents(30))
    finally:
        stop.set()
        for thread in threads:
            thread.join()

    assert errors == []
    assert all(written)
    assert (row.removed, row.error) == (8_000, "")
    left = events_of(stack, uid, uid + 9_999)
    assert len(left) == len(written)
    old = f"SELECT COUNT(*) FROM applied_event WHERE event_id = 'old' AND uid BETWEEN {uid} AND {uid + 9_999}"
    eventually(lambda: stack.replica.execute(old, USERS) == [(0,)])


def test_a_row_of_today_with_the_id_of_an_old_one_stays(stack: PrivateStack, uid: int, swept: Callable[..., Any]) -> None:
    from apps.dbsvr.sweeps.events import AppliedEvents

    finish(stack, uid, "old")

    assert AppliedEvents(30).delete([(uid, "old")], datetime.now(timezone.utc).date() - timedelta(days=31)) == 0
    assert len(events_of(stack, uid, uid)) == 1


def test_a_refused_right_is_said_and_the_sweep_goes_on_when_it_is_given(
    stack: PrivateStack, uid: int, swept: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    from django.db import connections

    from apps.dbsvr.sweeps import rounds
    from apps.dbsvr.sweeps.events import AppliedEvents
    from apps.dbsvr.sweeps.models import Sweep
    from apps.dbsvr.sweeps.now import sweeps_now

    accounts = stack.configuration().databases.accounts
    write_events(stack, uid, 5, days_ago=40)
    for host in ("127.0.0.1", "localhost"):
        stack.master.execute("REVOKE DELETE ON tasksys_user.applied_event FROM %s@%s", parameters=(accounts.web.user, host))
    try:
        row = swept(AppliedEvents(30))
        assert "GRANT SELECT, DELETE ON `tasksys_user`.applied_event TO tasksys_web" in row.error
        assert "a table cannot be swept" in caplog.text
        assert "FAULT  sweep: the web's account may not delete old rows" in checked(stack).stdout
        assert [(it.table, bool(it.error)) for it in sweeps_now(configured(stack)).tables if it.table == row.table] == [(row.table, True)]
    finally:
        grant_on_tables(stack.master, accounts)
        connections["userdata"].close()
    assert len(events_of(stack, uid, uid + 5)) == 5

    Sweep.objects.update(failed_at=datetime.now(timezone.utc) - timedelta(minutes=11))
    rounds.work(AppliedEvents(30), configured(stack), Calm())

    assert events_of(stack, uid, uid + 5) == {}
    assert Sweep.objects.get(pk="applied_event").error == ""
    assert "well   sweep: the web's account may delete old rows" in checked(stack).stdout


def test_a_sweep_waits_while_a_replica_is_behind_and_says_so(stack: PrivateStack, uid: int, swept: Callable[..., Any]) -> None:
    from apps.dbsvr.db_interface import db_interface
    from apps.dbsvr.sweeps.events import AppliedEvents
    from apps.dbsvr.sweeps.pace import Pace

    write_events(stack, uid, 5, days_ago=40)
    settings = configured(stack).sweep.model_copy(update={"max_lag_ms": 500})
    stack.replica.delay(seconds=3)
    try:
        eventually(lambda: Pace(settings, db_interface(), ["a"]).why_wait().startswith("waits: replica"))
        row = swept(AppliedEvents(30), Pace(settings, db_interface(), ["a"]), slice_s=0.5)
        assert row.waits.startswith("waits: replica r1 is")
        assert len(events_of(stack, uid, uid + 5)) == 5
    finally:
        stack.replica.delay(seconds=0)


def test_the_clock_that_is_behind_counts_also_of_two_dbsvrs_but_not_of_one_that_is_long_away(stack: PrivateStack) -> None:
    from apps.dbsvr.sweeps.clocks import clocks

    connection = other_connection(stack)
    cursor = connection.cursor()

    def behind_s() -> float:
        return time.time() - min(clocks(cursor))

    try:
        cursor.execute("BEGIN")  # for this connection alone
        assert behind_s() < 60
        cursor.execute(
            "INSERT INTO db_info SELECT 'late', generation, fork_tick, tick, wall_us - 3 * 86400000000, worker_epoch, server_id"
            " FROM db_info WHERE instance = 'a'"
        )
        assert behind_s() > 2 * 86_400
        cursor.execute("UPDATE db_info SET wall_us = wall_us - 30 * 86400000000 WHERE instance = 'late'")
        assert behind_s() < 60
    finally:
        connection.close()


def test_sessions_that_have_expired_go(stack: PrivateStack, django_on_stack: PrivateStack) -> None:
    from django.contrib.sessions.models import Session

    from apps.tasks.tasks import clear_sessions

    now = datetime.now(timezone.utc)
    for name, ends_at in (("over", now - timedelta(minutes=1)), ("open", now + timedelta(minutes=9))):
        Session.objects.update_or_create(session_key=f"sweeps-{name}", defaults={"session_data": "", "expire_date": ends_at})

    clear_sessions()

    assert [it.session_key for it in Session.objects.filter(session_key__startswith="sweeps-")] == ["sweeps-open"]


def test_the_console_shows_what_was_swept_and_why_it_cannot_go_on(
    stack: PrivateStack, uid: int, swept: Callable[..., Any], settings: Any
) -> None:
    from django.test import Client

    from apps.dbsvr.sweeps.events import AppliedEvents
    from apps.dbsvr.sweeps.models import Sweep

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}  # nothing is collected here
    write_events(stack, uid, 5, days_ago=40)
    row = swept(AppliedEvents(30))
    browser = Client(HTTP_HOST="127.0.0.1")
    browser.force_login(operator(), backend="django.contrib.auth.backends.ModelBackend")

    page = browser.get("/console/diff/").content.decode()
    assert "<code>applied_event</code>" in page
    assert f"{row.removed} rows" in page

    Sweep.objects.update(error="account tasksys_web may not: GRANT …")
    assert "cannot go on: account tasksys_web may not: GRANT …" in browser.get("/console/diff/").content.decode()


# -- the API


def test_an_event_of_which_the_id_may_be_gone_is_refused_whatever_this_process_believes(
    stack: PrivateStack, monkeypatch: pytest.MonkeyPatch, swept: Callable[..., Any], settings: Any
) -> None:
    """Another process swept with a shorter retention, or it was raised since."""
    from apps.dbsvr.sweeps.events import AppliedEvents
    from apps.dbsvr.sweeps.horizon import Horizon
    from apps.tasks.services import writing
    from apps.tasks.services.errors import BadMoment

    settings.EVENT_RETENTION_DAYS = 30
    now = datetime.now(timezone.utc)
    monkeypatch.setattr(writing, "EVENTS", Horizon("applied_event"))
    writing.refuse_bad_moment(now - timedelta(days=29), now)

    swept(AppliedEvents(7))

    monkeypatch.setattr(writing, "EVENTS", Horizon("applied_event"))
    for days in (29, 8):
        with pytest.raises(BadMoment):
            writing.refuse_bad_moment(now - timedelta(days=days), now)
    writing.refuse_bad_moment(now - timedelta(days=7), now)


# -- grants


@pytest.fixture
def settled(stack: PrivateStack, uid: int) -> Callable[..., None]:
    """Grants of a user, made and settled so many days ago."""

    def write(user: int, points: list[int], days_ago: int, state: int = 2, task: int = 7) -> None:
        made_ms = int(time.time() * 1000) - days_ago * DAY
        rows = [(f"{row[0]}-{task}-{state}-{days_ago}", *row[1:3], task, *row[4:]) for row in grant_rows(user, points, created_ms=made_ms)]
        write_grants(stack, rows)
        stack.master.execute(
            "UPDATE grant_outbox SET state = %s, settled_ms = created_ms WHERE uid = %s AND created_ms BETWEEN %s AND %s",
            USERS,
            (state, user, made_ms, made_ms + 1_000),
        )

    return write


def grants_of(stack: PrivateStack, uid: int) -> list[str]:
    rows = stack.master.execute("SELECT grant_id FROM grant_outbox WHERE uid = %s ORDER BY grant_id", USERS, (uid,))
    return [grant_id for (grant_id,) in rows]


def test_grants_that_are_settled_for_good_go_and_all_others_stay(
    stack: PrivateStack, uid: int, swept: Callable[..., Any], settled: Callable[..., None]
) -> None:
    from apps.tasks.points.states import State
    from apps.tasks.points.sweep import Grants, gone_before

    settled(uid, [5, 6], days_ago=100)
    settled(uid, [7], days_ago=100, state=State.SUPERSEDED)
    for user, state in enumerate((State.PENDING, State.SENT, State.REJECTED, State.INDETERMINATE, State.DEAD), uid + 1):
        settled(user, [5], days_ago=100, state=state)
    settled(uid + 10, [5], days_ago=80)
    settled(uid + 11, [5], days_ago=100)
    # Confirmed yesterday only: an operator sent it again.
    stack.master.execute("UPDATE grant_outbox SET settled_ms = settled_ms + %s WHERE uid = %s", USERS, (99 * DAY, uid + 11))

    row = swept(Grants(90))

    assert grants_of(stack, uid) == []
    assert [len(grants_of(stack, user)) for user in range(uid + 1, uid + 6)] == [1] * 5
    assert [len(grants_of(stack, user)) for user in (uid + 10, uid + 11)] == [1, 1]
    assert row.removed >= 3
    assert gone_before() == datetime.now(timezone.utc).date() - timedelta(days=91)


def test_grants_are_kept_for_ever_where_the_settings_say_so(stack: PrivateStack, uid: int, swept: Callable[..., Any], settled: Any) -> None:
    from apps.tasks.points.sweep import Grants

    settled(uid, [5], days_ago=4_000)

    assert swept(Grants(0)).began_at is None
    assert len(grants_of(stack, uid)) == 1


def test_users_are_erased_without_an_error_while_their_grants_are_swept(
    stack: PrivateStack, uid: int, swept: Callable[..., Any], settled: Callable[..., None]
) -> None:
    """Both delete the same rows, by different ways to them: whoever stands in the other's way is tried again."""
    from apps.dbsvr.sweeps import rounds
    from apps.dbsvr.sweeps.models import Sweep
    from apps.tasks.points.sweep import Grants

    users = range(uid, uid + 60)
    for user in users:
        settled(user, [1] * 40, days_ago=100)
    errors: list[Exception] = []

    def erase(every: range) -> None:
        with stack.client() as client:
            for user in every:
                try:
                    client.execute_command("TASK.CLEAR", user, "node-1", f"erase-{user}")
                except redis.RedisError as error:
                    errors.append(error)

    threads = [threading.Thread(target=erase, args=(users[number::4],)) for number in range(4)]
    for thread in threads:
        thread.start()
    row = swept(Grants(90))
    for thread in threads:
        thread.join()
    while row.is_under_way:
        rounds.work(Grants(90), configured(stack), Calm())
        row = Sweep.objects.get(pk=row.table)

    assert errors == []
    assert row.error == ""
    assert [user for user in users if grants_of(stack, user)] == []


def test_a_taking_back_stays_while_the_grant_that_it_took_is_there(stack: PrivateStack, uid: int, swept: Callable[..., Any]) -> None:
    from apps.tasks.points.sweep import Grants

    made_ms = int(time.time() * 1000) - 100 * DAY
    for user, state in ((uid, 3), (uid + 1, 2)):
        write_grants(stack, [(f"{user}:7:once:0", user, 1, 7, "once", 0, 5, 5, 1, made_ms)])
        write_grants(stack, [(f"{user}:7:once:0~back", user, 2, 7, "once", 0, -5, 0, 1, made_ms)])
        stack.master.execute("UPDATE grant_outbox SET state = 2, settled_ms = created_ms WHERE uid = %s", USERS, (user,))
        stack.master.execute("UPDATE grant_outbox SET state = %s WHERE grant_id = %s", USERS, (state, f"{user}:7:once:0"))

    swept(Grants(90))

    assert grants_of(stack, uid) == [f"{uid}:7:once:0", f"{uid}:7:once:0~back"]
    assert grants_of(stack, uid + 1) == []


def test_grants_of_tasks_that_take_points_back_stay_and_what_was_swept_of_others_is_written_down(
    stack: PrivateStack, uid: int, swept: Callable[..., Any], settled: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.tasks.models import SweptTask
    from apps.tasks.points.sweep import Grants, kept_since

    takes, does_not = (published.task(revert_takes_back=flag) for flag in (True, False))
    published.publish_tasks(takes, does_not)
    taking, other = (published.number_of(each.code) for each in (takes, does_not))
    settled(uid, [5], days_ago=100, task=taking)
    settled(uid + 1, [5], days_ago=100, task=other)

    # Just published: a logic node may still work by the rules of before.
    swept(Grants(90))
    assert [len(grants_of(stack, user)) for user in (uid, uid + 1)] == [1, 1]

    monkeypatch.setattr("apps.tasks.points.sweep.SURELY_PUBLISHED", timedelta(0))
    swept(Grants(90))
    assert [len(grants_of(stack, user)) for user in (uid, uid + 1)] == [1, 0]
    assert (kept_since(taking), SweptTask.objects.filter(pk=taking).count()) == (None, 0)
    day = datetime.now(timezone.utc).date() - timedelta(days=91)
    assert kept_since(other) == datetime(day.year, day.month, day.day, tzinfo=timezone.utc)


def test_a_day_whose_grants_are_gone_is_not_compared_and_what_was_found_then_stands(
    stack: PrivateStack, uid: int, swept: Callable[..., Any]
) -> None:
    from apps.tasks.models import PointsReconciliation
    from apps.tasks.points.reconcile import reconcile
    from apps.tasks.points.sweep import Grants

    swept(Grants(90))
    today = datetime.now(timezone.utc).date()
    day, other = today - timedelta(days=200), today - timedelta(days=201)
    PointsReconciliation.objects.filter(day__in=(day, other)).delete()
    PointsReconciliation.objects.create(day=other, at=datetime.now(timezone.utc), outcome=PointsReconciliation.EQUAL)

    assert reconcile(stack.configuration().points, day).error.endswith("are not kept (points.keep_days)")
    assert reconcile(stack.configuration().points, other).outcome == PointsReconciliation.EQUAL


def test_the_figures_of_the_sweeps_are_there_for_prometheus(stack: PrivateStack, uid: int, swept: Callable[..., Any]) -> None:
    from apps.dbsvr.sweeps.events import AppliedEvents
    from apps.dbsvr.sweeps.metrics import SweepCollector

    write_events(stack, uid, 5, days_ago=40)
    write_events(stack, uid + 5, 1, days_ago=3)
    swept(AppliedEvents(30))

    shown = {sample.name: sample.value for metric in SweepCollector().collect() for sample in metric.samples}

    assert shown["tasksys_sweep_removed_rows_total"] >= 5
    assert shown["tasksys_sweep_failing"] == 0
    assert shown["tasksys_sweep_ended_age_seconds"] < 60
    assert shown["tasksys_sweep_oldest_row_age_seconds"] >= 3 * 86_400


def other_connection(stack: PrivateStack) -> Any:
    """Of the workers' account."""
    account = stack.configuration().databases.accounts.workers
    return MySQLdb.connect(host="127.0.0.1", port=stack.master.port, user=account.user, password=account.password, db=USERS)
