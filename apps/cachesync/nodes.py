"""One cache node: read, token, fill, settle, purge, flush. Every call is bounded in time, and a failing node is left alone for a while.

Leans on a django-redis connection to the node's address, which swallows no errors and repeats nothing: a time-out means "unknown",
and the caller must hear of it. What every request does goes over connections that django-redis has opened, and `resp` uses at a third of
the price. While the node is left alone one thread asks it PING, so that no request has to.
A Redis that was started anew may have brought old copies back with it. So each new connection asks which *run* of the server it has
met, and one that the center has not emptied is refused; an open connection cannot change its run.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import redis
from django_redis.pool import ConnectionFactory
from redis.backoff import NoBackoff
from redis.retry import Retry

from apps.cachesync.copies import NO_HEAD, decode_copy, encode_copy, head, parse_head
from apps.cachesync.scripts import DROP_TOKEN, FILL, FORGOTTEN, HEAD_BYTES, LEAVE_TOKEN, PURGE, PUT_PROFILE, SETTLE, digest, keys
from apps.dbsvr.breaker import Breaker
from apps.dbsvr.prober import Prober
from apps.dbsvr.resp import AllInUse, ErrorLine, Garbled, RespConnection, RespPool, Silence, pack
from workers.protocol import Snapshot, WriteAnswer

Result = TypeVar("Result")

_FAILURES = (redis.RedisError, OSError, Silence, Garbled, AllInUse)

GOOD_TRIES = 3
"""Answers in a row before it is used again: a node that comes and goes is left alone until it stays."""
MAX_CONNECTIONS = 512
"""For each process: more than it has threads."""
MOST_WORDS = 100
"""Of one command: an answer of so many copies comes well within the time of one call."""
FORGOTTEN_FOR_MS = 30_000
"""So long nothing that was on its way may be kept of the profile of a user who was erased."""


class Stale(NamedTuple):
    """Whose copies are to go, if they are older than this state."""

    uid: int
    generation: int
    version: int


class Counts:
    """What this process has done on the node. Counted without a lock: now and then one may be missed, which a figure may."""

    def __init__(self) -> None:
        self.hits = self.misses = self.stored = self.refused_version = self.refused_token = self.failures = 0

    def take(self) -> dict[str, int]:
        """What was counted since the last time."""
        taken = {name: value for name, value in vars(self).items() if value}
        for name, value in taken.items():
            setattr(self, name, getattr(self, name) - value)
        return taken


class NodeUnavailable(Exception):
    """The cache node did not answer, or is being left alone. What was asked of it may have happened all the same."""


class _OwnPool(ConnectionFactory):
    """Django-redis shares one pool among all who name one address, and the first one's time-outs win. Each node has its own."""

    def get_or_create_connection_pool(self, params: dict[str, Any]) -> Any:
        return self.get_connection_pool(params)


def _run_in(info: Any) -> str:
    for line in (info if isinstance(info, bytes) else str(info).encode()).splitlines():
        if line.startswith(b"run_id:"):
            return line[7:].strip().decode("ascii", "replace")
    return ""


def _profile(found: Any) -> bytes | None:
    return found if isinstance(found, bytes) and found != FORGOTTEN else None


