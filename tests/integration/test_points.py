"""From `grant_outbox` to a points system that fails in every way: what it has at the end equals what was granted, exactly."""

from __future__ import annotations

import itertools
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import MySQLdb
import pytest

from deploy.local.mariadb import GRANT_COLUMNS, grant_on_tables
from deploy.local.private_stack import PrivateStack
from deploy.local.stack_process import StackProcess
from tests.stack.checked import checked
from tests.stack.exposition import exposed
from tests.stack.points import INSERT, PointsSystem, grant_rows, make_due, states_of, write_grants
from tests.stack.waiting import eventually

_blocks = itertools.count(910_000_000, 1_000)
DELIVERED_WITHIN_S = 30


@pytest.fixture(scope="module")
def started(django_on_stack: PrivateStack) -> Iterator[PointsSystem]:
    system = PointsSystem(django_on_stack.directory / "points")
    system.start()
    yield system
    system.stop()


@pytest.fixture
def points(django_on_stack: PrivateStack, started: PointsSystem) -> Iterator[PointsSystem]:
    """Well and running before and after each test; nothing of an earlier test is due."""
    django_on_stack.master.execute("DELETE FROM grant_outbox", "tasksys_user")
    yield started
    if started.pid is None:
        started.start()
    started.fail()


@pytest.fixture
def uid() -> int:
    """The first of a thousand that are this test's."""
    return next(_blocks)


@pytest.fixture
def make_relay() -> Iterator[Any]:
    from apps.tasks.points.relay import Relay

    made: list[Any] = []

    def make(points: PointsSystem, **settings: Any) -> Any:
        made.append(Relay(points.settings(**settings)))
        return made[-1]

    yield make
    for relay in made:
        relay.close()


def deliver(relay: Any, stack: PrivateStack, first: int, last: int) -> None:
    """Until nothing is on its way; back-offs are cut short."""

    def is_done() -> bool:
        make_due(stack, first, last)
        relay._rest.__init__()
        relay.drain()
        return not states_of(stack, first, last).keys() & {"pending", "sent", "indeterminate"}

    eventually(is_done, within_s=DELIVERED_WITHIN_S * 3)


def test_grants_arrive_once_and_in_each_users_order(stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any) -> None:
    write_grants(stack, [row for user in range(uid, uid + 20) for row in grant_rows(user, [5, 10, -5])])

    done = make_relay(points).drain(10)

    assert states_of(stack, uid, uid + 20) == {"confirmed": 60}
    assert (done.sent, done.confirmed) == (60, 60)
    assert {points.balance(user) for user in range(uid, uid + 20)} == {10}
    settled = stack.master.execute("SELECT version FROM grant_outbox WHERE uid = %s ORDER BY settled_ms, version", "tasksys_user", (uid,))
    assert [version for (version,) in settled] == [1, 2, 3]


def test_what_a_completion_earns_arrives_once_however_often_its_event_is_sent(
    stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any
) -> None:
    change = '[{"task": 6, "period": "once", "op": "add", "value": 3, "target": 3, "points": 50}]'
    relay = make_relay(points)

    for _ in range(3):
        with stack.client() as client:
            client.execute_command("TASK.FINISH", uid, "node-1", f"event-{uid}", change)
        relay.drain()

    assert (points.balance(uid), points.grants_of(uid)) == (50, 1)
    (row,) = stack.master.execute("SELECT grant_id, total, state FROM grant_outbox WHERE uid = %s", "tasksys_user", (uid,))
    assert row == (f"{uid}:6:once:0", 50, 2)


@pytest.mark.parametrize(
    ("faults", "seen"),
    [
        ({"errors": 0.5}, "error"),
        ({"lost": 0.3, "hold_ms": 600}, "lost"),
        ({"twice": 1.0}, "twice"),
        ({"garbled": 1.0}, "garbled"),
    ],
)
def test_whatever_the_points_system_does_wrong_the_balance_equals_the_grants(
    stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any, faults: dict[str, Any], seen: str
) -> None:
    users = range(uid, uid + 10)
    write_grants(stack, [row for user in users for row in grant_rows(user, [1, 2, 4])])
    points.fail(**faults)

    deliver(make_relay(points), stack, uid, users[-1])

    assert states_of(stack, uid, users[-1]) == {"confirmed": 30}
    assert {(points.balance(user), points.grants_of(user)) for user in users} == {(7, 3)}
    assert points.counts()[seen]


