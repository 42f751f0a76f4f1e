"""History in the real database: written once, rolled up, bounded; and the sampler as a process."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from deploy.local.private_stack import PrivateStack
from deploy.local.stack_process import StackProcess
from tests.stack.waiting import eventually
from tests.unit.samples_of_a_dbsvr import healthy, replica

NOW = 1_700_000_000  # long ago: away from what the session's own sampler writes


@pytest.fixture
def instance(django_on_stack: PrivateStack, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a DBSvr that only this test writes about."""
    from apps.dbsvr.models import Sample, ServerSample

    name = f"t{abs(hash(request.node.name)) % 10**9}"
    yield name
    for model in (Sample, ServerSample):
        model.objects.filter(instance=name).delete()


def write(instance: str, first: int, count: int, reads: float = 10.0, lag_ms: float = 5.0) -> None:
    from apps.dbsvr.figures import Sample
    from apps.dbsvr.samples import write_seconds

    write_seconds(
        Sample(instance, first + second, healthy(second, reads=reads + second, replicas={"r1": replica(lag_ms=lag_ms + second)}))
        for second in range(count)
    )


def test_seconds_become_coarser_steps_with_means_and_worsts(instance: str) -> None:
    from apps.dbsvr.models import Sample, ServerSample
    from apps.dbsvr.samples import roll_up

    write(instance, NOW, 20)
    roll_up(10, NOW + 25)
    roll_up(10, NOW + 25)

    rows = list(Sample.objects.filter(instance=instance, step_s=10).order_by("at").values_list("at", "known", "reads"))
    lags = ServerSample.objects.filter(instance=instance, step_s=10, server="r1").order_by("at").values_list("lag_ms", flat=True)
    assert rows == [(NOW, 10, 14.5), (NOW + 10, 10, 24.5)]
    assert list(lags) == [14.0, 24.0]


def test_a_gap_gets_no_step_and_a_step_is_completed_by_what_comes_late(instance: str) -> None:
    from apps.dbsvr.models import Sample
    from apps.dbsvr.samples import roll_up

    write(instance, NOW, 10)
    write(instance, NOW + 30, 5)
    roll_up(10, NOW + 45)
    write(instance, NOW + 35, 5)
    roll_up(10, NOW + 45)

    rows = Sample.objects.filter(instance=instance, step_s=10).order_by("at").values_list("at", "known")
    assert list(rows) == [(NOW, 10), (NOW + 30, 10)]


def test_a_second_that_is_written_twice_stays_as_it_was(instance: str) -> None:
    from apps.dbsvr.models import Sample

    write(instance, NOW, 1, reads=10.0)
    write(instance, NOW, 1, reads=99.0)

    assert list(Sample.objects.filter(instance=instance).values_list("reads", flat=True)) == [10.0]


def test_each_step_is_deleted_when_it_is_older_than_it_is_kept(instance: str) -> None:
    from apps.dbsvr.models import Sample, ServerSample
    from apps.dbsvr.samples import delete_old, roll_up
    from apps.dbsvr.steps import STEPS

    write(instance, NOW, 30)
    roll_up(10, NOW + 40)
    delete_old(NOW + STEPS[1].keep_s + 10)

    assert Sample.objects.filter(instance=instance, step_s=1).count() == 20
    assert ServerSample.objects.filter(instance=instance, step_s=1).count() == 40
    assert Sample.objects.filter(instance=instance, step_s=10).count() == 3


def test_a_chart_of_seconds_has_a_gap_where_nothing_was_written(instance: str) -> None:
    from apps.dbsvr.console.charts import OVERVIEW
    from apps.dbsvr.console.histories import read
    from apps.dbsvr.steps import STEPS

    write(instance, NOW, 5)
    write(instance, NOW + 8, 2)

    histories = read(list(OVERVIEW), STEPS[1], instance, NOW + 10)

    assert [history.chart.key for history in histories] == [chart.key for chart in OVERVIEW]
    by_key = {history.chart.key: history for history in histories}
    assert by_key["throughput"].grid.rows == [1, 1, 1, 1, 1, 0, 0, 0, 1, 1]
    assert by_key["throughput"].grid.columns[0][:6] == [10.0, 11.0, 12.0, 13.0, 14.0, None]
    assert [one.key for one in by_key["reads-by-server"].series] == ["master", "r1"]
    assert [one.key for one in by_key["replica-lag"].series] == ["r1"]
    assert by_key["replica-lag"].grid.columns[0][0] == 0.005
    assert read(list(OVERVIEW), STEPS[1], instance, NOW + 10, since=NOW + 8)[0].grid.at == [NOW + 9]


@pytest.fixture
def sampler(django_on_stack: PrivateStack) -> Iterator[StackProcess]:
    process = make_sampler(django_on_stack, "sampler-alone")
    process.start()
    yield process
    process.stop()


def make_sampler(stack: PrivateStack, name: str) -> StackProcess:
    return StackProcess(name, [sys.executable, "manage.py", "sampler"], stack.directory / f"{name}.log", stack.environment)


def seq() -> int:
    from apps.dbsvr.state import read_state

    state = read_state()
    return state.seq if state else 0


def test_the_sampler_judges_every_second_and_stops_within_one(sampler: StackProcess) -> None:
    from apps.dbsvr.state import read_state

    before = seq()
    eventually(lambda: seq() >= before + 3, within_s=15, every_s=0.1)
    state = read_state()
    assert state is not None
    assert time.time() - state.judged_at < 3
    assert state.instances["a"].answers

    began = time.monotonic()
    assert sampler.stop() == 0, sampler.last_log_lines()
    assert time.monotonic() - began < 3.0  # three times its second


def test_a_second_sampler_waits_for_the_first_and_takes_its_place(sampler: StackProcess, django_on_stack: PrivateStack) -> None:
    before = seq()
    eventually(lambda: seq() > before, within_s=15, every_s=0.1)
    other = make_sampler(django_on_stack, "sampler-second")
    other.start()
    try:
        eventually(lambda: "another sampler is at work" in other.last_log_lines(), within_s=15, every_s=0.1)
        sampler.kill()
        killed_at = seq()
        eventually(lambda: seq() >= killed_at + 2, within_s=15, every_s=0.1)
    finally:
        assert other.stop() == 0


def test_a_front_that_is_killed_is_told_as_gone_and_its_return_ends_it(sampler: StackProcess, django_on_stack: PrivateStack) -> None:
    from apps.dbsvr.findings import shown
    from apps.dbsvr.state import read_state

    def codes() -> list[str]:
        state = read_state()
        # Of this DBSvr: what is said of the cache layer depends on whether other tests have run its center.
        return [finding.code for finding in shown(state.findings) if finding.instance == "a"] if state else []

    before = seq()
    eventually(lambda: seq() >= before + 2, within_s=15, every_s=0.1)
    django_on_stack.front.kill()
    try:
        eventually(lambda: codes() == ["dbsvr.down"], within_s=8, every_s=0.1)
    finally:
        django_on_stack.front.start()
        for process in django_on_stack.dbsvr_processes:
            if process.pid is None:
                process.start()
    eventually(lambda: "dbsvr.down" not in codes(), within_s=30, every_s=0.2)
    django_on_stack.wait_until_serving()
