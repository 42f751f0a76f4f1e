"""The canary on real servers: right while all is right, and while a replica stands; and it finds a front that breaks the promise."""

from __future__ import annotations

import concurrent.futures
import getpass
import logging
import sys
import time
from collections.abc import Callable, Iterator

import MySQLdb
import pytest

from apps.dbsvr.canary import OLD, READ_FOR_S, Round, run_round
from apps.dbsvr.db_interface import DbInterface
from apps.dbsvr.findings import FAULT
from deploy.local.private_stack import PrivateStack, StackProcess
from tasksys_site.configuration import Configuration
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually

MakeStack = Callable[..., PrivateStack]


@pytest.fixture
def interface_to() -> Iterator[Callable[[PrivateStack], DbInterface]]:
    made: list[DbInterface] = []

    def make(stack: PrivateStack) -> DbInterface:
        interface = DbInterface(stack.configuration().dbsvr, deadline_ms=3_000)
        made.append(interface)
        return interface

    yield make
    for interface in made:
        interface.close()


def first_uid(stack: PrivateStack) -> int:
    return stack.configuration().canary.first_uid


def test_a_round_sees_the_write_on_a_replica_and_nothing_to_complain_of(
    stack: PrivateStack, interface_to: Callable[[PrivateStack], DbInterface]
) -> None:
    interface, uid = interface_to(stack), first_uid(stack) + 900
    found = run_round(interface, "node-1", uid)
    again = run_round(interface, "node-1", uid, found.known)

    for each in (found, again):
        assert (each.violations, each.errors) == ((), 0)
        assert each.replica_reads > 0
        assert each.delay_ms is not None
        assert 0 < each.delay_ms < READ_FOR_S * 1000
        assert each.margin_ticks is not None
        assert each.margin_ticks >= 0
    assert found.known is not None
    assert again.known is not None
    assert again.known.version == found.known.version + 1


def test_a_round_while_the_replica_stands_is_no_violation_and_its_delay_is_measured(
    stack: PrivateStack, interface_to: Callable[[PrivateStack], DbInterface]
) -> None:
    # given a replica that stands
    interface, uid, watcher = interface_to(stack), first_uid(stack) + 901, TaskClient(stack)
    before = run_round(interface, "node-1", uid).known
    stack.replica.stop_sql_thread()
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            under_way = pool.submit(run_round, interface, "node-1", uid, before)
            # when it goes on after the master has answered some of the round's reads
            seen = watcher.stats()["reads"]["by_reason"]["recent_write"]
            eventually(lambda: watcher.stats()["reads"]["by_reason"]["recent_write"] >= seen + 10)
            stack.replica.start_sql_thread()
            found = under_way.result(15)
    finally:
        stack.replica.start_sql_thread()

    # then nobody was shown anything old, and the canary knows how long the replica took
    assert (found.violations, found.errors) == ((), 0)
    assert found.reads > found.replica_reads > 0
    assert found.delay_ms is not None
    assert found.delay_ms > 20


def test_a_round_while_the_replica_stands_throughout_has_no_delay_and_no_violation(
    stack: PrivateStack, interface_to: Callable[[PrivateStack], DbInterface]
) -> None:
    interface, uid = interface_to(stack), first_uid(stack) + 902
    stack.replica.stop_sql_thread()
    try:
        found = run_round(interface, "node-1", uid)
    finally:
        stack.replica.start_sql_thread()

    assert (found.violations, found.errors, found.delay_ms, found.margin_ticks) == ((), 0, None, None)
    assert found.reads > 10


def test_a_front_without_stamps_is_found_out(make_stack: MakeStack, interface_to: Callable[[PrivateStack], DbInterface]) -> None:
    # given a front that sends reads to any replica, and a replica that stands
    stack = make_stack(double="WithoutStamps")
    interface, uid = interface_to(stack), first_uid(stack)
    stack.replica.stop_sql_thread()

    found = run_round(interface, "node-1", uid)

    assert {(violation.kind, violation.served_by) for violation in found.violations} == {(OLD, "r1")}


def test_a_dbsvr_that_is_away_is_an_error_and_no_violation(
    make_stack: MakeStack, interface_to: Callable[[PrivateStack], DbInterface]
) -> None:
    stack = make_stack()
    interface, uid = interface_to(stack), first_uid(stack)
    before = run_round(interface, "node-1", uid)
    stack.front.kill()

    found = run_round(interface, "node-1", uid, before.known)
    stack.front.start()
    stack.wait_until_serving()
    after = run_round(interface, "node-1", uid, found.known)

    assert (found.violations, found.reads, found.known) == ((), 0, before.known)
    assert found.error.startswith("UNREACHABLE")
    assert (after.violations, after.errors) == ((), 0)


# -- what is kept of the rounds


@pytest.fixture
def configuration(django_on_stack: PrivateStack) -> Iterator[Configuration]:
    """With rounds of its own: none before it, none after it."""
    from apps.dbsvr.models import CanaryRound

    CanaryRound.objects.all().delete()
    yield django_on_stack.configuration()
    CanaryRound.objects.all().delete()


