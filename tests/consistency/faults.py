"""What goes wrong while the clients run: faults drawn by a seed, each mended before the run is judged."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from deploy.local.private_stack import PrivateStack

Fault = Callable[[PrivateStack, random.Random, threading.Event], None]


def delay_replica(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    rnd.choice(list(stack.replicas.values())).delay(rnd.choice((0, 1, 1, 2)))


def stop_sql_thread(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    replica = rnd.choice(list(stack.replicas.values()))
    replica.stop_sql_thread()
    ending.wait(rnd.uniform(0.1, 1.5))
    replica.start_sql_thread()


def kill_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    stack.master_worker.kill()
    ending.wait(rnd.uniform(0, 0.5))
    stack.master_worker.start()


def kill_replica_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    worker = rnd.choice(list(stack.replica_workers.values()))
    worker.kill()
    ending.wait(rnd.uniform(0, 0.5))
    worker.start()


def freeze_a_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    worker = rnd.choice([stack.master_worker, *stack.replica_workers.values()])
    worker.freeze()
    ending.wait(rnd.uniform(0.1, 1.5))
    worker.thaw()


def kill_front(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    stack.front.kill()
    ending.wait(rnd.uniform(0, 0.3))
    stack.front.start()


def supersede_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """The worker freezes in the midst of its work, its successor comes, and the old one thaws."""
    frozen = stack.master_worker
    frozen.freeze()
    stack.master_worker = stack.another("master_db_svr")
    stack.master_worker.start()
    ending.wait(rnd.uniform(0.2, 3.0))
    frozen.thaw()
    frozen.wait(10.0)


PIPELINE: tuple[Fault, ...] = (
    delay_replica,
    delay_replica,
    stop_sql_thread,
    kill_master_worker,
    kill_replica_worker,
    freeze_a_worker,
    kill_front,
    supersede_master_worker,
)
LAG_AND_KILLS: tuple[Fault, ...] = (delay_replica, delay_replica, stop_sql_thread, kill_master_worker, kill_replica_worker)
CHOICES: dict[str, tuple[Fault, ...]] = {"none": (), "lag": (delay_replica,), "pipeline": PIPELINE}


class Faults:
    """Injects one fault after another until stopped; then everything is whole again."""

    def __init__(self, stack: PrivateStack, faults: tuple[Fault, ...], seed: int, pause_s: tuple[float, float] = (0.2, 0.8)) -> None:
        self._stack = stack
        self._faults = faults
        self._pause_s = pause_s
        self._rnd = random.Random(seed)
        self._ending = threading.Event()
        self._error: BaseException | None = None
        self.injected: list[str] = []
        self._thread = threading.Thread(target=self._inject, daemon=True)

    def __enter__(self) -> Faults:
        if self._faults:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        if self._faults:
            self._thread.join()
        for replica in self._stack.replicas.values():
            replica.delay(0)
        for process in self._stack.dbsvr_processes:
            process.thaw()
            if process.pid is None:
                process.start()
        if self._error is not None:
            raise self._error

    def _inject(self) -> None:
        try:
            while not self._ending.is_set():
                fault = self._rnd.choice(self._faults)
                self.injected.append(fault.__name__)
                fault(self._stack, self._rnd, self._ending)
                self._ending.wait(self._rnd.uniform(*self._pause_s))
        except BaseException as error:  # noqa: BLE001  # raised again where the run ends
            self._error = error
