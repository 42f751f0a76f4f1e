"""DbInterface: the client of the DBSvrs.

Sends each command to the DBSvr that owns the user, goes to another when that one cannot be reached, and repeats while that can help:
only within the request's deadline, only when the error says that it may be sent again, and a write only ever with the same event id.

Leans on workers.protocol for the values and the errors, on `connections` for the way there, on `owners` for who owns whom, on `reach` for
who can be reached; knows nothing of caches.
"""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from apps.dbsvr.config_calls import ConfigCalls
from apps.dbsvr.connections import Connections, NoAnswer
from apps.dbsvr.convoys import Convoys, Traveller, Work
from apps.dbsvr.owners import Owners
from apps.dbsvr.reach import Reach
from apps.dbsvr.rounds import Rounds, Turn, one_of_each, pause
from tasksys_site import configuration
from workers.protocol import (
    MAX_BATCH_UIDS,
    Change,
    DBSvrError,
    MasterDown,
    NotOwner,
    Overloaded,
    PublishedBundle,
    RepairAnswer,
    RepairOrder,
    Snapshot,
    TimedOut,
    Unreachable,
    WriteAnswer,
    decode_repair_answer,
    decode_snapshot,
    decode_write_answer,
    encode,
)

READ_TRY_S = 0.5
"""The longest try of a read, which the other DBSvr can answer at once: longer than an owner that is well lets one wait, short enough to be
read again within a second of its death."""
LEAST_WAIT_S = 0.05
"""A shorter wait, at the end of a deadline, says nothing about who did not answer in it."""

PIPELINED = 100
"""Writes on the way at once over one connection: their answers must fit into what a DBSvr holds for who does not read yet."""

GO_ELSEWHERE = (Unreachable, TimedOut, NotOwner, MasterDown)
"""The errors after which another DBSvr is asked at once.

MASTERDOWN too: perhaps the master is out of the owner's reach alone, and only those who ask the other let it take the users over. Not
OVERLOADED: the owner lives, so the other would forward the request to it, and it would have more to do, not less; that is waited out where
it was said. All other errors would be said everywhere.
"""

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode

Answer = TypeVar("Answer")


class Write(NamedTuple):
    """One write among many. `node`: the cache node on which the writer may have a copy of the user."""

    uid: int
    node: str
    event_id: str
    changes: Sequence[Change]


