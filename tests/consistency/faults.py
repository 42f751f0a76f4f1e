"""What goes wrong while the clients run: faults drawn by a seed, each mended before the run is judged.

While a fault of SPARING lasts, and after it, some server may still serve every read, so INV 7 holds: no read waits long. The other
faults trouble reads until the master's worker is up again.
"""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import MySQLdb
import redis
import sysv_ipc

from deploy.local.private_stack import PrivateDBSvr, PrivateStack, StackProcess
from tests.consistency.clients import FIRST_UID, Run
from tests.stack.api_stack import ApiStack
from tests.stack.locks import HeldLock
from tests.stack.waiting import eventually
from workers.process import Exit

Fault = Callable[[PrivateStack, random.Random, threading.Event], None]
RECOVERY_S = 1.0
"""How long reads may be troubled after the master's worker is up again: what has piled up is worked off."""


def delay_replica(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    rnd.choice(list(stack.replicas.values())).delay(rnd.choice((0, 1, 1, 2)))


def stop_sql_thread(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    replica = rnd.choice(list(stack.replicas.values()))
    replica.stop_sql_thread()
    ending.wait(rnd.uniform(0.1, 1.5))
    replica.start_sql_thread()


def freeze_replica(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    replica = rnd.choice(list(stack.replicas.values()))
    replica.freeze()
    ending.wait(rnd.uniform(0.1, 3.0))
    replica.thaw()


def kill_replica(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    replica = rnd.choice(list(stack.replicas.values()))
    replica.kill()
    ending.wait(rnd.uniform(0, 1.0))
    replica.start()


def kill_replica_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    kill_process(rnd.choice(list(stack.replica_workers.values())), rnd, ending)


def freeze_replica_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    freeze_process(rnd.choice(list(stack.replica_workers.values())), rnd, ending)


def term_replica_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    term_process(rnd.choice(list(stack.replica_workers.values())))


def hold_replica(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """An operator says that a replica is not to be used, and soon that it is."""
    name = rnd.choice(list(stack.replicas))
    with contextlib.suppress(AssertionError):
        tell(stack, "TASK.HOLD", name, "faults", "a fault of the test")
    ending.wait(rnd.uniform(0.1, 1.5))
    eventually(lambda: tell(stack, "TASK.RELEASE", name, "faults"), within_s=30, every_s=0.1)


def tell(stack: PrivateStack, *words: str) -> bool:
    """True when it was done; AssertionError with what was said instead, as when the front or its master's worker is not there."""
    try:
        with stack.client() as client:
            client.execute_command(*words)
    except (redis.RedisError, OSError) as error:
        raise AssertionError(f"{words[0]}: {error!r}") from error
    return True


def lock_user_rows(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """Somebody holds the rows of a few busy users."""
    first = FIRST_UID + rnd.randrange(20)
    with contextlib.suppress(MySQLdb.OperationalError):  # our own wait was too long, or our connection broke
        lock = HeldLock(stack.master, f"SELECT * FROM user_state WHERE uid BETWEEN {first} AND {first + 3} FOR UPDATE", "tasksys_user")
        ending.wait(rnd.uniform(0.1, 2.5))
        lock.release()


def kill_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    kill_process(stack.master_worker, rnd, ending)


def freeze_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    freeze_process(stack.master_worker, rnd, ending)


def term_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    term_process(stack.master_worker)


def supersede_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    supersede_worker(stack, stack.dbsvr, rnd, ending)


def supersede_worker(stack: PrivateStack, dbsvr: PrivateDBSvr, rnd: random.Random, ending: threading.Event) -> None:
    """The worker freezes in the midst of its work, its successor comes, and the old one thaws."""
    frozen, successor = dbsvr.master_worker, stack.another("master_db_svr", instance=dbsvr.name)
    frozen.freeze()
    dbsvr.master_worker = successor
    successor.start()
    ending.wait(rnd.uniform(0.2, 3.0))
    frozen.thaw()
    eventually(lambda: frozen.exit_code is not None or successor.exit_code is not None, within_s=30)
    if successor.exit_code is not None:
        dbsvr.master_worker = frozen  # it froze before it had come to the front, and so it came last


def freeze_master(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    stack.master.freeze()
    ending.wait(rnd.uniform(0.1, 3.0))
    stack.master.thaw()


def kill_front(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    kill_process(stack.front, rnd, ending)


def term_front(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    term_process(stack.front)


def remove_queues(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """ipcrm"""
    for offset in rnd.sample(range(3), rnd.randrange(1, 4)):
        with contextlib.suppress(sysv_ipc.ExistentialError):  # removed before, and not made anew yet
            sysv_ipc.MessageQueue(stack.queue_key + offset).remove()


def kill_process(process: StackProcess, rnd: random.Random, ending: threading.Event) -> None:
    process.kill()
    ending.wait(rnd.uniform(0, 0.5))
    process.start()


def freeze_process(process: StackProcess, rnd: random.Random, ending: threading.Event) -> None:
    process.freeze()
    ending.wait(rnd.uniform(0.1, 1.5))
    process.thaw()


def term_process(process: StackProcess) -> None:
    code = process.stop()
    # Right after its start it does not listen to signals yet.
    assert code in (Exit.STOPPED, -signal.SIGTERM), f"{process.name} ended with {code} when asked to stop:\n{process.last_log_lines()}"
    process.start()


SPARING: tuple[Fault, ...] = (
    delay_replica,
    delay_replica,
    stop_sql_thread,
    freeze_replica,
    kill_replica,
    kill_replica_worker,
    freeze_replica_worker,
    term_replica_worker,
    hold_replica,
    lock_user_rows,
)
PIPELINE: tuple[Fault, ...] = (
    *SPARING,
    kill_master_worker,
    freeze_master_worker,
    term_master_worker,
    supersede_master_worker,
    freeze_master,
    kill_front,
    term_front,
    remove_queues,
)
LAG_AND_KILLS: tuple[Fault, ...] = (delay_replica, delay_replica, stop_sql_thread, kill_master_worker, kill_replica_worker)
CHOICES: dict[str, tuple[Fault, ...]] = {"none": (), "lag": (delay_replica,), "replicas": SPARING, "pipeline": PIPELINE}


class InjectedFault(NamedTuple):
    """When it began and was over (CLOCK_MONOTONIC, seconds; infinity: not yet)."""

    began: float
    ended: float
    name: str


class Faults:
    """Injects one fault after another until stopped; then everything is whole again."""

    def __init__(self, stack: PrivateStack, faults: tuple[Fault, ...], seed: int, pause_s: tuple[float, float] = (0.2, 0.8)) -> None:
        self._stack = stack
        self._faults = faults
        self._pause_s = pause_s
        self._rnd = random.Random(seed)
        self._ending = threading.Event()
        self._error: BaseException | None = None
        self.injected: list[tuple[float, str]] = []
        """When each began (CLOCK_MONOTONIC, seconds), and its name."""
        self.ended: list[float] = []
        """When each was over, in the same order; the last may be missing."""
        self.troubled: list[tuple[float, float]] = []
        """When reads had a right to wait."""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._inject_and_stay, daemon=True)

    def history(self) -> list[InjectedFault]:
        ends = [*self.ended, float("inf")]
        return [InjectedFault(began, ends[place], name) for place, (began, name) in enumerate(self.injected)]

    def stop_if_broken(self, run: Run) -> None:
        """A run that goes on without its faults would prove nothing; leaving raises what went wrong."""
        if self._error is not None:
            run.stop()

    def __enter__(self) -> Faults:
        if self._faults:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        if self._faults:
            self._done.wait()
        try:
            self._mend()
        finally:
            if self._error is not None:
                raise self._error

    def _mend(self) -> None:
        if isinstance(self._stack, ApiStack):
            self._stack.mend()
        for server in (self._stack.master, *self._stack.replicas.values()):
            server.thaw()
            if server.pid is None:
                server.start()
        for replica in self._stack.replicas.values():
            replica.delay(0)
        for process in self._stack.dbsvr_processes:
            process.thaw()
            if process.pid is None:
                process.start()

    def _inject_and_stay(self) -> None:
        """The kernel ends a private server with the thread that has started it, so this one must outlive those that it restarts."""
        self._inject()
        self._done.set()
        threading.Event().wait()

    def _inject(self) -> None:
        troubled_since: float | None = None
        try:
            while not self._ending.is_set():
                fault = self._rnd.choice(self._faults)
                self.injected.append((time.monotonic(), fault.__name__))
                if fault not in SPARING and troubled_since is None:
                    troubled_since = time.monotonic()
                fault(self._stack, self._rnd, self._ending)
                self.ended.append(time.monotonic())
                if troubled_since is not None and self._master_is_up():
                    self.troubled.append((troubled_since, time.monotonic() + RECOVERY_S))
                    troubled_since = None
                self._ending.wait(self._rnd.uniform(*self._pause_s))
        except BaseException as error:  # noqa: BLE001  # raised again where the run ends
            self._error = error
        finally:
            if troubled_since is not None:
                self.troubled.append((troubled_since, float("inf")))

    def _master_is_up(self) -> bool:
        """Within a second; else the trouble goes on through the next fault."""
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            stats = self._stack.stats()
            if stats is not None and stats["master"]["state"] == "up":  # type: ignore[index]
                return True
            self._ending.wait(0.05)
        return False
