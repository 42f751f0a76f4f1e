"""DbInterface: the client of the DBSvr.

Sends each command to the DBSvr that owns the user, and repeats it while that can help: only within the request's deadline, only
when the error says that it may be sent again, and a write only ever with the same event id. Leans on workers.protocol for the
values and the errors, on apps.dbsvr.connections for the way there; knows nothing of caches.
"""

from __future__ import annotations

import functools
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from apps.dbsvr.connections import Connections
from tasksys_site import configuration
from workers.protocol import (
    MAX_BATCH_UIDS,
    Change,
    DBSvrError,
    Snapshot,
    TimedOut,
    WriteAnswer,
    decode_snapshot,
    decode_write_answer,
    encode,
)

FIRST_PAUSE_MS = 20
LONGEST_PAUSE_MS = 400

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode

Answer = TypeVar("Answer")


class DbInterface:
    """Reads and writes users through the DBSvr. Shared by threads.

    `deadline_ms` is what a call may take in all, its repeats included; each call can be given its own.
    """

    def __init__(self, dbsvr: configuration.DBSvr, deadline_ms: int) -> None:
        self._deadline_ms = deadline_ms
        self._instances = {name: Connections(instance) for name, instance in dbsvr.instances.items()}

    def get(self, uid: int, node: str, *, deadline_ms: int | None = None) -> Snapshot:
        """The user's snapshot. `node` is the cache node on which the asker may put a copy of it."""
        return self._repeating(
            lambda until: _decoded(decode_snapshot, self._owner(uid).ask("TASK.GET", uid, node, until=until)), deadline_ms
        )

    def get_many(self, uids: Sequence[int], node: str, *, deadline_ms: int | None = None) -> list[Snapshot | DBSvrError]:
        """One snapshot, or the error in its place, for each uid, in order. Raises no DBSvrError: one user's fault is not the others'."""
        until = self._until(deadline_ms)
        results: list[Snapshot | DBSvrError] = [TimedOut("the deadline passed before this user was asked for")] * len(uids)
        places = list(range(len(uids)))
        attempt = 0
        while places:
            # A mapping by owner comes here with the second DBSvr; today the first owns everybody.
            for start in range(0, len(places), MAX_BATCH_UIDS):
                batch = places[start : start + MAX_BATCH_UIDS]
                if time.monotonic() >= until:
                    break
                for place, result in zip(batch, self._ask_batch([uids[place] for place in batch], node, until), strict=True):
                    results[place] = result
            again = {place: error for place in places if isinstance(error := results[place], DBSvrError) and error.retryable}
            if not again or not _pause(max(again.values(), key=lambda error: error.retry_after_ms), attempt, until):
                break
            places = list(again)
            attempt += 1
        return results

    def finish(self, uid: int, node: str, event_id: str, changes: Sequence[Change], *, deadline_ms: int | None = None) -> WriteAnswer:
        """Apply the changes at once, or none, and once only for each event id.

        Raises DBSvrError. With `outcome_unknown` the write may have happened: send it again with the same event id.
        """
        payload = encode(changes)
        return self._repeating(
            lambda until: _decoded(decode_write_answer, self._owner(uid).ask("TASK.FINISH", uid, node, event_id, payload, until=until)),
            deadline_ms,
        )

    def clear(self, uid: int, node: str, event_id: str, *, deadline_ms: int | None = None) -> WriteAnswer:
        """Delete the user's data; his version and his event ids stay. Errors as in `finish`."""
        return self._repeating(
            lambda until: _decoded(decode_write_answer, self._owner(uid).ask("TASK.CLEAR", uid, node, event_id, until=until)), deadline_ms
        )

    def explain(self, uid: int, *, deadline_ms: int | None = None) -> dict[str, Any]:
        """What the user's DBSvr knows of him, and which servers may serve him now."""
        return self._repeating(lambda until: _decoded(_decode_object, self._owner(uid).ask("TASK.EXPLAIN", uid, until=until)), deadline_ms)

    def stats(self, instance: str, *, deadline_ms: int | None = None) -> dict[str, Any]:
        """The counters of one DBSvr. Asked once, never repeated: an old answer is of no use to who watches. KeyError: no such instance."""
        return _decoded(_decode_object, self._instances[instance].ask("TASK.STATS", until=self._until(deadline_ms)))

    def close(self) -> None:
        for connections in self._instances.values():
            connections.close()

    def _owner(self, uid: int) -> Connections:
        """The DBSvr that owns the user. One owns everybody; with a second one the uid's segment decides here."""
        return next(iter(self._instances.values()))

    def _until(self, deadline_ms: int | None) -> float:
        return time.monotonic() + (self._deadline_ms if deadline_ms is None else deadline_ms) / 1000

    def _ask_batch(self, uids: list[int], node: str, until: float) -> list[Snapshot | DBSvrError]:
        try:
            answer = self._owner(uids[0]).ask("TASK.MGET", node, *uids, until=until)
            if not isinstance(answer, list) or len(answer) != len(uids):
                raise DBSvrError(f"TASK.MGET of {len(uids)} users was answered with {str(answer)[:100]!r}")
            return [element if isinstance(element, DBSvrError) else _decoded(decode_snapshot, element) for element in answer]
        except DBSvrError as error:
            return [error] * len(uids)

    def _repeating(self, ask: Callable[[float], Answer], deadline_ms: int | None) -> Answer:
        until = self._until(deadline_ms)
        attempt = 0
        while True:
            try:
                return ask(until)
            except DBSvrError as error:
                if not error.retryable or not _pause(error, attempt, until):
                    raise
            attempt += 1


def _decoded(decode: Callable[[bytes], Answer], answer: Any) -> Answer:
    """The value in an answer. What the protocol does not know is a DBSvrError: some other server may listen there."""
    if not isinstance(answer, bytes):
        raise DBSvrError(f"the DBSvr answered {str(answer)[:100]!r} where JSON was expected")
    try:
        return decode(answer)
    except msgspec.MsgspecError as error:
        raise DBSvrError(f"the DBSvr answered what the protocol does not know: {error}") from error


def _pause(error: DBSvrError, attempt: int, until: float) -> bool:
    """Wait before the next attempt; False, without waiting, when the deadline would pass meanwhile.

    The pause is random, so that clients that were refused together do not come back together. The DBSvr's own word for when
    to come back is a lower bound.
    """
    pause_ms = random.uniform(1, min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2**attempt)) + error.retry_after_ms
    if time.monotonic() + pause_ms / 1000 >= until:
        return False
    time.sleep(pause_ms / 1000)
    return True


def db_interface() -> DbInterface:
    """The process's one DbInterface, made of the configuration at first use."""
    return _of_process(os.getpid())


@functools.lru_cache(maxsize=1)
def _of_process(pid: int) -> DbInterface:
    """A forked child must not use its parent's connections, hence the pid."""
    settings = configuration.load()
    return DbInterface(settings.dbsvr, settings.web.deadline_ms)