class DbInterface:
    """Reads and writes users through the DBSvrs. Shared by threads.

    `deadline_ms` is what a call may take in all, its repeats included; each call can be given its own.
    """

    def __init__(self, dbsvr: configuration.DBSvr, deadline_ms: int) -> None:
        self._deadline_ms = deadline_ms
        self._instances = {name: Connections(instance) for name, instance in dbsvr.instances.items()}
        self._config_calls = ConfigCalls(dbsvr.instances)
        self._owners = Owners(dbsvr.segment_list, self._instances)
        self._rounds = Rounds(self._turn, self._goes_elsewhere)
        self._watch()

    def get(self, uid: int, node: str, *, deadline_ms: int | None = None) -> Snapshot:
        """The user's snapshot. `node` is the cache node on which the asker may put a copy of it."""

        def ask(instance: str, until: float) -> Snapshot:
            snapshot = _decoded(decode_snapshot, self._ask(instance, until, "TASK.GET", uid, node))
            self._owners.note_read(uid, instance, snapshot.reason)
            return snapshot

        return self._repeating(uid, ask, deadline_ms, READ_TRY_S)

    def get_many(self, uids: Sequence[int], node: str, *, deadline_ms: int | None = None) -> list[Snapshot | DBSvrError]:
        """One snapshot, or the error in its place, for each uid, in order. Raises no DBSvrError: one user's fault is not the others'."""
        results: list[Snapshot | DBSvrError] = [TimedOut("the deadline passed before this user was asked for")] * len(uids)

        def ask(turn: Turn, places: list[int], until: float) -> list[Snapshot | DBSvrError]:
            return self._ask_batch(turn, [uids[place] for place in places], node, until)

        self._rounds(uids, results, range(len(uids)), ask, MAX_BATCH_UIDS, self._until(deadline_ms))
        return results

    def finish(self, uid: int, node: str, event_id: str, changes: Sequence[Change], *, deadline_ms: int | None = None) -> WriteAnswer:
        """Apply the changes at once, or none, and once only for each event id.

        Raises DBSvrError. With `outcome_unknown` the write may have happened: send it again with the same event id.
        """
        return self._write(uid, deadline_ms, "TASK.FINISH", uid, node, event_id, encode(changes))

    def travel(self, uid: int, traveller: Traveller, convoys: Mapping[str, Convoys], until: float) -> Callable[[], None] | None:
        """One try of a write, with those of other threads that come meanwhile. None: `traveller` has its answer, if it was sent; it is not
        repeated here. Else nobody is under way: the caller writes by himself, and then calls what he was given."""
        turn = self._turn(uid, set())
        theirs = convoys[turn.instance]
        began, until = time.monotonic(), turn.until(until)
        try:
            by_itself = theirs.set_out(traveller, until)
        except DBSvrError as failure:
            traveller.answer = failure
        else:
            if by_itself is not None:
                return functools.partial(theirs.end, by_itself)
        answer = traveller.answer
        error = answer if isinstance(answer, DBSvrError) else None
        if answer is not None and (not isinstance(error, NoAnswer) or until - began >= LEAST_WAIT_S):
            self._reach(turn.instance).note(error)
        if isinstance(error, NotOwner):
            self._owners.note_owner(uid, error.owner)
        return None

    def convoys(self, work: Work) -> dict[str, Convoys]:
        """To each DBSvr, for `travel`. Their maker closes them."""
        return {name: Convoys(connections, work) for name, connections in self._instances.items()}

    def finish_many(self, writes: Sequence[Write], *, deadline_ms: int | None = None) -> list[WriteAnswer | DBSvrError]:
        """One answer, or the error in its place, for each write, in order; on the way to one DBSvr they share a connection.

        Each is repeated as `finish` repeats. Of several writes of one user each is sent when the one before has its answer. Raises no
        DBSvrError.
        """
        until = self._until(deadline_ms)
        results: list[WriteAnswer | DBSvrError] = [Overloaded("the deadline passed before this was sent; nothing was done")] * len(writes)
        unknown: dict[int, DBSvrError] = {}

        def ask(turn: Turn, places: list[int], until: float) -> list[WriteAnswer | DBSvrError]:
            answers = self._ask_writes(turn, [writes[place] for place in places], until)
            unknown.update(
                (place, it) for place, it in zip(places, answers, strict=True) if isinstance(it, DBSvrError) and it.outcome_unknown
            )
            return answers

        uids = [write.uid for write in writes]
        for places in one_of_each(uids):
            self._rounds(uids, results, places, ask, PIPELINED, until)
        for place, error in unknown.items():
            result = results[place]
            if isinstance(result, DBSvrError) and not result.outcome_unknown:
                results[place] = error  # as in `_write`: an earlier try may have been applied
        return results

    def clear(self, uid: int, node: str, event_id: str, *, deadline_ms: int | None = None) -> WriteAnswer:
        """Delete the user's data; his version and his event ids stay. Errors as in `finish`."""
        return self._write(uid, deadline_ms, "TASK.CLEAR", uid, node, event_id)

    def repair(self, uid: int, node: str, event_id: str, order: RepairOrder, *, deadline_ms: int | None = None) -> RepairAnswer:
        """Let the user's DBSvr write one row again as it is on the master, by a statement. For operators. Errors as in `finish`."""
        words = ("TASK.REPAIR", uid, node, event_id, encode(order))
        return self._repeating(uid, lambda instance, until: _decoded(decode_repair_answer, self._ask(instance, until, *words)), deadline_ms)

    def explain(self, uid: int, *, deadline_ms: int | None = None) -> dict[str, Any]:
        """What the user's DBSvr knows of him, and which servers may serve him now."""
        return self._repeating(
            uid, lambda instance, until: _decoded(_decode_object, self._ask(instance, until, "TASK.EXPLAIN", uid)), deadline_ms
        )

    def stats(self, instance: str, *, deadline_ms: int | None = None) -> dict[str, Any]:
        """The counters of one DBSvr. Asked once, never repeated: an old answer is of no use to who watches. KeyError: no such instance."""
        return _decoded(_decode_object, self._instances[instance].ask("TASK.STATS", until=self._until(deadline_ms)))

    def wait_for_config(self, known: int | str, block_ms: int, using: int | None = None) -> PublishedBundle | None:
        """The newest task configuration, when it is another than `known` (a revision's number, or its ETag), which is waited for up to
        `block_ms`; None: it is still that one. For one thread of a process.

        `using`: the revision that the process works with, where that is another. Raises DamagedRevision: the newest cannot be read, and
        the known one stands; and the last DBSvrError when no DBSvr has an answer.
        """
        return self._config_calls.wait(known, block_ms, using)

    def close(self) -> None:
        self._config_calls.close()
        for reach in self._reaches.values():
            reach.close()
        for connections in self._instances.values():
            connections.close()

    def _until(self, deadline_ms: int | None) -> float:
        return time.monotonic() + (self._deadline_ms if deadline_ms is None else deadline_ms) / 1000

    def _watch(self) -> None:
        self._reaches = {name: Reach(name, connections) for name, connections in self._instances.items()}
        self._pid = os.getpid()

    def _reach(self, instance: str) -> Reach:
        if self._pid != os.getpid():
            # In a forked child the parent's locks may be held for ever, and its prober does not run.
            self._watch()
        return self._reaches[instance]

    def _turn(self, uid: int, asked: set[str]) -> Turn:
        """Whom to ask now: the owner, else the next one that was not asked in this round and that can be reached as far as is known.

        When none can be reached, all are asked as if all could: one may just have come back.
        """
        in_turn = self._owners.in_turn(uid)
        good = [name for name in in_turn if self._reach(name).is_good] or in_turn
        left = [name for name in good if name not in asked] if asked else good
        if not left:
            asked.clear()
            left = good
        return Turn(left[0], is_last=len(left) == 1)

    def _goes_elsewhere(self, uid: int, turn: Turn, error: DBSvrError, asked: set[str]) -> bool:
        """Whether to ask another at once after this error. When all were asked the round is over, and a pause is due."""
        if not isinstance(error, GO_ELSEWHERE):
            return False
        if isinstance(error, NotOwner):
            self._owners.note_owner(uid, error.owner)
        asked.add(turn.instance)
        return not turn.is_last

    def _ask(self, instance: str, until: float, *command: str | bytes | int) -> Any:
        reach = self._reach(instance)
        began = time.monotonic()
        try:
            answer = self._instances[instance].ask(*command, until=until)
        except DBSvrError as error:
            if not isinstance(error, NoAnswer) or until - began >= LEAST_WAIT_S:
                reach.note(error)
            raise
        reach.note(None)
        return answer

    def _ask_writes(self, turn: Turn, writes: Sequence[Write], until: float) -> list[WriteAnswer | DBSvrError]:
        commands = [("TASK.FINISH", it.uid, it.node, it.event_id, encode(it.changes)) for it in writes]
        reach, until = self._reach(turn.instance), turn.until(until)
        began = time.monotonic()
        answers = self._instances[turn.instance].ask_many(commands, until=until)
        for answer in answers[-1:]:  # they came over one connection: the last one says whether it held
            error = answer if isinstance(answer, DBSvrError) else None
            if not isinstance(error, NoAnswer) or until - began >= LEAST_WAIT_S:
                reach.note(error)
        return [decoded_write_answer(answer) for answer in answers]

    def _ask_batch(self, turn: Turn, uids: list[int], node: str, until: float) -> list[Snapshot | DBSvrError]:
        try:
            answer = self._ask(turn.instance, turn.until(until, READ_TRY_S), "TASK.MGET", node, *uids)
            if not isinstance(answer, list) or len(answer) != len(uids):
                raise DBSvrError(f"TASK.MGET of {len(uids)} users was answered with {str(answer)[:100]!r}")
            snapshots = [element if isinstance(element, DBSvrError) else _decoded(decode_snapshot, element) for element in answer]
        except DBSvrError as error:
            return [error] * len(uids)
        for uid, snapshot in zip(uids, snapshots, strict=True):
            if isinstance(snapshot, Snapshot):
                self._owners.note_read(uid, turn.instance, snapshot.reason)
        return snapshots

    def _write(self, uid: int, deadline_ms: int | None, *command: str | bytes | int) -> WriteAnswer:
        unknown: DBSvrError | None = None

        def ask(instance: str, until: float) -> WriteAnswer:
            nonlocal unknown
            try:
                return _decoded(decode_write_answer, self._ask(instance, until, *command))
            except DBSvrError as error:
                unknown = error if error.outcome_unknown else unknown
                raise

        try:
            return self._repeating(uid, ask, deadline_ms)
        except DBSvrError as error:
            if unknown is not None and not error.outcome_unknown:
                # "Nothing was done" is true of the last try only: an earlier one may have been applied.
                raise unknown from error
            raise

    def _repeating(self, uid: int, ask: Callable[[str, float], Answer], deadline_ms: int | None, longest_try_s: float = math.inf) -> Answer:
        until = self._until(deadline_ms)
        asked: set[str] = set()
        attempt = 0
        while True:
            turn = self._turn(uid, asked)
            try:
                return ask(turn.instance, turn.until(until, longest_try_s))
            except DBSvrError as error:
                if not error.retryable:
                    raise
                if self._goes_elsewhere(uid, turn, error, asked) and time.monotonic() < until:
                    continue
                if not pause(error, attempt, until):
                    raise
            attempt += 1


def decoded_write_answer(answer: Any) -> WriteAnswer | DBSvrError:
    try:
        return answer if isinstance(answer, DBSvrError) else _decoded(decode_write_answer, answer)
    except DBSvrError as error:
        return error


def _decoded(decode: Callable[[bytes], Answer], answer: Any) -> Answer:
    """The value in an answer. What the protocol does not know is a DBSvrError: some other server may listen there."""
    if not isinstance(answer, bytes):
        raise DBSvrError(f"the DBSvr answered {str(answer)[:100]!r} where JSON was expected")
    try:
        return decode(answer)
    except msgspec.MsgspecError as error:
        raise DBSvrError(f"the DBSvr answered what the protocol does not know: {error}") from error


def db_interface() -> DbInterface:
    """The process's one DbInterface, made of the configuration at first use."""
    return _of_process(os.getpid())


@functools.lru_cache(maxsize=1)
def _of_process(pid: int) -> DbInterface:
    """A forked child must not use its parent's connections, hence the pid."""
    settings = configuration.load()
    return DbInterface(settings.dbsvr, settings.web.deadline_ms)