def test_rounds_are_kept_summed_up_and_go_on_from_each_other(
    configuration: Configuration, stack: PrivateStack, interface_to: Callable[[PrivateStack], DbInterface]
) -> None:
    from apps.dbsvr.canary_rounds import next_round, promised_of, summary, uid_at

    interface, users, every_s = interface_to(stack), configuration.canary.users, configuration.canary.every_s
    now = 1_700_000_000.0
    first = next_round(configuration, interface, now)
    second = next_round(configuration, interface, now + every_s)
    again = next_round(configuration, interface, now + users * every_s)

    assert first is not None
    assert second is not None
    assert again is not None
    assert first.uid == again.uid == uid_at(configuration, now) != second.uid
    assert promised_of(first.uid) == again.known
    found = summary(now + users * every_s + 1)
    assert found is not None
    assert (found.rounds, found.violations, found.errors) == (3, 0, 0)
    assert found.delay_ms == pytest.approx(again.delay_ms)


def test_a_violation_is_logged_kept_longer_and_summed_up(configuration: Configuration, caplog: pytest.LogCaptureFixture) -> None:
    from apps.dbsvr.canary import Known, Violation
    from apps.dbsvr.canary_rounds import KEPT_S, VIOLATIONS_KEPT_S, delete_old, report, summary, write

    uid, now = configuration.canary.first_uid, 1_700_000_000.0
    violation = Violation(OLD, "get", "r1", Known(1, 5, 5), Known(1, 4, 4))
    found = Round(uid, Known(1, 5, 5), reads=9, replica_reads=4, violations=(violation, violation))
    with caplog.at_level(logging.WARNING):
        report(found)
    write(found, now)
    write(Round(uid, Known(1, 6, 6), reads=9), now + 1)

    (record,) = caplog.records
    assert record.getMessage() == "the canary found a violation"
    assert (record.kind, record.times, record.served_by) == (OLD, 2, "r1")  # type: ignore[attr-defined]
    summed = summary(now + 2)
    assert summed is not None
    assert (summed.rounds, summed.violations, summed.violation_at, summed.kind) == (2, 1, now, OLD)
    delete_old(now + KEPT_S + 10)
    from apps.dbsvr.models import CanaryRound

    assert list(CanaryRound.objects.values_list("violations", flat=True)) == [2]
    delete_old(now + VIOLATIONS_KEPT_S + 10)
    assert not CanaryRound.objects.exists()


def test_a_round_beside_another_is_left_out(
    configuration: Configuration, stack: PrivateStack, interface_to: Callable[[PrivateStack], DbInterface]
) -> None:
    from apps.dbsvr.canary_rounds import next_round

    schema = configuration.databases.configuration_schema
    other = MySQLdb.connect(unix_socket=str(stack.master.socket), user=getpass.getuser())
    try:
        cursor = other.cursor()
        cursor.execute("SELECT GET_LOCK(%s, 0)", [f"{schema}.canary"])
        assert next_round(configuration, interface_to(stack), 1_700_000_000.0) is None
    finally:
        other.close()


def test_the_sampler_takes_a_violation_into_the_state_of_the_console(configuration: Configuration, django_on_stack: PrivateStack) -> None:
    from apps.dbsvr.canary import Known, Violation
    from apps.dbsvr.canary_rounds import write
    from apps.dbsvr.canary_rules import CODE
    from apps.dbsvr.state import read_state

    uid, now = configuration.canary.first_uid, time.time()
    write(Round(uid, violations=(Violation(OLD, "get", "r1", Known(1, 5, 5), Known(1, 4, 4)),)), now)
    log = django_on_stack.directory / "sampler-canary.log"
    sampler = StackProcess("sampler-canary", [sys.executable, "manage.py", "sampler"], log, django_on_stack.environment)
    sampler.start()

    def told() -> bool:
        state = read_state()
        assert state is not None
        assert state.canary is not None
        assert (state.canary.violations, state.canary.served_by) == (1, "r1")
        (finding,) = [it for it in state.findings if it.code == CODE]
        return finding.level == state.light == FAULT

    try:
        eventually(told, within_s=20, every_s=0.1)
    finally:
        sampler.stop()


def test_the_task_of_celery_runs_a_round_and_keeps_it(configuration: Configuration, stack: PrivateStack) -> None:
    from apps.dbsvr.models import CanaryRound
    from apps.dbsvr.tasks import canary_round
    from tasksys_site.celery import CANARY, app

    entry = app.conf.beat_schedule["canary"]
    assert entry["task"] == CANARY == canary_round.name
    assert entry["schedule"] == configuration.canary.every_s

    canary_round()

    row = CanaryRound.objects.get()
    assert (row.violations, row.errors) == (0, 0)
    assert row.replica_reads > 0
    assert configuration.canary.first_uid <= row.uid < configuration.canary.first_uid + configuration.canary.users
