"""What the clients did and saw, and what is wrong with it.

Pure. An operation counts from before it was sent until after its answer was read; a write whose outcome the client never
learned has no answer. Versions count a user's applied events, so they order his states; they are compared as
(generation, version). Every write of the workload adds 1 to the user's one counter, and a clear sets it to 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

READ, WRITE, CLEAR = "read", "write", "clear"


class State(NamedTuple):
    generation: int
    version: int


class Operation(NamedTuple):
    """`began`, `ended`: seconds of one clock. `state` is None where there was no answer; then `ended` means nothing.

    `connection` is unique among all connections of a run, and `place` counts what was sent on it, in order.
    """

    client: int
    kind: str
    uid: int
    began: float
    ended: float
    state: State | None
    event_id: str = ""
    applied: bool = False
    served_by: str = ""
    progress: int | None = None
    connection: int = 0
    place: int = 0

    @property
    def wait_s(self) -> float:
        return self.ended - self.began

    def told(self, since: float) -> str:
        """One line, with its moments in milliseconds after `since`."""
        if self.state is None:
            answer = "no answer"
        else:
            counter = "" if self.progress is None else f", counter {self.progress}"
            answer = f"version {self.state.version} of generation {self.state.generation}{counter}, from {self.served_by or 'the master'}"
        if self.kind != READ and self.state is not None:
            answer += ", applied now" if self.applied else ", was applied before"
        event = f" {self.event_id}" if self.event_id else ""
        moments = f"{1000 * (self.began - since):9.1f} … {1000 * (self.ended - since):9.1f}"
        return f"{moments}  client {self.client}, connection {self.connection}: {self.kind}{event} -> {answer}"


@dataclass(frozen=True)
class Violation:
    """What was promised and broken, and the fewest operations that show it."""

    promise: str
    operations: tuple[Operation, ...] = ()
    makers: tuple[Operation, ...] = field(default=(), compare=False)
    """Writes that explain where a version came from; the violation stands without them."""

    @property
    def size(self) -> tuple[int, float]:
        """For choosing the shortest: how many operations (those without any come last), and over how long a time."""
        if not self.operations:
            return 1_000, 0.0
        return len(self.operations), max(each.ended for each in self.operations) - min(each.began for each in self.operations)

    def __str__(self) -> str:
        if not self.operations:
            return self.promise
        told = sorted({*self.operations, *self.makers}, key=lambda each: each.began)
        uids = ", ".join(map(str, sorted({each.uid for each in told})))
        head = f"{self.promise}; uid {uids}, milliseconds after {told[0].began:.3f}:"
        return "\n".join([head, *(f"  {'*' if each in self.operations else ' '} {each.told(told[0].began)}" for each in told)])


def stale_reads(history: Iterable[Operation]) -> list[Violation]:
    """Answers older than one that had ended, for the same user, before they began. Reads and write answers alike."""
    violations = []
    for operations in _by_user(history).values():
        answered = [operation for operation in operations if operation.state is not None]
        ended = sorted(answered, key=lambda operation: operation.ended)
        place, newest = 0, None
        for operation in sorted(answered, key=lambda each: each.began):
            while place < len(ended) and ended[place].ended < operation.began:
                # Of equal ones the latest: it makes the shortest history.
                if newest is None or ended[place].state >= newest.state:
                    newest = ended[place]
                place += 1
            if newest is not None and operation.state < newest.state:
                makers = tuple(each for each in answered if each.applied and each.state == newest.state)
                violations.append(Violation("an answer is older than one that ended before it began", (newest, operation), makers))
    return sorted(violations, key=lambda violation: violation.operations[-1].ended)


def stale_copies(history: Iterable[Operation], out_of_reach: Iterable[tuple[float, float]], bound_s: float) -> list[Violation]:
    """Reads that came from a cache node, maybe, and are older than a write that was acknowledged before they began.

    A write that ran while its logic node may have been `out_of_reach` of a cache node is held against reads only `bound_s` after its end.
    """
    times = list(out_of_reach)
    violations = []
    for operations in _by_user(history).values():
        answered = [each for each in operations if each.state is not None]
        # From when on a write is held against reads.
        writes = sorted(
            (each.ended + (bound_s if any(began <= each.ended and each.began <= ended for began, ended in times) else 0.0), each)
            for each in answered
            if each.kind != READ
        )
        place, newest = 0, None
        for read in sorted((each for each in answered if each.kind == READ), key=lambda each: each.began):
            while place < len(writes) and writes[place][0] < read.began:
                if newest is None or writes[place][1].state >= newest.state:
                    newest = writes[place][1]
                place += 1
            if newest is not None and read.state < newest.state:
                violations.append(Violation("a read is older than a write that was acknowledged before it began", (newest, read)))
    return violations


def overtaking_reads(history: Iterable[Operation]) -> list[Violation]:
    """Reads that were sent after a write of the same user on the same connection, and do not show it."""
    violations = []
    connections: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    for operation in history:
        if operation.connection:
            connections[operation.connection, operation.uid].append(operation)
    for operations in connections.values():
        newest: Operation | None = None
        for operation in sorted(operations, key=lambda each: each.place):
            if operation.state is None:
                continue
            if operation.kind == READ and newest is not None and newest.state is not None and operation.state < newest.state:
                violations.append(Violation("a read has overtaken a write that was sent before it on its connection", (newest, operation)))
            if operation.kind != READ:
                newest = operation
    return violations


def double_applications(history: Iterable[Operation]) -> list[Violation]:
    """Event ids that were answered as newly applied more than once."""
    applied = defaultdict(list)
    for operation in history:
        if operation.applied:
            applied[operation.uid, operation.event_id].append(operation)
    return [Violation("an event was applied twice", tuple(each)) for each in applied.values() if len(each) > 1]


def two_faced_versions(history: Iterable[Operation]) -> list[Violation]:
    """Answers of one user that name the same version and show different counters."""
    violations = []
    for operations in _by_user(history).values():
        seen: dict[State, Operation] = {}
        for operation in operations:
            # A repeated event's answer shows the present state, like every other.
            if operation.state is None or operation.progress is None:
                continue
            first = seen.setdefault(operation.state, operation)
            if first.progress != operation.progress:
                violations.append(Violation("two answers of one version differ", (first, operation)))
    return violations


def long_waits(history: Iterable[Operation], bound_s: float, troubled: Iterable[tuple[float, float]] = ()) -> list[Violation]:
    """Reads that waited longer than `bound_s`, answered or not, wholly outside the `troubled` times (INV 7)."""
    times = list(troubled)
    return [
        Violation(f"a read waited longer than {1000 * bound_s:.0f} ms while it could have been served", (operation,))
        for operation in history
        if operation.kind == READ
        and operation.wait_s > bound_s
        and not any(began <= operation.ended and operation.began <= ended for began, ended in times)
    ]


@dataclass(frozen=True)
class FinalState:
    """What the master holds of one user in the end: his version, his counter, and the event ids applied to him."""

    version: int
    progress: int
    event_ids: frozenset[str]


def lost_and_invented(history: Iterable[Operation], final: Mapping[int, FinalState], is_counting: bool = True) -> list[Violation]:
    """Acknowledged writes that are gone, and states that are not exactly the events applied. `is_counting`: each write has added 1."""
    violations = []
    for uid, operations in _by_user(history).items():
        state = final.get(uid, FinalState(0, 0, frozenset()))
        changes = [each for each in operations if each.kind != READ]
        for operation in changes:
            if operation.state is not None and operation.event_id not in state.event_ids:
                violations.append(Violation("an acknowledged write is lost", (operation,)))
        if state.version != len(state.event_ids):
            violations.append(Violation(f"uid {uid}: version {state.version} and {len(state.event_ids)} events: they must be equal"))
        fewest, most = _counter_bounds(changes, state)
        if is_counting and not fewest <= state.progress <= most:
            expected = str(most) if fewest == most else f"{fewest} to {most}"
            violations.append(Violation(f"uid {uid}: the counter is {state.progress}, must be {expected} at version {state.version}"))
        invented = state.event_ids - {each.event_id for each in changes}
        if invented:
            violations.append(Violation(f"uid {uid}: events that nobody sent: {sorted(invented)[:3]}"))
        newest = max((each.state for each in operations if each.state is not None), default=State(0, 0))
        if newest.version > state.version:
            violations.append(Violation(f"uid {uid}: version {newest.version} was shown, the master ends with {state.version}"))
    return violations


def _counter_bounds(changes: list[Operation], state: FinalState) -> tuple[int, int]:
    """What the counter may be: one for each version after the last clear. A clear whose version nobody learned may have come any time."""
    clears: dict[str, int] = {}
    for each in changes:
        if each.kind == CLEAR and each.event_id in state.event_ids:
            made = each.state.version if each.applied and each.state is not None else 0
            clears[each.event_id] = max(clears.get(each.event_id, 0), made)
    most = state.version - max(clears.values(), default=0)
    return (0 if 0 in clears.values() else most), most


def judge(history: list[Operation], final: Mapping[int, FinalState]) -> list[Violation]:
    """Every broken promise, stale answers first."""
    return [
        *stale_reads(history),
        *overtaking_reads(history),
        *double_applications(history),
        *two_faced_versions(history),
        *lost_and_invented(history, final),
    ]


def judge_copies(
    history: list[Operation], final: Mapping[int, FinalState], out_of_reach: Iterable[tuple[float, float]], bound_s: float
) -> list[Violation]:
    """Every broken promise where reads may come from cache nodes; what a write answers comes from a database and is never old."""
    return [
        *stale_copies(history, out_of_reach, bound_s),
        *stale_reads(each for each in history if each.kind != READ),
        *double_applications(history),
        *lost_and_invented(history, final, is_counting=False),
    ]


def shortest(violations: Iterable[Violation]) -> Violation | None:
    return min(violations, key=lambda violation: violation.size, default=None)


def tally(history: Iterable[Operation]) -> Counter[str]:
    """How many operations of each kind, how many unanswered, and who served the reads."""
    counts: Counter[str] = Counter()
    for operation in history:
        counts[operation.kind] += 1
        if operation.state is None:
            counts[f"{operation.kind} without answer"] += 1
        elif operation.kind == READ:
            counts[f"read from {operation.served_by}"] += 1
        elif not operation.applied:
            counts[f"{operation.kind} repeated"] += 1
    return counts


def longest_waits(history: Iterable[Operation]) -> dict[str, float]:
    """The longest wait for an answer, in seconds, of each kind of operation."""
    longest: dict[str, float] = {}
    for operation in history:
        if operation.state is not None:
            longest[operation.kind] = max(longest.get(operation.kind, 0.0), operation.wait_s)
    return longest


def _by_user(history: Iterable[Operation]) -> dict[int, list[Operation]]:
    users: dict[int, list[Operation]] = defaultdict(list)
    for operation in history:
        users[operation.uid].append(operation)
    return users