class CacheNode:
    """Shared by threads."""

    def __init__(self, name: str, url: str, copy_ttl_ms: int, timeout_ms: int) -> None:
        self.name = name
        self.url = url
        self.admitted_run = ""
        """The run of the server that may be used; empty: any, which is right for the center alone, and for nodes never used before."""
        self.counts = Counts()
        self.breaker = Breaker(GOOD_TRIES, spread=lambda rest_s: rest_s * random.uniform(0.75, 1.25))
        self._prober = Prober(f"prober of cache node {name}", self.breaker, self._probe)
        self._copy_ttl_ms = copy_ttl_ms
        self._timeout_s = timeout_ms / 1000
        options = {
            "SOCKET_CONNECT_TIMEOUT": timeout_ms / 1000,
            "SOCKET_TIMEOUT": timeout_ms / 1000,
            # redis-py would send a timed-out command again by itself, and keep the caller waiting.
            "CONNECTION_POOL_KWARGS": {"retry": Retry(NoBackoff(), 0), "redis_connect_func": self._connect},
        }
        self._connection: redis.Redis = _OwnPool(options).connect(url)
        self._pool = RespPool(self._open_one, MAX_CONNECTIONS)

    @property
    def is_good(self) -> bool:
        """Nothing that we have met speaks against asking it."""
        return not self.breaker.is_open

    def close(self) -> None:
        self._prober.end()
        self._pool.close()

    def get(self, uid: int) -> Snapshot | None:
        """The user's copy; None when there is none. Raises NodeUnavailable, like all of these."""
        copy = self._say("GET", keys(uid)[0])
        return decode_copy(copy, self.name) if isinstance(copy, bytes) else None

    def get_many(self, uids: Sequence[int]) -> list[Snapshot | None]:
        return self.begin_get_many(uids)()

    def begin_get_many(self, uids: Sequence[int]) -> Callable[[], list[Snapshot | None]]:
        """The same in two halves, so that several nodes are at work: what is given back takes what has come, and is to be called once."""
        words = [keys(uid)[0] for uid in uids]
        begun = self._send("MGET", *words[:MOST_WORDS]) if words else None

        def take() -> list[Snapshot | None]:
            copies = [] if begun is None else [*self._receive(begun), *self._say_many("MGET", words[MOST_WORDS:])]
            return [decode_copy(copy, self.name) if isinstance(copy, bytes) else None for copy in copies]

        return take

    def get_with_profile(self, uid: int) -> tuple[Snapshot | None, bytes | None]:
        """The user's copy and his profile, in one command."""
        copy_key, _token_key, profile_key = keys(uid)
        copy, profile = self._say("MGET", copy_key, profile_key)
        return decode_copy(copy, self.name) if isinstance(copy, bytes) else None, _profile(profile)

    def profiles(self, uids: Sequence[int]) -> list[bytes | None]:
        """What is kept of each user's profile."""
        return [_profile(each) for each in self._say_many("MGET", [keys(uid)[2] for uid in uids])]

    def put_profiles(self, profiles: Mapping[int, bytes], ttl_ms: int) -> None:
        """Of a user who was erased a moment ago none is kept."""
        self._run_many(PUT_PROFILE, [(uid, (profile, ttl_ms)) for uid, profile in profiles.items()])

    def forget_profile(self, uid: int) -> None:
        self._try(lambda connection: connection.set(keys(uid)[2], FORGOTTEN, px=FORGOTTEN_FOR_MS))

    def head_of(self, uid: int) -> tuple[int, int] | None:
        """(generation, version) of the user's copy; None when there is none."""
        return parse_head(bytes(self._try(lambda connection: connection.getrange(keys(uid)[0], 0, HEAD_BYTES))))

    def leave_token(self, uid: int, token: str, ttl_ms: int) -> Snapshot | bool:
        """After a miss: a copy that has come meanwhile, or whether this reader is the one to fill."""
        return self._token_left(self._run(LEAVE_TOKEN, uid, token, ttl_ms))

    def leave_tokens(self, uids: Sequence[int], token: str, ttl_ms: int) -> list[Snapshot | bool]:
        """The same for many users, in one round trip."""
        found = self._run_many(LEAVE_TOKEN, [(uid, (token, ttl_ms)) for uid in uids])
        return [self._token_left(each) for each in found]

    def _token_left(self, found: Any) -> Snapshot | bool:
        return decode_copy(found, self.name) or False if isinstance(found, bytes) else bool(found)

    def drop_token(self, uid: int, token: str) -> None:
        self._run(DROP_TOKEN, uid, token)

    def drop_tokens(self, uids: Sequence[int], token: str) -> None:
        self._run_many(DROP_TOKEN, [(uid, (token,)) for uid in uids])

    def fill(self, uid: int, token: str, snapshot: Snapshot) -> str:
        """Store what was read, if the token is still there: "stored", "no token" or "not newer"."""
        return self._filled(self._run(FILL, uid, *self._filling(token, snapshot)))

    def fill_many(self, token: str, snapshots: Sequence[Snapshot]) -> list[str]:
        found = self._run_many(FILL, [(snapshot.uid, self._filling(token, snapshot)) for snapshot in snapshots])
        return [self._filled(each) for each in found]

    def _filling(self, token: str, snapshot: Snapshot) -> tuple[str | bytes | int, ...]:
        return (token, snapshot.generation, snapshot.version, encode_copy(snapshot), self._copy_ttl_ms)

    def _filled(self, found: Any) -> str:
        outcome = str(found, "ascii")
        if outcome == "stored":
            self.counts.stored += 1
        elif outcome == "not newer":
            self.counts.refused_version += 1
        else:
            self.counts.refused_token += 1
        return outcome

    def settle(self, uid: int, answer: WriteAnswer, write_through: bool = True) -> str:
        """Set the copy right after a write: "replaced", "deleted", "kept" or "none".

        A repeated event is never written through: its snapshot may have been overtaken.
        """
        return str(self._run(SETTLE, uid, *self._settling(answer, write_through)), "ascii")

    def settle_many(self, answers: Sequence[WriteAnswer]) -> None:
        """The same for many users' writes, in one round trip; when it returns, all of it is done."""
        self._run_many(SETTLE, [(answer.snapshot.uid, self._settling(answer, write_through=True)) for answer in answers])

    @staticmethod
    def _settling(answer: WriteAnswer, write_through: bool) -> tuple[str | bytes | int, ...]:
        snapshot = answer.snapshot
        base = head(snapshot.generation, answer.base_version) if answer.applied and write_through else NO_HEAD
        return (base, snapshot.generation, snapshot.version, encode_copy(snapshot))

    def purge(self, stale: Sequence[Stale]) -> None:
        """The copies of these users go if they are older, and so do their tokens. When it returns, all of it is done."""
        self._run_many(PURGE, [(each.uid, (each.generation, each.version)) for each in stale])

    def flush(self) -> None:
        """Everything goes, copies and tokens."""
        self._try(lambda connection: connection.flushdb(asynchronous=True))

    def describe(self) -> dict[str, Any]:
        """What the node says of itself, asked also while it is being left alone."""
        return self._ask(lambda connection: {**connection.info("memory"), **connection.info("server"), "keys": connection.dbsize()})

    def _connect(self, connection: Any) -> None:
        connection.on_connect()
        if self.admitted_run:
            connection.send_command("INFO", "server")
            run = _run_in(connection.read_response())
            if run != self.admitted_run:
                raise redis.ConnectionError(f"run {run} of the server is not admitted yet")

    def _open_one(self, until: float) -> RespConnection:
        """As django-redis opens one: with TLS and a password where the address says so, and only to a run that is admitted."""
        pool = self._connection.connection_pool
        made = pool.connection_class(**pool.connection_kwargs)
        made.connect()
        return RespConnection(made._sock, owner=made)

    def _run(self, script: str, uid: int, *arguments: str | bytes | int) -> Any:
        known = self._say("EVALSHA", digest(script), 3, *keys(uid), *arguments, may_say="NOSCRIPT")
        return self._say("EVAL", script, 3, *keys(uid), *arguments) if isinstance(known, ErrorLine) else known

    def _say(self, *command: str | bytes | int, may_say: str | None = None) -> Any:
        """The answer to one command; an error line that begins with `may_say` is one too."""
        return self._receive(self._send(*command), may_say)

    def _send(self, *command: str | bytes | int) -> RespConnection:
        """The first half: what it gives back is to be received from, once and whatever happens meanwhile."""
        if self.breaker.is_open:
            raise NodeUnavailable(f"{self.name} is being left alone after failures")
        try:
            return self._pool.send(pack(command), time.monotonic() + self._timeout_s)
        except _FAILURES as error:
            raise self._unavailable(error) from error

    def _receive(self, connection: RespConnection, may_say: str | None = None) -> Any:
        # The time begins anew: that another node was silent meanwhile must not be held against this one.
        try:
            answer = self._pool.receive(connection, time.monotonic() + self._timeout_s)
        except _FAILURES as error:
            raise self._unavailable(error) from error
        if isinstance(answer, ErrorLine) and (may_say is None or not str(answer).startswith(may_say)):
            raise self._unavailable(answer) from answer
        self.breaker.note_success()
        return answer

    def _say_many(self, command: str, words: Sequence[str]) -> list[Any]:
        """One command of many words in parts: each part has the whole time, and the server does something else between them."""
        answers: list[Any] = []
        for first in range(0, len(words), MOST_WORDS):
            answers += self._say(command, *words[first : first + MOST_WORDS])
        return answers

    def _run_many(self, script: str, calls: Sequence[tuple[int, Sequence[str | bytes | int]]]) -> list[Any]:
        """The same script for many users, in parts like those of `_say_many`."""
        answers: list[Any] = []
        for first in range(0, len(calls), MOST_WORDS):
            answers += self._run_part(script, calls[first : first + MOST_WORDS])
        return answers

    def _run_part(self, script: str, calls: Sequence[tuple[int, Sequence[str | bytes | int]]]) -> list[Any]:
        if len(calls) == 1:
            ((uid, arguments),) = calls
            return [self._run(script, uid, *arguments)]
        answers = self._say_each([("EVALSHA", digest(script), 3, *keys(uid), *arguments) for uid, arguments in calls], "NOSCRIPT")
        # The node did not know the script when it came to these; those after them may have been run already.
        missed = [place for place, answer in enumerate(answers) if isinstance(answer, ErrorLine)]
        again = [("EVAL", script, 3, *keys(calls[place][0]), *calls[place][1]) for place in missed]
        for place, answer in zip(missed, self._say_each(again) if again else (), strict=True):
            answers[place] = answer
        return answers

    def _say_each(self, commands: Sequence[tuple[str | bytes | int, ...]], may_say: str | None = None) -> list[Any]:
        """As `_say`, for commands that travel together."""
        if self.breaker.is_open:
            raise NodeUnavailable(f"{self.name} is being left alone after failures")
        try:
            answers = self._pool.ask_many([pack(command) for command in commands], time.monotonic() + self._timeout_s)
        except (redis.RedisError, OSError, Silence, Garbled, AllInUse) as error:
            raise self._unavailable(error) from error
        for answer in answers:
            if isinstance(answer, Exception) and not (
                isinstance(answer, ErrorLine) and may_say is not None and str(answer).startswith(may_say)
            ):
                raise self._unavailable(answer) from answer
        self.breaker.note_success()
        return answers

    def _try(self, act: Callable[[redis.Redis], Result]) -> Result:
        if self.breaker.is_open:
            raise NodeUnavailable(f"{self.name} is being left alone after failures")
        return self._ask(act)

    def _ask(self, act: Callable[[redis.Redis], Result]) -> Result:
        try:
            result = act(self._connection)
        except (redis.RedisError, OSError) as error:
            raise self._unavailable(error) from error
        self.breaker.note_success()
        return result

    def _unavailable(self, error: Exception) -> NodeUnavailable:
        self.counts.failures += 1
        self.breaker.note_failure(time.monotonic())
        if self.breaker.is_open:
            self._prober.start()
        return NodeUnavailable(f"{self.name}: {error or type(error).__doc__}")

    def _probe(self) -> None:
        with contextlib.suppress(NodeUnavailable):  # the breaker knows
            self._ask(lambda connection: connection.ping())
