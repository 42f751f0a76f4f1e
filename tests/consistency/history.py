"""What the clients did and saw, and what is wrong with it.

Pure. An operation counts from before it was sent until after its answer was read; a write whose outcome the client never
learned has no answer. Versions count a user's applied events, so they order his states; they are compared as
(generation, version).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

READ, WRITE = "read", "write"


class State(NamedTuple):
    generation: int
    version: int


class Operation(NamedTuple):
    """`began`, `ended`: seconds of one clock. `state` is None where there was no answer; then `ended` means nothing."""

    client: int
    kind: str
    uid: int
    began: float
    ended: float
    state: State | None
    event_id: str = ""
    applied: bool = False
    served_by: str = ""

    def __str__(self) -> str:
        answer = "no answer" if self.state is None else f"version {self.state.version} of generation {self.state.generation}"
        how = f" applied={self.applied} event={self.event_id}" if self.kind == WRITE else f" from {self.served_by}"
        return f"[{self.began:10.4f} … {self.ended:10.4f}] client {self.client} {self.kind:5} uid {self.uid}: {answer}{how}"


@dataclass(frozen=True)
class Violation:
    """What was promised and broken, and the shortest part of the history that shows it."""

    promise: str
    operations: tuple[Operation, ...]

    def __str__(self) -> str:
        return "\n".join([self.promise, *(f"    {operation}" for operation in self.operations)])


def stale_reads(history: Iterable[Operation]) -> list[Violation]:
    """Answers older than one that had ended, for the same user, before they began. Reads and write answers alike."""
    violations = []
    for operations in _by_user(history).values():
        answered = [operation for operation in operations if operation.state is not None]
        ended = sorted(answered, key=lambda operation: operation.ended)
        place, newest = 0, None
        for operation in sorted(answered, key=lambda each: each.began):
            while place < len(ended) and ended[place].ended < operation.began:
                if newest is None or ended[place].state > newest.state:
                    newest = ended[place]
                place += 1
            if newest is not None and operation.state < newest.state:
                violations.append(Violation("an answer is older than one that ended before it began", (newest, operation)))
    return sorted(violations, key=lambda violation: violation.operations[-1].ended)


def double_applications(history: Iterable[Operation]) -> list[Violation]:
    """Event ids that were answered as newly applied more than once."""
    applied = defaultdict(list)
    for operation in history:
        if operation.kind == WRITE and operation.applied:
            applied[operation.uid, operation.event_id].append(operation)
    return [Violation("an event was applied twice", tuple(each)) for each in applied.values() if len(each) > 1]


@dataclass(frozen=True)
class FinalState:
    """What the master holds of one user in the end: his version, his counter, and the event ids applied to him."""

    version: int
    progress: int
    event_ids: frozenset[str]


def lost_and_invented(history: Iterable[Operation], final: Mapping[int, FinalState]) -> list[Violation]:
    """Acknowledged writes that are gone, and states that are not exactly the events applied. Every write adds 1."""
    violations = []
    for uid, operations in _by_user(history).items():
        state = final.get(uid, FinalState(0, 0, frozenset()))
        acknowledged = [each for each in operations if each.kind == WRITE and each.state is not None]
        for operation in acknowledged:
            if operation.event_id not in state.event_ids:
                violations.append(Violation("an acknowledged write is lost", (operation,)))
        if not state.version == state.progress == len(state.event_ids):
            promise = f"uid {uid}: version {state.version}, progress {state.progress}, {len(state.event_ids)} events: they must be equal"
            violations.append(Violation(promise, ()))
        sent = {each.event_id for each in operations if each.kind == WRITE}
        invented = state.event_ids - sent
        if invented:
            violations.append(Violation(f"uid {uid}: events that nobody sent: {sorted(invented)[:3]}", ()))
        newest = max((each.state for each in operations if each.state is not None), default=State(0, 0))
        if newest.version > state.version:
            violations.append(Violation(f"uid {uid}: version {newest.version} was shown, the master ends with {state.version}", ()))
    return violations


def judge(history: list[Operation], final: Mapping[int, FinalState]) -> list[Violation]:
    """Every broken promise, stale answers first."""
    return [*stale_reads(history), *double_applications(history), *lost_and_invented(history, final)]


def tally(history: Iterable[Operation]) -> Counter[str]:
    """How many operations of each kind, how many unanswered, and who served the reads."""
    counts: Counter[str] = Counter()
    for operation in history:
        counts[operation.kind] += 1
        if operation.state is None:
            counts[f"{operation.kind} without answer"] += 1
        elif operation.kind == READ:
            counts[f"read from {operation.served_by}"] += 1
    return counts


def _by_user(history: Iterable[Operation]) -> dict[int, list[Operation]]:
    users: dict[int, list[Operation]] = defaultdict(list)
    for operation in history:
        users[operation.uid].append(operation)
    return users