def test_an_answer_that_was_lost_leaves_the_grant_indeterminate_and_the_next_one_waiting(
    stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any
) -> None:
    write_grants(stack, grant_rows(uid, [3, 4]))
    points.fail(lost=1.0, hold_ms=1_000)

    make_relay(points).drain()

    assert states_of(stack, uid, uid) == {"indeterminate": 1, "pending": 1}
    assert points.balance(uid) == 3, "it was applied, and nobody knows here"


def test_while_it_is_down_few_are_tried_and_when_it_is_back_all_arrive(
    stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any
) -> None:
    users = range(uid, uid + 100)
    write_grants(stack, [row for user in users for row in grant_rows(user, [1])])
    relay = make_relay(points)
    points.kill()

    relay.drain()
    relay.drain()

    (tried,) = stack.master.execute("SELECT COUNT(*) FROM grant_outbox WHERE attempts > 0", "tasksys_user")[0]
    assert 5 <= tried <= 40, "an outage costs those who wait through it no attempt"
    points.start()
    deliver(relay, stack, uid, users[-1])
    assert {points.balance(user) for user in users} == {1}


def test_two_relays_at_once_send_nothing_twice(stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any) -> None:
    users = range(uid, uid + 200)
    write_grants(stack, [row for user in users for row in grant_rows(user, [1, 1])])
    before = points.counts()
    relays = [make_relay(points) for _ in range(2)]

    def is_done() -> bool:
        return states_of(stack, uid, users[-1]) == {"confirmed": 400}

    threads = [threading.Thread(target=_drain_until, args=(relay, is_done)) for relay in relays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert is_done()
    after = points.counts()
    assert after["201"] - before.get("201", 0) == 400
    assert after.get("409", 0) == before.get("409", 0), "nothing came a second time"


def _drain_until(relay: Any, is_done: Callable[[], bool]) -> None:
    from django.db import connections

    try:
        until = time.monotonic() + DELIVERED_WITHIN_S
        while not is_done() and time.monotonic() < until:
            relay.drain()
    finally:
        connections.close_all()


def test_the_rate_holds_over_two_relays(stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any) -> None:
    write_grants(stack, [row for user in range(uid, uid + 200) for row in grant_rows(user, [1])])
    relays = [make_relay(points, rate_per_s=40) for _ in range(2)]

    began = time.monotonic()
    threads = [threading.Thread(target=_one_drain, args=(relay,)) for relay in relays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began

    sent = states_of(stack, uid, uid + 200)["confirmed"]
    assert 10 <= sent <= 40 * took + 5


def _one_drain(relay: Any) -> None:
    from django.db import connections

    try:
        relay.drain(1)
    finally:
        connections.close_all()


def test_a_lower_id_that_commits_late_is_not_skipped(stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any) -> None:
    late, early = grant_rows(uid, [3]), grant_rows(uid + 1, [4])
    open_transaction = MySQLdb.connect(unix_socket=str(stack.master.socket), db="tasksys_user")
    try:
        open_transaction.cursor().execute(INSERT, late[0])
        write_grants(stack, early)
        relay = make_relay(points)
        relay.drain()
        assert states_of(stack, uid, uid + 1) == {"confirmed": 1}

        open_transaction.commit()
    finally:
        open_transaction.close()
    relay.drain()

    assert (points.balance(uid), points.balance(uid + 1)) == (3, 4)


def test_what_is_refused_for_good_is_rejected_and_lets_the_next_one_go(
    stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any
) -> None:
    write_grants(stack, grant_rows(uid, [3, 4]))
    stack.master.execute("UPDATE grant_outbox SET tier = 1, period_key = '' WHERE uid = %s AND version = 1", "tasksys_user", (uid,))
    relay = make_relay(points)
    # The id that is sent is not the one that the points system expects of a grant: 422.
    relay._client._http.event_hooks["request"] = [lambda request: _spoil(request, f"{uid}:7:p1:0")]

    relay.drain()

    assert states_of(stack, uid, uid) == {"rejected": 1, "confirmed": 1}
    assert points.balance(uid) == 4


def _spoil(request: Any, grant_id: str) -> None:
    if request.headers["Idempotency-Key"] == grant_id:
        request.headers["Idempotency-Key"] = "another"


def test_a_wrong_secret_rejects_nothing(stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any) -> None:
    write_grants(stack, grant_rows(uid, [3]))

    make_relay(points, token_file=None).drain()

    assert states_of(stack, uid, uid) == {"pending": 1}
    assert stack.master.execute("SELECT error FROM grant_outbox WHERE uid = %s", "tasksys_user", (uid,))[0][0].startswith("401")


def test_a_busy_points_system_is_left_alone_as_long_as_it_asks(
    stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any
) -> None:
    from apps.tasks.models import PointsProvider

    write_grants(stack, [row for user in range(uid, uid + 100) for row in grant_rows(user, [1])])
    points.fail(busy=1.0, retry_after_s=60)
    relay = make_relay(points)

    relay.drain()
    before = points.counts()["busy"]
    relay.drain()

    assert points.counts()["busy"] == before <= 40
    assert PointsProvider.objects.get().hold_until_ms > time.time() * 1000 + 30_000
    PointsProvider.objects.update(hold_until_ms=0)


def test_paused_sends_nothing_and_resumed_goes_on(stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any) -> None:
    from apps.tasks.models import AuditEntry
    from apps.tasks.points.provider import set_paused

    write_grants(stack, grant_rows(uid, [3]))
    relay = make_relay(points)

    assert set_paused(None, True)
    relay.drain()
    assert states_of(stack, uid, uid) == {"pending": 1}

    assert set_paused(None, False)
    relay.drain()
    assert states_of(stack, uid, uid) == {"confirmed": 1}
    assert list(AuditEntry.objects.order_by("-id").values_list("action", flat=True)[:2]) == ["points_resume", "points_pause"]


def test_of_totals_only_the_newest_is_sent(stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any) -> None:
    write_grants(stack, grant_rows(uid, [3, 4, 5]))

    done = make_relay(points, sends="totals").drain()

    assert states_of(stack, uid, uid) == {"superseded": 2, "confirmed": 1}
    assert (points.balance(uid), points.grants_of(uid), done.superseded) == (12, 1, 2)


def test_what_fails_for_too_long_is_dead_and_arrives_when_it_is_sent_again(
    stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any
) -> None:
    from apps.tasks.points.resend import resend, resend_all
    from apps.tasks.points.states import State

    write_grants(stack, [row for user in range(uid, uid + 3) for row in grant_rows(user, [3])])
    relay = make_relay(points, give_up_after_s=60)
    points.fail(errors=1.0)
    deliver(relay, stack, uid, uid + 2)
    assert states_of(stack, uid, uid + 2) == {"dead": 3}
    points.fail()

    assert resend(None, [f"{uid}:7:p1:0", "no such grant"]) == 1
    assert resend_all(None, State.DEAD) == 2
    deliver(relay, stack, uid, uid + 2)

    assert {points.balance(user) for user in range(uid, uid + 3)} == {3}


def test_thousands_behind_one_users_failing_grant_keep_nobody_else_waiting(
    stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any
) -> None:
    write_grants(stack, grant_rows(uid, [1] * 3_000))
    stack.master.execute(
        "UPDATE grant_outbox SET attempts = 3, due_ms = %s WHERE uid = %s AND version = 1",
        "tasksys_user",
        (int(time.time() * 1000) + 60_000, uid),
    )
    write_grants(stack, grant_rows(uid + 1, [5]))
    relay = make_relay(points)

    def arrives() -> bool:
        relay.drain()
        return points.balance(uid + 1) == 5

    eventually(arrives, within_s=DELIVERED_WITHIN_S)
    assert points.balance(uid) == 0


def test_check_says_whether_the_relay_may_move_grants_on(stack: PrivateStack, points: PointsSystem) -> None:
    assert "well   points: the web's account may move grants on" in checked(stack, points.environment).stdout

    accounts = stack.configuration().databases.accounts
    for host in ("127.0.0.1", "localhost"):
        stack.master.execute(
            f"REVOKE UPDATE ({GRANT_COLUMNS}) ON tasksys_user.grant_outbox FROM %s@%s", parameters=(accounts.web.user, host)
        )
    try:
        assert "FAULT  points: the web's account may not move grants on" in checked(stack, points.environment).stdout
    finally:
        grant_on_tables(stack.master, accounts)


@pytest.fixture
def relay_processes(stack: PrivateStack, points: PointsSystem) -> Iterator[list[StackProcess]]:
    """Two, not started."""
    command = [sys.executable, "-m", "tests.stack.relay_process"]
    environment = {**stack.environment, **points.environment}
    made = [StackProcess(f"relay-{number}", command, stack.directory / f"relay-{number}.log", environment) for number in (1, 2)]
    yield made
    for process in made:
        process.kill()


@pytest.fixture
def workers(stack: PrivateStack, points: PointsSystem) -> Iterator[list[StackProcess]]:
    """Two Celery workers of queue points, and beat, as in production."""
    stack.environment.update(points.environment)
    made = [stack.celery("points", concurrency=4), stack.celery("points", concurrency=4), stack.beat()]
    for process in made:
        process.start()
    yield made
    for process in made:
        process.stop()
    for name in points.environment:
        del stack.environment[name]


def test_a_relay_that_is_killed_while_it_sends_loses_nothing_and_repeats_nothing(
    stack: PrivateStack, points: PointsSystem, uid: int, relay_processes: list[StackProcess]
) -> None:
    killed, other = relay_processes
    killed.start()
    users = range(uid, uid + 40)
    points.fail(slow_ms=300)
    write_grants(stack, [row for user in users for row in grant_rows(user, [1, 2])])
    eventually(lambda: states_of(stack, uid, users[-1]).get("sent", 0) > 3, within_s=DELIVERED_WITHIN_S * 3)

    killed.kill()

    assert states_of(stack, uid, users[-1])["sent"]
    points.fail()
    make_due(stack, uid, users[-1])  # instead of waiting for the lease's end
    other.start()
    eventually(lambda: states_of(stack, uid, users[-1]) == {"confirmed": 80}, within_s=DELIVERED_WITHIN_S * 3)
    assert {(points.balance(user), points.grants_of(user)) for user in users} == {(3, 2)}


@pytest.mark.long
def test_after_five_minutes_of_faults_the_balance_equals_the_grants(
    stack: PrivateStack, points: PointsSystem, uid: int, workers: list[StackProcess]
) -> None:
    users = range(uid, uid + 300)
    granted = dict.fromkeys(users, 0)
    versions = dict.fromkeys(users, 0)
    draw = random.Random(7)
    faults: list[dict[str, Any]] = [
        {"errors": 0.3},
        {"lost": 0.2, "hold_ms": 600},
        {"twice": 0.5, "slow_ms": 30},
        {"dead": True},
        {"errors": 0.1, "lost": 0.1, "garbled": 0.1, "twice": 0.1, "busy": 0.05, "hold_ms": 600},
        {},
    ]
    until = time.monotonic() + 300
    for turn in itertools.count():
        if time.monotonic() > until:
            break
        if points.pid is None:
            points.start()
        points.fail(**faults[turn % len(faults)])
        if turn % 5 == 3:
            points.kill()  # and its balances are on the disk
        if turn % 4 == 2:
            workers[turn % 2].kill()
            workers[turn % 2].start()
        rows = []
        for user in draw.sample(users, 60):
            versions[user] += 1
            granted[user] += (value := draw.randrange(1, 100))
            row = list(grant_rows(user, [value], versions[user])[0])
            row[7] = granted[user]
            rows.append(tuple(row))
        write_grants(stack, rows)
        next_turn = time.monotonic() + 5
        eventually(lambda: time.monotonic() > next_turn, within_s=30, every_s=0.2)  # noqa: B023  # asked before the next turn
    if points.pid is None:
        points.start()
    points.fail()

    def is_done() -> bool:
        make_due(stack, uid, users[-1])
        return states_of(stack, uid, users[-1]).keys() == {"confirmed"}

    eventually(is_done, within_s=180, every_s=1)
    assert {user: points.balance(user) for user in users} == granted
    assert {user: points.grants_of(user) for user in users} == versions


def test_prometheus_learns_what_waits_and_for_how_long(stack: PrivateStack, points: PointsSystem, uid: int, make_relay: Any) -> None:
    from django.test import Client

    from apps.tasks.keys import create_api_key

    write_grants(stack, grant_rows(uid, [5]))
    deliver(make_relay(points), stack, uid, uid)
    nothing = "tasksys_points_oldest_wait_seconds"
    _key, text = create_api_key("prometheus of points", ["read"])

    refused, calm = Client().get("/metrics/points"), exposed("/metrics/points", text)
    write_grants(stack, grant_rows(uid + 1, [5, 10]))
    busy = exposed("/metrics/points", text)

    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, "Api-Key")
    assert nothing not in calm
    assert 'tasksys_points_grants{state="pending"} 2.0' in busy
    assert f"{nothing} " in busy
    assert "tasksys_points_paused 0.0" in busy
