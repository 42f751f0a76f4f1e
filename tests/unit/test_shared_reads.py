"""A crowd that misses one user shares reads, and nobody takes an answer that is older than he is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from apps.cachesync.shared_reads import SharedReads
from tests.stack.waiting import eventually
from workers.protocol import Snapshot, TimedOut, Unreachable

UID = 7


class SlowDBSvr:
    """Answers with the version that it had when the read began, once it is let go."""

    def __init__(self) -> None:
        self.version = 1
        self.begun = 0
        self.let_go = threading.Event()

    def ask(self) -> Snapshot:
        self.begun += 1
        version = self.version
        assert self.let_go.wait(10)
        return Snapshot(UID, 1, version, 0, [])


class Crowd:
    """Threads that read, and what each got."""

    def __init__(self, reads: SharedReads) -> None:
        self._reads = reads
        self.versions: list[int] = []
        self.errors: list[Exception] = []
        self.threads: list[threading.Thread] = []

    def come(self, count: int, ask: Callable[[], Snapshot], within_s: float = 10.0) -> None:
        def read() -> None:
            try:
                self.versions.append(self._reads.read(UID, time.monotonic() + within_s, ask).version)
            except (TimedOut, Unreachable) as error:
                self.errors.append(error)

        for _ in range(count):
            self.threads.append(threading.Thread(target=read))
            self.threads[-1].start()

    def leave(self) -> None:
        for thread in self.threads:
            thread.join()


@pytest.fixture
def reads() -> SharedReads:
    return SharedReads()


def waiting(reads: SharedReads) -> int:
    return reads._crowds[UID].members if UID in reads._crowds else 0


def test_a_crowd_costs_two_reads(reads: SharedReads) -> None:
    dbsvr, crowd = SlowDBSvr(), Crowd(reads)
    crowd.come(200, dbsvr.ask)
    eventually(lambda: waiting(reads) == 200)

    dbsvr.let_go.set()
    crowd.leave()

    assert crowd.versions == [1] * 200
    assert dbsvr.begun <= 2
    assert not reads._crowds, "nothing is kept of a user whom nobody wants"


def test_who_comes_after_a_read_has_begun_does_not_take_its_answer(reads: SharedReads) -> None:
    dbsvr, early, late = SlowDBSvr(), Crowd(reads), Crowd(reads)
    early.come(1, dbsvr.ask)
    eventually(lambda: dbsvr.begun == 1)

    dbsvr.version = 2  # a write is acknowledged now
    late.come(50, dbsvr.ask)
    eventually(lambda: waiting(reads) == 51)
    dbsvr.let_go.set()
    early.leave()
    late.leave()

    assert early.versions == [1]
    assert late.versions == [2] * 50
    assert dbsvr.begun == 2


def test_a_failed_read_fails_for_its_own_caller_and_the_next_one_asks_again(reads: SharedReads) -> None:
    dbsvr, crowd = SlowDBSvr(), Crowd(reads)

    def fail() -> Snapshot:
        dbsvr.ask()
        raise Unreachable()

    crowd.come(1, fail)
    eventually(lambda: dbsvr.begun == 1)
    crowd.come(3, dbsvr.ask)
    eventually(lambda: waiting(reads) == 4)
    dbsvr.let_go.set()
    crowd.leave()

    assert [type(error) for error in crowd.errors] == [Unreachable]
    assert crowd.versions == [1] * 3


def test_nobody_waits_in_the_crowd_past_his_deadline(reads: SharedReads) -> None:
    dbsvr, patient, hasty = SlowDBSvr(), Crowd(reads), Crowd(reads)
    patient.come(1, dbsvr.ask)
    eventually(lambda: dbsvr.begun == 1)

    hasty.come(1, dbsvr.ask, within_s=0.05)
    hasty.leave()
    dbsvr.let_go.set()
    patient.leave()

    assert [type(error) for error in hasty.errors] == [TimedOut]
    assert patient.versions == [1]


def test_users_do_not_wait_for_each_other(reads: SharedReads) -> None:
    dbsvr, crowd = SlowDBSvr(), Crowd(reads)
    crowd.come(1, dbsvr.ask)
    eventually(lambda: dbsvr.begun == 1)

    assert reads.read(UID + 1, time.monotonic() + 1, lambda: Snapshot(UID + 1, 1, 5, 0, [])).version == 5
    dbsvr.let_go.set()
    crowd.leave()
