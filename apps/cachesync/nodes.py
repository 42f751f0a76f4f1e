"""One cache node: read, token, fill, settle. Every call is bounded in time, and a failing node is left alone for a while.

Leans on the connection of the Django cache alias that is named as the node is, which swallows no errors: a time-out means
"unknown", and the caller must hear of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from django_redis import get_redis_connection

from apps.cachesync.copies import NO_HEAD, decode_copy, encode_copy, head
from apps.cachesync.scripts import DROP_TOKEN, FILL, LEAVE_TOKEN, SETTLE, keys
from apps.dbsvr.breaker import Breaker
from workers.protocol import Snapshot, WriteAnswer

Result = TypeVar("Result")


class NodeUnavailable(Exception):
    """The cache node did not answer, or is being left alone. What was asked of it may have happened all the same."""


class CacheNode:
    """Shared by threads."""

    def __init__(self, name: str, copy_ttl_ms: int) -> None:
        self.name = name
        self.breaker = Breaker()
        self._copy_ttl_ms = copy_ttl_ms
        self._scripts: dict[str, Callable[..., Any]] = {}

    def get(self, uid: int) -> Snapshot | None:
        """The user's copy; None when there is none. Raises NodeUnavailable, like all of these."""
        copy = self._try(lambda connection: connection.get(keys(uid)[0]))
        return decode_copy(copy, self.name) if isinstance(copy, bytes) else None

    def leave_token(self, uid: int, token: str, ttl_ms: int) -> Snapshot | bool:
        """After a miss: a copy that has come meanwhile, or whether this reader is the one to fill."""
        found = self._run(LEAVE_TOKEN, uid, token, ttl_ms)
        return decode_copy(found, self.name) or False if isinstance(found, bytes) else bool(found)

    def drop_token(self, uid: int, token: str) -> None:
        self._run(DROP_TOKEN, uid, token)

    def fill(self, uid: int, token: str, snapshot: Snapshot) -> str:
        """Store what was read, if the token is still there: "stored", "no token" or "not newer"."""
        copy = encode_copy(snapshot)
        return str(self._run(FILL, uid, token, snapshot.generation, snapshot.version, copy, self._copy_ttl_ms), "ascii")

    def settle(self, uid: int, answer: WriteAnswer) -> str:
        """Set the copy right after a write: "replaced", "deleted", "kept" or "none".

        A repeated event is never written through: its snapshot may have been overtaken.
        """
        snapshot = answer.snapshot
        base = head(snapshot.generation, answer.base_version) if answer.applied else NO_HEAD
        arguments = (base, snapshot.generation, snapshot.version, encode_copy(snapshot), self._copy_ttl_ms)
        return str(self._run(SETTLE, uid, *arguments), "ascii")

    def _run(self, script: str, uid: int, *arguments: str | bytes | int) -> Any:
        def run(connection: redis.Redis) -> Any:
            known = self._scripts.get(script)
            if known is None:
                known = self._scripts[script] = connection.register_script(script)
            return known(keys=keys(uid), args=arguments, client=connection)

        return self._try(run)

    def _try(self, act: Callable[[redis.Redis], Result]) -> Result:
        if not self.breaker.may_try(time.monotonic()):
            raise NodeUnavailable(f"{self.name} is being left alone after failures")
        try:
            result = act(get_redis_connection(self.name))
        except (redis.RedisError, OSError) as error:
            self.breaker.note_failure(time.monotonic())
            raise NodeUnavailable(f"{self.name}: {error}") from error
        self.breaker.note_success()
        return result
