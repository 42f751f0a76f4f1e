"""TaskInterface: users' tasks through the cache nodes.

A read goes to the user's node on the ring, or to the next that may be used; a miss goes to the DBSvr, once for all threads of this
process that miss the user together, and fills the node, by one reader of all processes at a time and only with an answer that is
storable and newest (INV 8). A write goes to the DBSvr, and before it is answered, `purging` completes it on the nodes (INV 9).
Which nodes may be used `node_set` says (INV 11); without any the DBSvr serves.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import random
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from apps.cachesync.followed_writes import FollowedWrites
from apps.cachesync.node_set import NodeSet
from apps.cachesync.nodes import CacheNode, NodeUnavailable
from apps.cachesync.purging import Purging
from apps.cachesync.shared_reads import SharedReads
from apps.cachesync.travelling import Travelling, TravellingWrite
from apps.dbsvr.db_interface import DbInterface, Write, db_interface
from tasksys_site import configuration
from workers.protocol import Change, DBSvrError, Snapshot, WriteAnswer

log = logging.getLogger(__name__)

NOWHERE = "none"
"""What a request names when it uses no node: no node has this name, and no copy is ever put there."""
TOKEN_LASTS_MS = 1_000
"""At most: so long readers may believe that somebody fills who has died meanwhile."""
WAIT_FOR_FILL_S = 0.3
"""How long a reader waits for the copy that another process is about to put there, before it reads for itself."""
FIRST_LOOK_S = 0.002
LAST_LOOK_S = 0.02


class UserWrite(NamedTuple):
    uid: int
    event_id: str
    changes: Sequence[Change]


class TaskInterface:
    """Shared by threads. Raises DbInterface's errors; a failing cache node is no error."""

    def __init__(self, dbsvr: DbInterface, cache: configuration.Cache, deadline_ms: int) -> None:
        """`deadline_ms`: for one call in all."""
        self._dbsvr = dbsvr
        self._followed = FollowedWrites(cache.check_one_in)
        self._nodes = NodeSet(cache, self._followed.write_down)
        self._purging = Purging(self._nodes, cache.purge_before_answer_ms)
        self._reads = SharedReads()
        self._travelling: list[Travelling] = []
        self._deadline_s = deadline_ms / 1000
        self._token_ms = min(deadline_ms, TOKEN_LASTS_MS)

    def get(self, uid: int) -> Snapshot:
        """The user's snapshot, `served_by` a cache node, the master or a replica."""
        node = self._nodes.choose(uid)
        if node is not None:
            copy = self._copy(node, uid)
            if copy is not None:
                return copy
        until = time.monotonic() + self._deadline_s
        return self._reads.read(uid, until, lambda: self._read_and_fill(uid, until))

    def get_many(self, uids: Sequence[int]) -> list[Snapshot | DBSvrError]:
        """One snapshot, or the error in its place, for each uid, in order: a few round trips for each node, whatever their number.

        The nodes look for copies at the same time.
        """
        until = time.monotonic() + self._deadline_s
        found: dict[int, Snapshot | DBSvrError] = {}
        begun = [(node, theirs, _begin(node, theirs)) for node, theirs in self._by_node(uids).items()]
        # All are received before anything else is done: what could fail in between would leave an answer in its connection.
        for node, theirs, copies in [(node, theirs, _take(take)) for node, theirs, take in begun]:
            found |= self._get_many(node, theirs, copies, until)
        return [found[uid] for uid in uids]

    def copies(self, uids: Iterable[int]) -> dict[int, tuple[CacheNode, Snapshot]]:
        """Of these users those whose copy lies on its node, and may be served. Nothing else is asked for them."""
        begun = [(node, theirs, _begin(node, theirs)) for node, theirs in self._by_node(uids).items()]
        found: dict[int, tuple[CacheNode, Snapshot]] = {}
        for node, theirs, copies in [(node, theirs, _take(take)) for node, theirs, take in begun]:
            if node is not None and copies is not None:
                served = self._served(node, theirs, copies)
                node.counts.hits += len(served)
                found |= {uid: (node, snapshot) for uid, snapshot in served.items()}
        return found

    def get_with_profile(self, uid: int) -> tuple[Snapshot, bytes | None]:
        """The same as `get`, and what his cache node keeps of his profile: one round trip when the copy lies there too."""
        node = self._nodes.choose(uid)
        profile = None
        if node is not None:
            with contextlib.suppress(NodeUnavailable):
                copy, profile = node.get_with_profile(uid)
                if self._may_be_served(copy, node):
                    return copy, profile
        until = time.monotonic() + self._deadline_s
        return self._reads.read(uid, until, lambda: self._read_and_fill(uid, until)), profile

    def profiles(self, uids: Sequence[int]) -> dict[int, bytes]:
        """What the cache nodes keep of these users' profiles."""
        found: dict[int, bytes] = {}
        for node, theirs in self._by_node(uids).items():
            if node is not None:
                with contextlib.suppress(NodeUnavailable):
                    found |= {uid: kept for uid, kept in zip(theirs, node.profiles(theirs), strict=True) if kept is not None}
        return found

    def put_profiles(self, profiles: Mapping[int, bytes], ttl_ms: int) -> None:
        """Each to its user's cache node; what cannot be put there is asked for again."""
        for node, theirs in self._by_node(profiles).items():
            if node is not None:
                with contextlib.suppress(NodeUnavailable):
                    node.put_profiles({uid: profiles[uid] for uid in theirs}, ttl_ms)

    def forget_profile(self, erased: WriteAnswer) -> None:
        """The profile of the user whom this write has erased goes from every cache node. Raises TimedOut; repeat the write then."""
        self._purging.forget_profile(erased)

    def finish(self, uid: int, event_id: str, changes: Sequence[Change], *, deadline_ms: int | None = None) -> WriteAnswer:
        """Apply the changes once for this event id; when it returns, no node that could be reached serves anything older."""
        node = self._nodes.choose(uid)
        answer = self._dbsvr.finish(uid, node.name if node else NOWHERE, event_id, changes, deadline_ms=deadline_ms)
        return self._completed(node, event_id, answer, write_through=True)

    def finish_many(self, writes: Sequence[UserWrite], *, deadline_ms: int | None = None) -> list[WriteAnswer | DBSvrError]:
        """One answer, or the error in its place, for each write, in order; each is purged for before this returns, as in `finish`.

        Those of one user are applied in their order.
        """
        own = [self._nodes.choose(write.uid) for write in writes]
        named = [Write(it.uid, node.name if node else NOWHERE, it.event_id, it.changes) for it, node in zip(writes, own, strict=True)]
        results = self._dbsvr.finish_many(named, deadline_ms=deadline_ms)
        answered = {place: it for place, it in enumerate(results) if isinstance(it, WriteAnswer)}
        failed = self._purging.complete_many([(own[place], answer) for place, answer in answered.items()])
        for (place, answer), error in zip(answered.items(), failed, strict=True):
            if error is not None:
                results[place] = error
            else:
                self._followed.note(named[place].node, named[place].event_id, answer)
        return results

    def travelling(self, prepare: Callable[[Sequence[TravellingWrite]], None]) -> Travelling:
        """For writes of many threads that go together."""
        made = Travelling(self._dbsvr, self._purging, self._followed, prepare)
        self._travelling.append(made)
        return made

    def clear(self, uid: int, event_id: str) -> WriteAnswer:
        """Delete the user's data, and every copy of it."""
        node = self._nodes.choose(uid)
        answer = self._dbsvr.clear(uid, node.name if node else NOWHERE, event_id)
        return self._completed(node, event_id, answer, write_through=False)

    def close(self) -> None:
        """For who has made it himself; the process's own lives as long as the process."""
        for travelling in self._travelling:
            travelling.close()
        self._nodes.close()
        self._purging.close()

    def _completed(self, node: CacheNode | None, event_id: str, answer: WriteAnswer, write_through: bool) -> WriteAnswer:
        self._purging.complete(node, answer, write_through)
        self._followed.note(node.name if node else NOWHERE, event_id, answer)
        return answer

    def _copy(self, node: CacheNode, uid: int) -> Snapshot | None:
        """The node's copy, if it may be served."""
        try:
            copy = node.get(uid)
        except NodeUnavailable:
            return None
        return copy if self._may_be_served(copy, node) else None

    def _may_be_served(self, copy: Snapshot | None, node: CacheNode) -> TypeGuard[Snapshot]:
        # Asked after the copy was given: meanwhile the node may have gone out of use, or this process may have slept.
        if copy is None or not self._nodes.may_serve(node):
            node.counts.misses += 1
            return False
        node.counts.hits += 1
        return True

    def _by_node(self, uids: Iterable[int]) -> dict[CacheNode | None, list[int]]:
        found: dict[CacheNode | None, list[int]] = {}
        for uid in dict.fromkeys(uids):
            found.setdefault(self._nodes.choose(uid), []).append(uid)
        return found

    def _read_and_fill(self, uid: int, until: float) -> Snapshot:
        """After a miss: a copy that has come meanwhile, else what the DBSvr says by `until`, stored if we are the one to fill."""
        node = self._nodes.choose(uid)
        token = secrets.token_hex(8)
        found = self._token(node, uid, token, until)
        if isinstance(found, Snapshot):
            return found
        name = node.name if node else NOWHERE
        snapshot = self._dbsvr.get(uid, name, deadline_ms=_left_ms(until))
        if found and node is not None:
            self._fill(node, uid, token, snapshot)
        return snapshot

    def _token(self, node: CacheNode | None, uid: int, token: str, until: float) -> Snapshot | bool:
        """A copy; True when the token is ours; False when this reader is to read without storing.

        While another's token is there its copy is waited for, a little: a crowd of processes costs one read, and who holds the
        token and has died costs each reader the wait, until the token expires.
        """
        wait_until = min(until - self._deadline_s / 2, time.monotonic() + WAIT_FOR_FILL_S)
        pause_s = FIRST_LOOK_S
        while node is not None:
            try:
                found = node.leave_token(uid, token, self._token_ms)
            except NodeUnavailable:
                return False
            if isinstance(found, Snapshot) and not self._nodes.may_serve(node):
                return False
            if found or time.monotonic() + pause_s >= wait_until:
                return found
            time.sleep(pause_s * random.uniform(0.5, 1))
            pause_s = min(2 * pause_s, LAST_LOOK_S)
        return False

    @staticmethod
    def _fill(node: CacheNode, uid: int, token: str, snapshot: Snapshot) -> None:
        try:
            if snapshot.storable:
                node.fill(uid, token, snapshot)
            else:
                node.drop_token(uid, token)
        except NodeUnavailable as error:
            log.debug("no fill: %s", error)  # the answer is right without it, and the token expires

    def _get_many(
        self, node: CacheNode | None, uids: list[int], copies: list[Snapshot | None] | None, until: float
    ) -> dict[int, Snapshot | DBSvrError]:
        """`copies`: what the node has given; None: nothing, since it failed."""
        found: dict[int, Snapshot | DBSvrError] = {}
        ours: set[int] = set()
        token = secrets.token_hex(8)
        if node is not None and copies is not None:
            try:
                found |= self._served(node, uids, copies)
                missing = [uid for uid in uids if uid not in found]
                node.counts.hits += len(found)
                node.counts.misses += len(missing)
                left = node.leave_tokens(missing, token, self._token_ms)
                found |= self._served(node, missing, left)
                ours = {uid for uid, each in zip(missing, left, strict=True) if each is True}
            except NodeUnavailable:
                pass  # what was found is right; the rest is read
        missing = [uid for uid in uids if uid not in found]
        if not missing:
            return found
        answers = dict(
            zip(missing, self._dbsvr.get_many(missing, node.name if node else NOWHERE, deadline_ms=_left_ms(until)), strict=True)
        )
        if node is not None and ours:
            self._fill_many(node, ours, token, answers)
        return found | answers

    def _served(self, node: CacheNode, uids: Sequence[int], copies: Sequence[Snapshot | bool | None]) -> dict[int, Snapshot]:
        if not self._nodes.may_serve(node):
            return {}
        return {uid: copy for uid, copy in zip(uids, copies, strict=True) if isinstance(copy, Snapshot)}

    @staticmethod
    def _fill_many(node: CacheNode, ours: set[int], token: str, answers: dict[int, Snapshot | DBSvrError]) -> None:
        storable = [it for uid, it in answers.items() if uid in ours and isinstance(it, Snapshot) and it.storable]
        try:
            node.fill_many(token, storable)
            node.drop_tokens([*ours - {it.uid for it in storable}], token)
        except NodeUnavailable as error:
            log.debug("no fills: %s", error)


def _begin(node: CacheNode | None, uids: list[int]) -> Callable[[], list[Snapshot | None]] | None:
    with contextlib.suppress(NodeUnavailable):
        return None if node is None else node.begin_get_many(uids)
    return None


def _take(copies: Callable[[], list[Snapshot | None]] | None) -> list[Snapshot | None] | None:
    with contextlib.suppress(NodeUnavailable):
        return None if copies is None else copies()
    return None


def _left_ms(until: float) -> int:
    return max(1, int(1000 * (until - time.monotonic())))


def task_interface() -> TaskInterface:
    """The process's one TaskInterface, made of the configuration at first use."""
    return _of_process(os.getpid())


@functools.lru_cache(maxsize=1)
def _of_process(pid: int) -> TaskInterface:
    """A forked child must not share its parent's connections and threads, hence the pid."""
    settings = configuration.load()
    return TaskInterface(db_interface(), settings.cache, settings.web.deadline_ms)
