"""How often a key may ask, without a broker: portions, refusals, changes, and a broker that fails."""

from __future__ import annotations

import pytest

from apps.tasks.limits import LEFT_ALONE_S, BrokerFailed, Limit, Limits, OwnAllowance

KEY = 7


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Shared(OwnAllowance):
    """The common bucket, as one process sees it; counts how often it is asked, and can be gone."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(1, clock)
        self.asked = 0
        self.is_gone = False

    def take(self, number: int, limit: Limit, want: int) -> tuple[int, float]:
        self.asked += 1
        if self.is_gone:
            raise BrokerFailed("gone")
        return super().take(number, limit, want)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shared(clock: Clock) -> Shared:
    return Shared(clock)


def process(shared: Shared, clock: Clock, processes: int = 2) -> Limits:
    return Limits(lambda: shared, OwnAllowance(processes, clock), clock)


def let_through(limits: Limits, limit: Limit, tries: int) -> int:
    return sum(not limits.take(KEY, limit) for _ in range(tries))


def test_a_burst_is_let_through_and_no_more(shared: Shared, clock: Clock) -> None:
    assert let_through(process(shared, clock), Limit(10, 25), 100) == 25


def test_who_is_refused_is_told_when_there_will_be_a_token(shared: Shared, clock: Clock) -> None:
    limits, limit = process(shared, clock), Limit(4, 4)
    let_through(limits, limit, 4)

    wait_s = limits.take(KEY, limit)
    assert wait_s == pytest.approx(0.25)
    clock.now += wait_s + 0.001
    assert limits.take(KEY, limit) == 0


def test_all_processes_together_get_what_the_key_may(shared: Shared, clock: Clock) -> None:
    both, limit = [process(shared, clock), process(shared, clock)], Limit(100, 100)

    passed = 0
    for _tick in range(300):  # three seconds
        passed += sum(let_through(each, limit, 3) for each in both)
        clock.now += 0.01

    assert 100 + 250 <= passed <= 100 + 300


def test_a_busy_process_asks_the_broker_a_few_times_a_second_and_one_that_was_refused_not_at_all(shared: Shared, clock: Clock) -> None:
    limits, limit = process(shared, clock), Limit(1000, 1000)
    for _tick in range(100):  # a second at 900 a second
        assert let_through(limits, limit, 9) == 9
        clock.now += 0.01
    assert shared.asked < 25

    let_through(limits, limit, 5_000)
    asked = shared.asked
    let_through(limits, limit, 500)
    assert shared.asked == asked


def test_a_process_that_is_asked_now_and_then_holds_nothing_back(shared: Shared, clock: Clock) -> None:
    rare, busy, limit = process(shared, clock), process(shared, clock), Limit(100, 100)
    for _second in range(5):
        let_through(rare, limit, 1)
        clock.now += 1.5

    assert let_through(busy, limit, 200) == 100


def test_a_change_of_the_limit_counts_at_once(shared: Shared, clock: Clock) -> None:
    limits = process(shared, clock)
    let_through(limits, Limit(1, 1), 5)
    assert limits.take(KEY, Limit(1, 1))

    clock.now += 0.2
    assert limits.take(KEY, Limit(100, 100)) == 0
    let_through(limits, Limit(100, 100), 200)
    assert let_through(limits, Limit(2, 2), 10) <= 2


def test_keys_do_not_share(shared: Shared, clock: Clock) -> None:
    limits, limit = process(shared, clock), Limit(5, 5)

    let_through(limits, limit, 10)
    assert limits.take(KEY + 1, limit) == 0


def test_without_a_broker_each_process_goes_by_its_share(shared: Shared, clock: Clock) -> None:
    limits, limit = process(shared, clock, processes=2), Limit(100, 100)
    shared.is_gone = True

    assert let_through(limits, limit, 500) == 50
    assert shared.asked == 1, "a broker that fails is left alone for a while"
    shared.is_gone = False
    clock.now += LEFT_ALONE_S + 0.01
    assert let_through(limits, limit, 500) == 100
