"""Clients that read, complete and erase through the REST API of two logic nodes.

Most requests go to the logic node that nginx would choose, the others to any; what was not answered is sent to the next one, a write
with the same event id.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from apps.cachesync.logic_nodes import LogicNodes
from tests.consistency.clients import FIRST_UID, TRIES, Load
from tests.consistency.history import CLEAR, READ, WRITE, Operation, State
from tests.stack.api_stack import ApiStack

TASK = "log-in-today"
ROUTED = 0.7
PASSING = (502, 503, 504)
"""Statuses that say: not now, or not known whether."""


class ThroughApi:
    def __init__(self, number: int, stack: ApiStack, load: Load, record: Callable[[Operation], None]) -> None:
        self._number = number
        self._key = stack.key
        self._load = load
        self._record = record
        self._nodes = LogicNodes(stack.addresses)
        self._rnd = random.Random(load.seed * 1000 + number)
        self._connections: dict[str, http.client.HTTPConnection] = {}

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def act(self) -> None:
        rnd = self._rnd
        uid = FIRST_UID + int(self._load.users * rnd.random() ** 2)
        if rnd.random() >= self._load.write_share:
            self._try(READ, uid, "", next(iter(self._order(uid))))
            return
        kind = CLEAR if rnd.random() < self._load.clear_share else WRITE
        event_id = f"c{self._number}-{rnd.getrandbits(60):x}"
        addresses = self._order(uid)
        for attempt in range(TRIES):
            if self._try(kind, uid, event_id, addresses[attempt % len(addresses)]):
                return

    def _order(self, uid: int) -> list[str]:
        addresses = list(self._nodes.in_turn(uid))
        if self._rnd.random() >= ROUTED:
            self._rnd.shuffle(addresses)
        return addresses

    def _try(self, kind: str, uid: int, event_id: str, address: str) -> bool:
        began = time.monotonic()
        answer = None
        with contextlib.suppress(OSError, http.client.HTTPException):
            answer = self._ask(kind, uid, event_id, address)
        ended = time.monotonic()
        state = None if answer is None else State(answer["generation"], answer["version"])
        applied = answer is not None and bool(answer.get("applied"))
        self._record(Operation(self._number, kind, uid, began, ended, state, event_id, applied, address))
        if answer is None:
            threading.Event().wait(0.02)  # what is down is not asked in a tight loop
        return answer is not None

    def _ask(self, kind: str, uid: int, event_id: str, address: str) -> dict[str, Any] | None:
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = http.client.HTTPConnection(address, timeout=self._load.timeout_s)
        headers = {"Authorization": f"Api-Key {self._key}", "Content-Type": "application/json"}
        user = f"/api/v1/users/{uid}"
        try:
            if kind == READ:
                connection.request("GET", f"{user}/tasks", headers=headers)
            elif kind == CLEAR:
                connection.request("DELETE", user, headers={**headers, "Idempotency-Key": event_id})
            else:
                connection.request("POST", f"{user}/tasks/{TASK}/complete", json.dumps({"event_id": event_id}), headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        if response.status in PASSING:
            return None
        assert response.status == 200, f"{kind} of {uid}: {response.status} {body!r}"
        found: dict[str, Any] = json.loads(body)
        return found
