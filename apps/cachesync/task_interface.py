"""TaskInterface: users' tasks through the cache nodes.

A read goes to the user's node on the ring; a miss goes to the DBSvr, once for all threads of this process that miss the user
together, and fills the node, by one reader at a time and only with an answer that is storable and newest (INV 8). A write goes
to the DBSvr, and before it is answered the user's node is set right (INV 9, the writer's own node). When the node fails, reads
and writes go on without it.

What is not here yet: purges of copies on *other* nodes, failover along the ring and readmission. Until then a copy lives for
one second. That bounds how long one on another node outlives a write; one on a node that the writer could not reach may be
filled until the read's token expires, and lives for one second from then.
"""

from __future__ import annotations

import functools
import logging
import os
import secrets
import time
from collections.abc import Sequence

from apps.cachesync.nodes import CacheNode, NodeUnavailable
from apps.cachesync.ring import Ring
from apps.cachesync.shared_reads import SharedReads
from apps.dbsvr.db_interface import DbInterface, db_interface
from tasksys_site import configuration
from workers.protocol import Change, Snapshot, WriteAnswer

log = logging.getLogger(__name__)


class TaskInterface:
    """Shared by threads. Raises DbInterface's errors; a failing cache node is no error."""

    def __init__(self, dbsvr: DbInterface, cache: configuration.Cache, token_ttl_ms: int) -> None:
        """`token_ttl_ms`: how long a read of the DBSvr may take; a fill that comes later is refused."""
        self._dbsvr = dbsvr
        self._ring = Ring(node.name for node in cache.nodes)
        self._nodes = {name: CacheNode(name, cache.copy_ttl_ms) for name in self._ring.names}
        self._reads = SharedReads()
        self._token_ttl_ms = token_ttl_ms

    def get(self, uid: int) -> Snapshot:
        """The user's snapshot, `served_by` a cache node, the master or a replica."""
        until = time.monotonic() + self._token_ttl_ms / 1000
        node = self._node(uid)
        try:
            copy = node.get(uid)
        except NodeUnavailable:
            copy = None
        return copy or self._reads.read(uid, until, lambda: self._read_and_fill(uid, node, until))

    def finish(self, uid: int, event_id: str, changes: Sequence[Change]) -> WriteAnswer:
        """Apply the changes once for this event id, and set the user's node right."""
        node = self._node(uid)
        return self._settled(node, uid, self._dbsvr.finish(uid, node.name, event_id, changes))

    def clear(self, uid: int, event_id: str) -> WriteAnswer:
        """Delete the user's data, on his node too."""
        node = self._node(uid)
        return self._settled(node, uid, self._dbsvr.clear(uid, node.name, event_id))

    def _node(self, uid: int) -> CacheNode:
        return self._nodes[self._ring.node_of(uid)]

    def _read_and_fill(self, uid: int, node: CacheNode, until: float) -> Snapshot:
        """After a miss: a copy that has come meanwhile, else what the DBSvr says by `until`, stored if we are the one to fill."""
        token = secrets.token_hex(8)
        try:
            found = node.leave_token(uid, token, self._token_ttl_ms)
        except NodeUnavailable:
            found = False
        if isinstance(found, Snapshot):
            return found
        snapshot = self._dbsvr.get(uid, node.name, deadline_ms=max(1, int(1000 * (until - time.monotonic()))))
        if found:  # the token is ours; who found another's reads through
            self._fill(node, uid, token, snapshot)
        return snapshot

    @staticmethod
    def _fill(node: CacheNode, uid: int, token: str, snapshot: Snapshot) -> None:
        try:
            if snapshot.storable:
                node.fill(uid, token, snapshot)
            else:
                node.drop_token(uid, token)
        except NodeUnavailable as error:
            log.debug("no fill: %s", error)  # the answer is right without it, and the token expires

    @staticmethod
    def _settled(node: CacheNode, uid: int, answer: WriteAnswer) -> WriteAnswer:
        try:
            node.settle(uid, answer)
        except NodeUnavailable as error:
            log.warning("a copy may outlive a write by its own life: %s", error)
        return answer


def task_interface() -> TaskInterface:
    """The process's one TaskInterface, made of the configuration at first use."""
    return _of_process(os.getpid())


@functools.lru_cache(maxsize=1)
def _of_process(pid: int) -> TaskInterface:
    """A forked child must not share its parent's connections, hence the pid."""
    settings = configuration.load()
    return TaskInterface(db_interface(), settings.cache, settings.web.deadline_ms)
