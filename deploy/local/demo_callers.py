"""Logic servers of the demo: a few threads that ask and tell through the REST API, by the Python client.

What they do feeds the demo's tasks, so points are granted and profiles are asked for. Each read is compared with what a caller was told of
that user before it was sent.
"""

from __future__ import annotations

import collections
import random
import threading
import time
from collections.abc import Callable, Sequence

from deploy.local.demo_users import DEMO_USERS, uid_of
from tasksys_client import Event, EventOutcome, Patience, Problem, TasksysClient, TasksysError, UserTasks, calls

CALLERS = 2
CALLS_PER_S = 30
"""Of all callers together."""
IN_A_BATCH = 20
PATIENCE = Patience(deadline_s=5.0)

Known = tuple[int, int]
"""(generation, version)."""


def made_up_event(uid: int, rnd: random.Random) -> Event:
    """Something that the demo's tasks listen for."""
    kind = rnd.choice(("login", "match-finished", "match-finished", "purchase", "friend-invited"))
    attributes: dict[str, object] = {}
    if kind == "match-finished":
        attributes = {"mode": rnd.choice(("ranked", "casual")), "won": rnd.random() < 0.5}
    elif kind == "purchase":
        attributes = {"amount": rnd.randint(1, 50), "currency": "eur"}
    elif kind == "friend-invited":
        attributes = {"friend": uid_of(rnd.randrange(DEMO_USERS))}
    return Event(uid=uid, type=kind, attributes=attributes, profile={"client_version": rnd.choice(("2.3", "2.4.1"))})


class Callers:
    def __init__(self, address: str, key: str) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.last_error = ""
        self._client = TasksysClient(address, key, PATIENCE)
        self._known: dict[int, Known] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(number,), daemon=True) for number in range(CALLERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE.deadline_s + 5)
        self._client.close()

    def summary(self) -> str:
        counts = self.counts
        told = f"{counts['calls']:,} calls, {counts['completed']:,} tasks completed, {counts['points']:,} points granted"
        return f"Through the API: {told}, {counts['errors']:,} errors." + (f" The last: {self.last_error}" if self.last_error else "")

    def _call(self, number: int) -> None:
        rnd = random.Random(time.time_ns() + number)
        while not self._stop.wait(rnd.uniform(0.5, 1.5) * CALLERS / CALLS_PER_S):
            uids = [uid_of(int(DEMO_USERS * rnd.random() ** 3)) for _ in range(IN_A_BATCH)]
            self.counts["calls"] += 1
            try:
                self._act(uids, rnd)
            except TasksysError as error:
                self._note_error(error)

    def _act(self, uids: list[int], rnd: random.Random) -> None:
        drawn = rnd.random()
        if drawn < 0.60:
            self._read(uids[:1], lambda: [self._client.tasks(uids[0])])
        elif drawn < 0.65:
            self._read(uids, lambda: self._client.tasks_of_many(uids))
        elif drawn < 0.95:
            self._note([self._client.send(calls.record_event(made_up_event(uids[0], rnd)))])
        else:
            self._note(self._client.record_events([made_up_event(uid, rnd) for uid in uids]))

    def _read(self, uids: list[int], ask: Callable[[], Sequence[UserTasks | Problem]]) -> None:
        with self._lock:
            before = {uid: self._known.get(uid, (0, 0)) for uid in uids}
        for user in ask():
            if isinstance(user, Problem):
                self._note_error(user)
            elif (user.generation, user.version) < before[int(user.uid)]:
                self.counts["stale"] += 1

    def _note(self, outcomes: Sequence[EventOutcome | Problem]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Problem):
                self._note_error(outcome)
                continue
            self.counts["completed"] += sum(task.completed_now for task in outcome.tasks)
            self.counts["points"] += sum(task.points for task in outcome.tasks) if outcome.applied else 0
            with self._lock:
                uid, now = int(outcome.uid), (outcome.generation, outcome.version)
                self._known[uid] = max(now, self._known.get(uid, now))

    def _note_error(self, error: TasksysError) -> None:
        self.counts["errors"] += 1
        self.last_error = str(error)
