"""One moment of the cache layer, as a value.

One user stands for all: on a cache node users share nothing. The databases are taken as docs/protocol.md proves them: a read
returns some version between what was acknowledged when it arrived and what is committed, and writes are committed one by one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

Nodes = frozenset[int]
NO_NODES: Nodes = frozenset()


class Stamp(NamedTuple):
    """What state of the user somebody holds; compared as a pair."""

    generation: int
    version: int

    def __str__(self) -> str:
        return f"{self.generation}:{self.version}"


START = Stamp(1, 0)
NEVER = Stamp(0, 0)

# A read's phases: it has left its token; the front has it; it has its answer.
MISSED, ASKED, HAS = "missed", "asked", "has"
# A write's: the front has accepted it; committed; its answer is at the logic node; so is everything but its own node confirmed.
SENT, COMMITTED, ANSWERED, ROWED = "sent", "committed", "answered", "rowed"


class Copy(NamedTuple):
    stamp: Stamp
    run: int
    """How long it lives: it is dead before an end of the trail that comes after this run is forgotten."""


class Token(NamedTuple):
    read: int
    run: int


class Node(NamedTuple):
    copy: Copy | None = None
    tokens: frozenset[Token] = frozenset()
    saved: Copy | None = None
    """What it would bring back from its disk."""
    is_cut: bool = False
    is_removed: bool = False
    due: Stamp = NEVER
    """Its purges up to this one are past their grace: it serves nothing before they are done."""
    must: Stamp = START
    """The newest acknowledged state whose writer could reach it: older ones must not be served."""
    owed: Stamp = NEVER
    """The newest acknowledged state whose writer could not; older ones may be served until the grace has passed."""
    bound: Stamp = NEVER
    """Of those, the newest whose grace has passed."""


class Row(NamedTuple):
    """A purge that is not done yet."""

    node: int
    stamp: Stamp


class Read(NamedTuple):
    number: int
    node: int
    phase: str
    run: int
    is_to_former: bool = False
    low: Stamp = NEVER
    """What it cannot be older than."""
    got: Stamp = NEVER
    may_store: bool = False


class Fill(NamedTuple):
    """On its way to the node, for as long as it likes."""

    node: int
    copy: Copy
    token: Token


class Settling(NamedTuple):
    """A settle of which its writer has heard nothing, on its way to the node for as long as it likes."""

    node: int
    stamp: Stamp
    is_repeat: bool


class Write(NamedTuple):
    """One request. `named`: the nodes of its purge rows; `since`: those that came on the trail while it ran."""

    event: str
    asker: int
    phase: str
    named: Nodes
    since: Nodes = NO_NODES
    is_dead: bool = False
    """Its logic node is gone; the DBSvr goes on with it."""
    is_repeat: bool = False
    stamp: Stamp = NEVER
    to_purge: Nodes = NO_NODES
    unreached: Nodes = NO_NODES


class Front(NamedTuple):
    run: int = 1
    """Rises whenever a trail is lost."""
    trail: Nodes = NO_NODES
    is_lost: bool = False
    """The trail may lack nodes."""
    known: Stamp = START
    """The newest state whose outcome it knows."""
    former_known: Stamp = NEVER
    """What the former owner knew last."""
    late_rows: frozenset[Row] = frozenset()
    """Only where the rule is broken: rows that are written after the commit."""


class Spent(NamedTuple):
    reads: int = 0
    repeats: int = 0
    deaths: int = 0
    cuts: int = 0
    front_ends: int = 0
    takeovers: int = 0
    former_reads: int = 0
    forgets: int = 0
    rises: int = 0
    removals: int = 0
    restarts: int = 0


class State(NamedTuple):
    generation: int
    applied: tuple[str, ...]
    """The committed events; their number is the version."""
    front: Front
    nodes: tuple[Node, ...]
    rows: frozenset[Row]
    reads: frozenset[Read]
    fills: frozenset[Fill]
    writes: tuple[Write, ...]
    settlings: frozenset[Settling]
    acknowledged: frozenset[str]
    sent: frozenset[str]
    spent: Spent


class Served(NamedTuple):
    node: int
    stamp: Stamp


class Overwritten(NamedTuple):
    node: int
    before: Stamp
    after: Stamp


class Step(NamedTuple):
    """Something happens. `served` is what a reader was given from a node, `overwritten` what was stored over which copy."""

    sentence: str
    state: State
    served: Served | None = None
    overwritten: Overwritten | None = None


def first_state(nodes: int, copies_at: Collection[int]) -> State:
    return State(
        generation=1,
        applied=(),
        front=Front(trail=frozenset(copies_at)),
        nodes=tuple(Node(Copy(START, 1) if number in copies_at else None) for number in range(nodes)),
        rows=frozenset(),
        reads=frozenset(),
        fills=frozenset(),
        writes=(),
        settlings=frozenset(),
        acknowledged=frozenset(),
        sent=frozenset(),
        spent=Spent(),
    )


def committed(state: State) -> Stamp:
    return Stamp(state.generation, len(state.applied))


def put_node(state: State, number: int, node: Node) -> State:
    return state._replace(nodes=(*state.nodes[:number], node, *state.nodes[number + 1 :]))


def put_write(state: State, place: int, write: Write) -> State:
    return state._replace(writes=(*state.writes[:place], write, *state.writes[place + 1 :]))


def without_write(state: State, place: int) -> State:
    return state._replace(writes=state.writes[:place] + state.writes[place + 1 :])


def count_up(state: State, name: str) -> Spent:
    return state.spent._replace(**{name: getattr(state.spent, name) + 1})


def name_of(node: int) -> str:
    return f"node {'ABCDEF'[node]}"


def names_of(nodes: Nodes) -> str:
    return "+".join("ABCDEF"[node] for node in sorted(nodes)) or "nobody"
