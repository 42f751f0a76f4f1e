"""The ways to spread reads over a master and an asynchronous replica, as one thread of a service would do it.

Each is given the same memory of writes, complete and at once (`Writes`): kinder than reality, where a cookie pins only the
browser that wrote. Writes go through the DBSvr for all of them, since nobody else may write its tables, except through a peer: a
proxy can only keep apart what it has seen.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import MySQLdb

from bench import direct
from bench.direct import FIRST_UID
from bench.workload import USERS, is_pinned
from bench.writes import CHANGES
from deploy.local.private_stack import PrivateStack

GTID_WAIT_S = 1.0
"""How long a read waits for the replica before it goes to the master after all."""
GTID_REACHED = 0


@dataclass
class Writes:
    """What all threads know of writes, and of the newest version that anybody saw."""

    newest: list[int] = field(default_factory=lambda: [0] * USERS)
    written_at: dict[int, float] = field(default_factory=dict)
    gtid: dict[int, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def saw(self, user: int, version: int) -> None:
        with self.lock:
            self.newest[user] = max(self.newest[user], version)


class Answer(NamedTuple):
    version: int
    from_replica: bool


class Seat(Protocol):
    """One thread's connections under one way."""

    def read(self, user: int) -> Answer: ...
    def write(self, user: int, event_id: str) -> int:
        """The user's new version."""


@dataclass(frozen=True)
class Way:
    """`sit` opens a thread's connections, which the stack it is given closes."""

    name: str
    sit: Callable[[PrivateStack, Writes, ExitStack], Seat]


class _WritesThroughDBSvr:
    """Writes by TASK.FINISH; then asks the master how far its binlog is, which is this write's GTID or one just after it."""

    def __init__(self, stack: PrivateStack, writes: Writes, opened: ExitStack) -> None:
        self.writes = writes
        self.client = opened.enter_context(stack.client())
        self.master = opened.enter_context(closing(direct.connect_as_worker(stack, stack.master.port)))

    def write(self, user: int, event_id: str) -> int:
        self.writes.written_at[user] = time.monotonic()  # before, too: pinned while the write is on its way
        answer = json.loads(self.client.execute_command("TASK.FINISH", FIRST_UID + user, "node-1", event_id, CHANGES))
        cursor = self.master.cursor()
        cursor.execute("SELECT @@gtid_binlog_pos")
        self.writes.gtid[user] = cursor.fetchone()[0]
        self.writes.written_at[user] = time.monotonic()
        return int(answer["snapshot"]["version"])


class Ours(_WritesThroughDBSvr):
    def read(self, user: int) -> Answer:
        answer = json.loads(self.client.execute_command("TASK.GET", FIRST_UID + user, "node-1"))
        return Answer(answer["version"], answer["served_by"] != "master")


class MasterOnly(_WritesThroughDBSvr):
    def read(self, user: int) -> Answer:
        return Answer(direct.read_version(self.master, FIRST_UID + user), False)


class _OnBoth(_WritesThroughDBSvr):
    def __init__(self, stack: PrivateStack, writes: Writes, opened: ExitStack) -> None:
        super().__init__(stack, writes, opened)
        self.replica = opened.enter_context(closing(direct.connect_as_worker(stack, stack.replica.port)))

    def read_from(self, user: int, replica: bool) -> Answer:
        return Answer(direct.read_version(self.replica if replica else self.master, FIRST_UID + user), replica)


class Unguarded(_OnBoth):
    def read(self, user: int) -> Answer:
        return self.read_from(user, replica=True)


class Pinned(_OnBoth):
    def __init__(self, window_s: float, stack: PrivateStack, writes: Writes, opened: ExitStack) -> None:
        super().__init__(stack, writes, opened)
        self.window_s = window_s

    def read(self, user: int) -> Answer:
        pinned = is_pinned(self.writes.written_at.get(user), time.monotonic(), self.window_s)
        return self.read_from(user, replica=not pinned)


class GtidWaits(_OnBoth):
    """Waits on the replica for the user's last write, if he ever wrote; on the master after GTID_WAIT_S."""

    def read(self, user: int) -> Answer:
        gtid = self.writes.gtid.get(user)
        if gtid is not None:
            cursor = self.replica.cursor()
            cursor.execute("SELECT MASTER_GTID_WAIT(%s, %s)", (gtid, GTID_WAIT_S))
            if cursor.fetchone()[0] != GTID_REACHED:
                return self.read_from(user, replica=False)
        return self.read_from(user, replica=True)


class ThroughPeer:
    """Reads and writes over one connection to a proxy, which alone decides where they go."""

    def __init__(self, peer: Peer, stack: PrivateStack, writes: Writes, opened: ExitStack) -> None:
        account = stack.configuration().databases.accounts.workers
        self.writes = writes
        self.connection = opened.enter_context(closing(direct.connect(peer.address, account.user, account.password)))
        self.replica_id = stack.replica.server_id

    def read(self, user: int) -> Answer:
        cursor = self.connection.cursor()
        cursor.execute(direct.READ_SQL.replace("SELECT ", "SELECT @@server_id, ").format(uid=FIRST_UID + user))
        rows = cursor.fetchall()
        if not rows:
            raise RuntimeError(f"uid {FIRST_UID + user} is unknown: without a row nobody says which server answered")
        return Answer(int(rows[0][2]), rows[0][0] == self.replica_id)

    def write(self, user: int, event_id: str) -> int:
        version = direct.write_event(self.connection, FIRST_UID + user, event_id)
        self.writes.written_at[user] = time.monotonic()
        return version


@dataclass(frozen=True)
class Peer:
    """A MySQL proxy that somebody has put before the bench's databases."""

    name: str
    host: str
    port: int

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @classmethod
    def parse(cls, text: str) -> Peer:
        """`name=host:port`; ValueError with what is wrong."""
        name, equals, address = text.partition("=")
        host, colon, port = address.rpartition(":")
        if not (name and equals and host and colon and port.isdecimal() and 0 < int(port) < 65536):
            raise ValueError(f"{text!r} is not name=host:port")
        return cls(name, host.strip("[]"), int(port))

    def answers(self, stack: PrivateStack) -> bool:
        account = stack.configuration().databases.accounts.workers
        try:
            with closing(direct.connect(self.address, account.user, account.password)) as connection:
                direct.read_version(connection, FIRST_UID)
        except MySQLdb.Error:
            return False
        return True


OURS = "Tasksys"
SPLIT = "split, no guard"
WAYS = (
    Way(OURS, Ours),
    Way("master only", MasterOnly),
    Way(SPLIT, Unguarded),
    Way("pin 2 s", lambda *given: Pinned(2.0, *given)),
    Way("pin 15 s", lambda *given: Pinned(15.0, *given)),
    Way("GTID wait", GtidWaits),
)


def ways_with(peers: Iterable[Peer]) -> list[Way]:
    """Peers last: what they write goes round the DBSvr, and must be on the replica before ours is measured again."""
    return [*WAYS, *(Way(peer.name, lambda *given, peer=peer: ThroughPeer(peer, *given)) for peer in peers)]
