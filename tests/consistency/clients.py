"""Clients that read, write and clear few users at random, and record what they saw.

A write that was not answered is repeated with the same event id, as a logic server would; each try is an operation of its own, and
the last one's outcome stays unknown when none was answered. Clients differ in their manners: see MANNERS. Where there are two DBSvrs the
clients are spread over both, send every user to either, and go to the other when they had no answer; or they ask through DbInterface.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import redis

from deploy.local.private_stack import PrivateStack
from tests.consistency.history import CLEAR, READ, WRITE, FinalState, Operation, State
from tests.stack.pair_client import PairClient
from tests.stack.task_client import NODE, TaskClient, change
from tests.stack.wire import Wire
from workers.messages import MOST_USERS
from workers.protocol import DBSvrError, MasterDown, Snapshot, WriteAnswer, decode_snapshot, decode_write_answer, error_from_wire

FIRST_UID = 5_000_000_000
TRIES = 8
IMPATIENT_S = 0.05
CHANGES = json.dumps([change()])
RESP, INTERFACE, API, CLIENT = "resp", "interface", "api", "client"
"""What clients speak: the wire itself; DbInterface; the REST API through two logic nodes, half of them with tries of their own; the
same, with all tries left to the Python client."""
HTTP = (API, CLIENT)


@dataclass
class Load:
    """How much, by whom, on whom. `operations` ends the run, or `until` does, whichever comes first."""

    clients: int = 8
    users: int = 200
    write_share: float = 0.3
    clear_share: float = 0.01
    """Of the writes."""
    operations: int = 20_000
    until: float = float("inf")
    seed: int = 1
    timeout_s: float = 6.0
    via: str = RESP


class Client(Protocol):
    def act(self) -> None:
        """One thing, whatever comes of it."""

    def close(self) -> None: ...


MakeClient = Callable[[int, Callable[[Operation], None]], Client]


class Run:
    """One run of all clients. `history` is complete when `wait` has returned."""

    def __init__(self, stack: PrivateStack, load: Load, make_client: MakeClient | None = None) -> None:
        """`make_client`: of a number and what it is to record with; None makes clients of the DBSvr."""
        self._stack = stack
        self._load = load
        self._make_client = make_client or self._client_of_the_dbsvr
        self.history: list[Operation] = []
        self._errors: list[BaseException] = []
        self._left = load.operations
        self._going_on = False
        self._connections = itertools.count(1)
        self._threads = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(load.clients)]

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
            self._left = max(self._left, self._load.operations // 2)
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
        if self._errors:
            raise self._errors[0]
        return self.history

    def _work(self, number: int) -> None:
        try:
            with contextlib.closing(self._make_client(number, self._record)) as client:
                while (self._left > 0 or self._going_on) and time.monotonic() < self._load.until:
                    client.act()
        except BaseException as error:  # noqa: BLE001  # a checker that loses its own faults proves nothing
            self._errors.append(error)

    def _client_of_the_dbsvr(self, number: int, record: Callable[[Operation], None]) -> Client:
        manners = MANNERS if self._load.via == RESP else (ThroughDbInterface,)
        return manners[number % len(manners)](number, self._stack, self._load, record, self._connections)

    def _record(self, operation: Operation) -> None:
        self._left -= 1
        self.history.append(operation)


@dataclass
class Plain:
    """One question at a time, one user or several; what was not answered is repeated."""

    number: int
    stack: PrivateStack
    load: Load
    record: Callable[[Operation], None]
    connections: Iterator[int]
    timeout_s: float = 0.0
    _rnd: random.Random = field(init=False)
    _moves: int = 0
    """How often it has gone to another DBSvr."""

    def __post_init__(self) -> None:
        self._rnd = random.Random(self.load.seed * 1000 + self.number)
        self._open()

    def _open(self) -> None:
        self._client: TaskClient | PairClient = TaskClient(
            self.stack, timeout_s=self.timeout_s or self.load.timeout_s, instance=self._instance()
        )
        self._connection = next(self.connections)
        self._place = 0

    def _instance(self, offset: int = 0) -> str:
        names = list(self.stack.dbsvrs)
        return names[(self.number // len(MANNERS) + self.number + self._moves + offset) % len(names)]

    def _go_elsewhere(self) -> None:
        if len(self.stack.dbsvrs) > 1:
            self._moves += 1
            self._client.close()
            self._open()

    def close(self) -> None:
        self._client.close()

    def act(self) -> None:
        rnd = self._rnd
        if rnd.random() < self.load.write_share:
            self._change(self._uid(), self._event_id(), CLEAR if rnd.random() < self.load.clear_share else WRITE)
        elif rnd.random() < 0.1:
            # Now and then more than fit into one ticket.
            uids = [self._uid() for _ in range(rnd.randrange(2, 9) if rnd.random() < 0.95 else MOST_USERS + 6)]
            self._try(READ, uids, "", lambda: self._client.ask("TASK.MGET", NODE, *uids))
        else:
            uid = self._uid()
            self._try(READ, [uid], "", lambda: self._client.get(uid))

    def _uid(self) -> int:
        # Some users are hot: staleness shows where reads follow writes closely.
        return FIRST_UID + int(self.load.users * self._rnd.random() ** 2)

    def _event_id(self) -> str:
        return f"c{self.number}-{self._rnd.getrandbits(60):x}"

    def _change(self, uid: int, event_id: str, kind: str) -> None:
        act = (lambda: self._client.clear(uid, event_id)) if kind == CLEAR else (lambda: self._client.finish(uid, event_id))
        for _ in range(TRIES):
            if self._try(kind, [uid], event_id, act):
                return

    def _try(self, kind: str, uids: list[int], event_id: str, act: Callable[[], object]) -> bool:
        """One try; False when it had no answer."""
        began = time.monotonic()
        answers: list[object] = [None] * len(uids)
        try:
            answer = act()
        except DBSvrError as error:
            answers = [error] * len(uids)
        except redis.RedisError:
            self._client.close()
            self._connection, self._place = next(self.connections), 0
        else:
            answers = [_decoded(body) for body in answer] if isinstance(answer, list) else [answer]
        ended = time.monotonic()
        self._place += 1
        for uid, each in zip(uids, answers, strict=True):
            seen = (self.number, kind, uid, began, ended)
            self.record(operation_of(seen, each, event_id, self._connection, self._place))
        answered = any(isinstance(each, Snapshot | WriteAnswer) for each in answers)
        if not answered:
            self._go_elsewhere()
            threading.Event().wait(0.02)  # what is down is not asked in a tight loop
        return answered


class Impatient(Plain):
    """It gives up soon, and repeats the same event on a new connection while the first try may still be under way."""

    def _open(self) -> None:
        self.timeout_s = IMPATIENT_S
        super()._open()


class Pipelined(Plain):
    """It sends a handful of questions at once, reads among and after writes of the same user, and then reads all answers."""

    def act(self) -> None:
        uid, rnd = self._uid(), self._rnd
        questions: list[tuple[str, str]] = []
        for _ in range(rnd.randrange(2, 7)):
            questions += [(WRITE, self._event_id())] if rnd.random() < self.load.write_share else [(READ, "")]
        if self._ask_all([[(kind, uid, event_id) for kind, event_id in questions]]):
            return
        for kind, event_id in questions:
            if kind == WRITE:
                self._change(uid, event_id, WRITE)

    def _ask_all(self, batches: list[list[tuple[str, int, str]]]) -> bool:
        """Each batch on a connection of its own, all sent before the first answer is read; False when one had no answer."""
        wires: list[tuple[Wire, int, list[tuple[str, int, str]], float]] = []
        complete = True
        try:
            for offset, batch in enumerate(batches):
                began = time.monotonic()
                wires.append((Wire(self.stack, self.load.timeout_s, self._instance(offset)), next(self.connections), batch, began))
                wires[-1][0].send_all([_words(*question) for question in batch])
            for wire, connection, batch, began in wires:
                for place, (kind, uid, event_id) in enumerate(batch, 1):
                    answer = self._answer(wire)
                    self.record(operation_of((self.number, kind, uid, began, time.monotonic()), answer, event_id, connection, place))
                    complete = complete and isinstance(answer, Snapshot | WriteAnswer)
        except OSError:  # not even sent: what is recorded already stands, the rest is repeated
            now = time.monotonic()
            for batch in batches:
                for kind, uid, event_id in batch:
                    self.record(operation_of((self.number, kind, uid, now, now), None, event_id, 0, 0))
            self._go_elsewhere()
            threading.Event().wait(0.02)
            return False
        finally:
            for wire, *_ in wires:
                wire.close()
        return complete

    def _answer(self, wire: Wire) -> object:
        try:
            body = wire.answer()
        except OSError:
            return None
        return _decoded(error_from_wire(body[1:].decode()) if body.startswith(b"-") else body) if body else None


class Duplicating(Pipelined):
    """It sends every event twice at the same moment, on two connections; where there are two DBSvrs, to both of them."""

    def act(self) -> None:
        uid = self._uid()
        if self._rnd.random() >= self.load.write_share:
            self._try(READ, [uid], "", lambda: self._client.get(uid))
            return
        event_id = self._event_id()
        if not self._ask_all([[(WRITE, uid, event_id), (READ, uid, "")]] * 2):
            self._change(uid, event_id, WRITE)


class ThroughDbInterface(Plain):
    """A logic node: DbInterface chooses the DBSvr, goes to the other, and repeats."""

    def _open(self) -> None:
        self._client = PairClient(self.stack, self.timeout_s or self.load.timeout_s)
        self._connection = next(self.connections)
        self._place = 0

    def _go_elsewhere(self) -> None:
        """DbInterface does."""


MANNERS: tuple[type[Plain], ...] = (Plain, Pipelined, Plain, Duplicating, Plain, Impatient)


def unanswered(history: list[Operation]) -> list[Operation]:
    """Operations that had no answer, other than of those who did not wait for one."""
    return [each for each in history if each.state is None and MANNERS[each.client % len(MANNERS)] is not Impatient]


def operation_of(seen: tuple[int, str, int, float, float], answer: object, event_id: str, connection: int, place: int) -> Operation:
    """What was seen by whom of whom, from when to when; and the answer, or None or an error where none came."""
    if isinstance(answer, DBSvrError) and not answer.retryable:
        raise answer
    if not isinstance(answer, Snapshot | WriteAnswer):
        return Operation(*seen, None, event_id, connection=connection, place=place)
    snapshot = answer if isinstance(answer, Snapshot) else answer.snapshot
    state, progress = State(snapshot.generation, snapshot.version), sum(task.progress for task in snapshot.tasks)
    applied = isinstance(answer, WriteAnswer) and answer.applied
    return Operation(*seen, state, event_id, applied, snapshot.served_by or "", progress, connection, place)


def _words(kind: str, uid: int, event_id: str) -> tuple[str, ...]:
    return ("TASK.GET", str(uid), NODE) if kind == READ else ("TASK.FINISH", str(uid), NODE, event_id, CHANGES)


def _decoded(body: object) -> object:
    if isinstance(body, redis.exceptions.MasterDownError):
        return MasterDown(str(body))  # redis-py knows this code, and takes it off the sentence
    if not isinstance(body, bytes):
        return error_from_wire(str(body)) if isinstance(body, redis.ResponseError) else body
    return decode_write_answer(body) if body.startswith(b'{"applied"') else decode_snapshot(body)


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
