"""Clients that read and write few users at random, and record what they saw.

A write that was not answered is repeated with the same event id, as a logic server would; each try is an operation of its
own, and the last one's outcome stays unknown when none was answered.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import redis

from deploy.local.private_stack import PrivateStack
from tests.consistency.history import READ, WRITE, FinalState, Operation, State
from tests.stack.task_client import TaskClient
from workers.protocol import DBSvrError, Snapshot

FIRST_UID = 5_000_000_000
TRIES = 8


@dataclass
class Load:
    """How much, by whom, on whom. `operations` ends the run, or `until` does, whichever comes first."""

    clients: int = 8
    users: int = 200
    write_share: float = 0.3
    operations: int = 20_000
    until: float = float("inf")
    seed: int = 1
    pause_s: float = 0.0
    timeout_s: float = 4.0


@dataclass
class Run:
    """One run of all clients. `history` is complete when `wait` has returned."""

    stack: PrivateStack
    load: Load
    history: list[Operation] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._threads = [threading.Thread(target=self._client, args=(number,), daemon=True) for number in range(self.load.clients)]
        self._left = self.load.operations
        self._going_on = False

    def start(self) -> Run:
        for thread in self._threads:
            thread.start()
        return self

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """While this lasts the clients go on, also when their operations are used up; half as many follow it."""
        self._going_on = True
        try:
            yield
        finally:
            self._left = max(self._left, self.load.operations // 2)
            self._going_on = False

    @property
    def is_running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """End it after what is under way; `wait` then returns the history."""
        self._left = 0

    def wait(self) -> list[Operation]:
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]
        return self.history

    def _client(self, number: int) -> None:
        rnd = random.Random(self.load.seed * 1000 + number)
        client = TaskClient(self.stack, timeout_s=self.load.timeout_s)
        try:
            while (self._left > 0 or self._going_on) and time.monotonic() < self.load.until:
                # Some users are hot: staleness shows where reads follow writes closely.
                uid = FIRST_UID + int(self.load.users * rnd.random() ** 2)
                if rnd.random() < self.load.write_share:
                    self._write(client, number, uid, f"c{number}-{rnd.getrandbits(60):x}")
                else:
                    self._record(number, READ, uid, lambda uid=uid: client.get(uid))
                if self.load.pause_s:
                    threading.Event().wait(rnd.random() * 2 * self.load.pause_s)
        except BaseException as error:  # noqa: BLE001  # a checker that loses its own faults proves nothing
            self.errors.append(error)
        finally:
            client.close()

    def _write(self, client: TaskClient, number: int, uid: int, event_id: str) -> None:
        for _ in range(TRIES):
            if self._record(number, WRITE, uid, lambda: client.finish(uid, event_id), event_id):
                return

    def _record(self, number: int, kind: str, uid: int, act: Callable[[], object], event_id: str = "") -> bool:
        """One try; False when it had no answer."""
        self._left -= 1
        began = time.monotonic()
        state, applied, served_by = None, False, ""
        try:
            answer = act()
        except DBSvrError as error:
            if not error.retryable:
                raise
        except redis.RedisError:
            pass  # the connection broke: no answer, and the outcome is unknown
        else:
            snapshot = answer if isinstance(answer, Snapshot) else answer.snapshot  # type: ignore[attr-defined]
            applied = bool(getattr(answer, "applied", False))
            state, served_by = State(snapshot.generation, snapshot.version), snapshot.served_by or ""
        ended = time.monotonic()
        self.history.append(Operation(number, kind, uid, began, ended, state, event_id, applied, served_by))
        if state is None:
            threading.Event().wait(0.02)  # what is down is not asked in a tight loop
        return state is not None


def final_states(stack: PrivateStack) -> dict[int, FinalState]:
    """What the master holds in the end, straight from its tables."""
    last = FIRST_UID + 1_000_000
    where = f"BETWEEN {FIRST_UID} AND {last}"
    versions = dict(stack.master.execute(f"SELECT uid, version FROM user_state WHERE uid {where}", "tasksys_user"))
    progress = dict(stack.master.execute(f"SELECT uid, progress FROM user_task WHERE uid {where}", "tasksys_user"))
    events: dict[int, set[str]] = {}
    for uid, event_id in stack.master.execute(f"SELECT uid, event_id FROM applied_event WHERE uid {where}", "tasksys_user"):
        events.setdefault(uid, set()).add(event_id)
    return {uid: FinalState(version, progress.get(uid, 0), frozenset(events.get(uid, ()))) for uid, version in versions.items()}
