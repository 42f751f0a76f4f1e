"""Clients that read, complete and erase through the REST API of two logic nodes, by the Python client.

Most requests go to the logic node that nginx would choose, the others to any. Every other client sends what was not answered to the next
one by itself, a write with the same event id, and each try is an operation of its own; the others (`--via client`: all) leave that to the
Python client, whose tries are one operation together.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

from apps.cachesync.logic_nodes import LogicNodes
from tasksys_client import Forgotten, Patience, Problem, Step, TasksysClient, TasksysError, UserTasks, calls
from tasksys_client.calls import Call
from tests.consistency.clients import CLIENT, FIRST_UID, TRIES, Load
from tests.consistency.history import CLEAR, READ, WRITE, Operation, State
from tests.stack.api_stack import ApiStack

TASK = "log-in-today"
ROUTED = 0.7
PASSING = (502, 503, 504)
"""Statuses that say: not now, or not known whether."""

Told = UserTasks | Step | Forgotten


class ThroughApi:
    def __init__(self, number: int, stack: ApiStack, load: Load, record: Callable[[Operation], None]) -> None:
        self._number = number
        self._key = stack.key
        self._load = load
        self._record = record
        self._nodes = LogicNodes(stack.addresses)
        self._rnd = random.Random(load.seed * 1000 + number)
        self._leaves_tries_to_client = load.via == CLIENT or number % 2 == 1
        tries = TRIES if self._leaves_tries_to_client else 1
        self._patience = Patience(deadline_s=load.timeout_s * tries, try_s=load.timeout_s, tries=tries)
        self._clients: dict[tuple[str, ...], TasksysClient] = {}

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def act(self) -> None:
        rnd = self._rnd
        uid = FIRST_UID + int(self._load.users * rnd.random() ** 2)
        kind, event_id = READ, ""
        if rnd.random() < self._load.write_share:
            kind = CLEAR if rnd.random() < self._load.clear_share else WRITE
            event_id = f"c{self._number}-{rnd.getrandbits(60):x}"
        addresses = self._order(uid)
        if self._leaves_tries_to_client:
            self._try(kind, uid, event_id, tuple(addresses))
            return
        for attempt in range(1 if kind == READ else TRIES):
            if self._try(kind, uid, event_id, (addresses[attempt % len(addresses)],)):
                return

    def _order(self, uid: int) -> list[str]:
        addresses = list(self._nodes.in_turn(uid))
        if self._rnd.random() >= ROUTED:
            self._rnd.shuffle(addresses)
        return addresses

    def _try(self, kind: str, uid: int, event_id: str, addresses: tuple[str, ...]) -> bool:
        began = time.monotonic()
        try:
            told: Told | None = self._client(addresses).send(_call(kind, uid, event_id))
        except TasksysError as error:
            if not _may_pass(error):
                raise
            told = None
        ended = time.monotonic()
        state = None if told is None else State(told.generation, told.version)
        applied = isinstance(told, Step | Forgotten) and told.applied
        self._record(Operation(self._number, kind, uid, began, ended, state, event_id, applied, addresses[0]))
        if told is None:
            threading.Event().wait(0.02)  # what is down is not asked in a tight loop
        return told is not None

    def _client(self, addresses: tuple[str, ...]) -> TasksysClient:
        client = self._clients.get(addresses)
        if client is None:
            client = TasksysClient([f"http://{address}" for address in addresses], self._key, self._patience, connections=1)
            self._clients[addresses] = client
        return client


def _may_pass(error: TasksysError) -> bool:
    """Not now, or not known whether. A fault of the server's own may be sent again too, but here it must be seen."""
    return error.status in PASSING if isinstance(error, Problem) else error.retryable


def _call(kind: str, uid: int, event_id: str) -> Call[Any]:
    if kind == READ:
        return calls.tasks(uid)
    if kind == CLEAR:
        return calls.erase(uid, event_id)
    return calls.step(uid, TASK, "complete", event_id, None)
