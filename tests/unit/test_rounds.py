"""The front looks around when it is time to, rides along with its workers' words when it can, and ends with what a look raises."""

from __future__ import annotations

import asyncio

import pytest

from workers import rounds
from workers.rounds import Rounds

LONG_S = 60.0


class Front:
    """Whose rounds they are."""

    def __init__(self) -> None:
        self.looks = 0
        self.requests_wait = False
        self.fault: Exception | None = None
        self.looked = asyncio.Event()
        self.rounds = Rounds(self._look_around, lambda: self.requests_wait)

    def _look_around(self, now: float) -> None:
        self.looks += 1
        self.looked.set()
        if self.fault is not None:
            raise self.fault

    async def next_look(self) -> None:
        self.looked.clear()
        await asyncio.wait_for(self.looked.wait(), 5)


@pytest.fixture
def every(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(rounds, "LOOK_AROUND_S", LONG_S)
    monkeypatch.setattr(rounds, "LOOK_AROUND_IDLE_S", LONG_S)
    return monkeypatch


async def _going(front: Front) -> asyncio.Task[None]:
    going = asyncio.create_task(front.rounds.go())
    await front.next_look()
    return going


def test_it_looks_at_once_and_again_without_a_word_from_anybody(every: pytest.MonkeyPatch) -> None:
    every.setattr(rounds, "LOOK_AROUND_IDLE_S", 0.001)

    async def run() -> None:
        front = Front()
        going = await _going(front)
        await front.next_look()
        await front.next_look()
        front.rounds.stop()
        await going

    asyncio.run(run())


def test_while_requests_wait_it_looks_as_often_as_they_need(every: pytest.MonkeyPatch) -> None:
    every.setattr(rounds, "LOOK_AROUND_S", 0.001)

    async def run() -> None:
        front = Front()
        front.requests_wait = True
        going = await _going(front)
        await front.next_look()
        front.rounds.stop()
        await going

    asyncio.run(run())


@pytest.mark.parametrize("requests_wait", [False, True])
def test_a_word_brings_a_look_once_it_is_time_for_one(every: pytest.MonkeyPatch, requests_wait: bool) -> None:
    async def run() -> None:
        front = Front()
        front.requests_wait = requests_wait
        going = await _going(front)

        front.rounds.ride_along()
        assert front.looks == 1  # the last is too young

        every.setattr(rounds, "LOOK_AROUND_S" if requests_wait else "LOOK_AROUND_IDLE_S", 0.0)
        front.rounds.ride_along()
        assert front.looks == 2
        front.rounds.stop()
        await going

    asyncio.run(run())


def test_after_its_end_nobody_rides_along(every: pytest.MonkeyPatch) -> None:
    every.setattr(rounds, "LOOK_AROUND_IDLE_S", 0.0001)

    async def run() -> None:
        front = Front()
        going = await _going(front)
        front.rounds.stop()
        await going
        looks = front.looks
        front.rounds.ride_along()
        assert front.looks == looks

    asyncio.run(run())


@pytest.mark.parametrize("rides", [False, True])
def test_what_a_look_raises_ends_the_front(every: pytest.MonkeyPatch, rides: bool) -> None:
    every.setattr(rounds, "LOOK_AROUND_IDLE_S", LONG_S if rides else 0.01)

    async def run() -> None:
        front = Front()
        going = await _going(front)
        front.fault = ZeroDivisionError()
        if rides:
            every.setattr(rounds, "LOOK_AROUND_IDLE_S", 0.0)
            front.rounds.ride_along()
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(going, 5)

    asyncio.run(run())


def test_a_stop_before_the_first_look_is_heeded(every: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        front = Front()
        front.rounds.stop()
        await asyncio.wait_for(front.rounds.go(), 5)
        assert front.looks == 0

    asyncio.run(run())
