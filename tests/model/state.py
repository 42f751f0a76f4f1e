"""One moment of the whole system, as a value.

One user stands for all: users share nothing but ticks and the floor, and the promise is made to each by himself. His state is
the tuple of the events applied to him, in order, so that "older" means "a shorter beginning of".
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

Item = TypeVar("Item")
Events = tuple[str, ...]

NOTHING = ""
"""The event of a commit that changes nothing of the user's: a fresh tick, or a repeated event."""
MASTER_ONLY = 1_000
"""The stamp of a read that only the master may answer; above every tick."""

# A worker's phases.
AWAY, CLAIMED, IDLE, RECEIVED, SENT, DONE = "away", "claimed", "idle", "received", "sent", "done"
# What a client knows of its event.
NEW, WAITING, UNKNOWN, ACKNOWLEDGED = "new", "waiting", "unknown", "acknowledged"


class Commit(NamedTuple):
    generation: int
    tick: int
    event: str


Commits = tuple[Commit, ...]


class Transaction(NamedTuple):
    """A write transaction of one life, a block from BEGIN to COMMIT. It holds the tick row's lock, unless it stands in `Database.sent`."""

    life: int
    event: str
    is_logged: bool = False
    """A replica has it although the master does not show it yet."""


class Database(NamedTuple):
    """The master. What it commits while `epoch` is a life's number, that life may write."""

    commits: Commits
    epoch: int
    transaction: Transaction | None = None
    sent: tuple[Transaction, ...] = ()
    """Blocks to which it has not come yet, or that wait for the tick's row."""
    is_promoted: bool = False
    """It was a replica, and nobody has claimed it yet."""
    is_former: bool = False
    """Another has been promoted in its place."""


class Worker(NamedTuple):
    life: int
    phase: str
    event: str = NOTHING
    tick: int = 0
    generation: int = 1


class Pending(NamedTuple):
    """A write that the front has accepted and whose outcome it does not know."""

    event: str
    is_marked: bool = True
    is_timed_out: bool = False


class Front(NamedTuple):
    """What the front knows. `base` is 0 before the run's first fresh tick, `stamp` is 0 when none is recorded."""

    is_up: bool = True
    generation: int = 1
    base: int = 0
    floor: int = 0
    stamp: int = 0
    newest: int = 0
    """The newest tick that it knows to be committed."""
    pending: tuple[Pending, ...] = ()
    late_stamp: int = 0
    """Only where the rule is broken: a stamp that is set after its write was answered."""
    fork_generation: int = 0
    fork_tick: int = 0
    """The newest generation that began at a break, and the last tick of older ones that it contains."""


class Replica(NamedTuple):
    """None of `commits` means that it is a replica no more. `looked_at`: (generation, tick) as the front last heard of them."""

    commits: Commits | None = ()
    looked_at: tuple[int, int] = (0, 0)
    is_refused: bool = False
    known: tuple[int, Events] | None = None
    """What its worker has read last, and in which generation. The user's version is how many events it has."""


class Read(NamedTuple):
    stamp: int
    generation: int
    must_see: Events
    """What was shown or acknowledged before it began."""
    received_by: int = -1
    """The replica whose worker has taken it and not queried yet."""
    got: Events | None = None
    """Its answer, on the way."""


class Spent(NamedTuple):
    reads: int = 0
    worker_ends: int = 0
    front_ends: int = 0
    timeouts: int = 0
    repeats: int = 0
    drops: int = 0
    replica_restores: int = 0
    promotions: int = 0
    returns: int = 0
    master_restores: int = 0


class State(NamedTuple):
    database: Database
    """The master in reach."""
    replicas: tuple[Replica, ...]
    front: Front
    worker: Worker
    frozen: Worker | None
    """A worker that the front has given up, and that may go on at any time."""
    finish_queue: Events
    reads: tuple[Read, ...]
    clients: tuple[str, ...]
    """For each event, what its client knows."""
    shown: Events
    """The newest state that a read or an acknowledgement has shown."""
    acknowledged: frozenset[str]
    is_unaware: bool
    """The database has lost transactions, and the front has not learned of it yet."""
    spent: Spent
    beside: Database | None = None
    """After a promotion, the master that is out of reach: the former one, or the promoted one while the former is back."""


class Step(NamedTuple):
    """Something happens. `ended` is the read that ends by it."""

    sentence: str
    state: State
    ended: Read | None = None


def first_state(replicas: int, events: Events) -> State:
    """A DBSvr that has just become ready; the replicas have applied nothing yet, so that any lag can come of it."""
    return State(
        database=Database((Commit(1, 1, NOTHING),), epoch=1),
        replicas=(Replica(),) * replicas,
        front=Front(base=1, floor=1, newest=1),
        worker=Worker(1, IDLE),
        frozen=None,
        finish_queue=(),
        reads=(),
        clients=(NEW,) * len(events),
        shown=(),
        acknowledged=frozenset(),
        is_unaware=False,
        spent=Spent(),
    )


def user_state(commits: Commits) -> Events:
    return tuple(commit.event for commit in commits if commit.event)


def position(commits: Commits) -> tuple[int, int]:
    """(generation, tick) as a database with these commits shows them."""
    return (commits[-1].generation, commits[-1].tick) if commits else (0, 0)


def common_beginning(one: Events, other: Events) -> Events:
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return one[:length]


def put(items: tuple[Item, ...], place: int, item: Item) -> tuple[Item, ...]:
    return (*items[:place], item, *items[place + 1 :])


def without(items: tuple[Item, ...], place: int) -> tuple[Item, ...]:
    return items[:place] + items[place + 1 :]


def count_up(state: State, name: str) -> Spent:
    return state.spent._replace(**{name: getattr(state.spent, name) + 1})
