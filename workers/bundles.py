"""The newest task configuration as this front knows it, and who waits for a newer one (TASK.CONFIG).

The bundle travels as it stands in the database: gzip, one bytes object that all askers' connections share, however slowly they read.
The master's worker says what it sees; here stands the last good one, which outlives the front in a file, and which a damaged one never
replaces. A client that names a newer revision than ours has it from another DBSvr: he is answered after a look that began after he
asked, so that nobody goes back unless the database has.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from workers.messages import RevisionSeen, RevisionTaken
from workers.protocol import BadArgument, ConfigUnseen, DamagedRevision, DBSvrError, PublishedBundle
from workers.requests import Later

if TYPE_CHECKING:
    from workers.clients import Client

FRESH_S = 2.0
"""So old may the last look be for "it is still that revision" to be said."""
TAKEN_WITHIN_S = 30.0
"""Who has not read the bundle by then does not read: he is cut."""
SHOWN = 500
"""Followers that TASK.STATS names at most."""

Known: TypeAlias = "tuple[int, str]"
"""A revision's number, and its ETag where the asker has said it."""


class Shelf(Protocol):
    """Where the last good bundle stands beyond the life of a front."""

    def load(self) -> PublishedBundle | None: ...

    def check(self, bundle: PublishedBundle, say: Callable[[str], None]) -> None:
        """Find out, without holding anybody up, whether the bundle is whole; keep it if it is; say what is wrong, or nothing."""


@dataclass(slots=True)
class Asker:
    """Somebody who waits for another revision than the one that he knows."""

    later: Later
    known: Known
    asked_at: float
    until: float


@dataclass(slots=True)
class Follower:
    """A client that follows the configuration: which revision it uses, and until when it is to have read what it was given."""

    using: int
    asked_at: float
    read_by: float | None = None


class Bundles:
    def __init__(self, shelf: Shelf, errors: Counter[str], log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        """`errors` counts error replies by code."""
        self._shelf = shelf
        self._errors = errors
        self._log = log
        self._clock = clock
        self.newest = shelf.load()
        """The last good one."""
        self._reply = encode_bundle(self.newest) if self.newest else b""
        self._checking: PublishedBundle | None = None
        self._looked_at: float | None = None
        self._seen: Known = (0, "")
        self._why = "the master's worker has not looked yet"
        self.damage = ""
        """What is wrong with the newest revision, if it cannot be handed down."""
        self._askers: dict[Client, Asker] = {}
        self._followers: dict[Client, Follower] = {}

    @property
    def held_etag(self) -> str:
        """Of what the master's worker need not send."""
        return self.newest.etag if self.newest else ""

    # -- from the master's worker

    def note(self, frame: RevisionSeen | RevisionTaken) -> None:
        if isinstance(frame, RevisionTaken):
            bundle = PublishedBundle(frame.number, frame.etag, frame.body)
            self._checking = bundle
            self._shelf.check(bundle, lambda fault: self._decide(bundle, frame.looked_at, fault))
        elif frame.why and not frame.number:
            if frame.why != self._why:
                self._log.warning('the task configuration cannot be looked at; the last known stands why="%s"', frame.why)
            self._why = frame.why
        else:
            if frame.why:
                self._refuse(frame.number, frame.etag, frame.why)
            elif frame.etag == self.held_etag:
                self.damage = ""
            self._note_look(frame.looked_at, (frame.number, frame.etag))

    def _decide(self, bundle: PublishedBundle, looked_at: float, fault: str) -> None:
        if self._checking is not bundle:
            return  # a newer one came meanwhile
        self._checking = None
        if fault:
            self._refuse(bundle.number, bundle.etag, fault)
        else:
            before = self.newest.number if self.newest else 0
            self.newest, self._reply, self.damage = bundle, encode_bundle(bundle), ""
            self._log.info(
                "a new task configuration revision=%d etag=%s bytes=%d before=%d", bundle.number, bundle.etag, len(bundle.body), before
            )
        self._note_look(looked_at, (bundle.number, bundle.etag))

    def _refuse(self, number: int, etag: str, why: str) -> None:
        standing = f"{self.newest.number} stands" if self.newest else "there is none before it"
        damage = f"revision {number} cannot be read, {standing}: {why}"
        if damage != self.damage:
            self._log.error('the newest task configuration is damaged etag=%s why="%s"', etag, damage)
        self.damage = damage

    def _note_look(self, looked_at: float, seen: Known) -> None:
        if self._why and self._looked_at is not None:
            self._log.info("the task configuration can be looked at again revision=%d", seen[0])
        self._looked_at, self._seen, self._why = looked_at, seen, ""
        self._answer_all(self._clock())

    # -- from clients

    def wait(self, client: Client, known: Known, using: int | None, until: float) -> None:
        """Answer with the newest when it is another than `known`; else when it changes, or by then. Raises BadArgument.

        `using`: the revision that the client works with, where that is not the one that it knows.
        """
        if client in self._askers:
            # Else one connection could make each look at all who wait as long as it likes.
            raise BadArgument("one TASK.CONFIG at a time on a connection")
        now = self._clock()
        asker = Asker(Later(client), known, now, until)
        client.pending.append(asker.later)
        self._followers[client] = Follower(known[0] if using is None else using, now)
        asker.later.reply = self._answer(asker, now)
        if asker.later.reply is None:
            self._askers[client] = asker

    def look_around(self, now: float) -> None:
        self._answer_all(now)
        for client, follower in list(self._followers.items()):
            if client.is_gone:
                del self._followers[client]
                self._askers.pop(client, None)
            elif follower.read_by is not None and follower.read_by <= now:
                follower.read_by = None
                if client.unread_bytes:
                    client.cut("it does not take its task configuration")

    def _answer_all(self, now: float) -> None:
        for client, asker in list(self._askers.items()):
            asker.later.reply = self._answer(asker, now)
            if asker.later.reply is not None:
                del self._askers[client]
                client.flush()

    def _answer(self, asker: Asker, now: float) -> bytes | None:
        """None: not yet."""
        newest, client = self.newest, asker.later.client
        if newest is not None and (newest.number > asker.known[0] or self._has_gone_back(newest, asker)):
            self._followers[client].read_by = now + TAKEN_WITHIN_S
            client.allow_unread(len(self._reply))
            return self._reply
        if self._looked_at is None or now - self._looked_at > FRESH_S:
            ago = "not looked at yet" if self._looked_at is None else f"last looked at {now - self._looked_at:.1f} s ago"
            return self._error(ConfigUnseen(f"the task configuration was {ago}: {self._why or 'the worker says nothing'}"))
        if asker.until > now:
            return None
        if self.damage:
            return self._error(DamagedRevision(self.damage))
        return b"_\r\n" if client.protocol == 3 else b"$-1\r\n"

    def _has_gone_back(self, newest: PublishedBundle, asker: Asker) -> bool:
        """Is it another one although its number is no higher? The database itself must have shown it since he asked."""
        number, etag = asker.known
        is_another = newest.number != number or (bool(etag) and etag != bare(newest.etag))
        return is_another and self._looked_at is not None and self._looked_at > asker.asked_at and self._seen == newest[:2]

    def _error(self, error: DBSvrError) -> bytes:
        self._errors[error.code] += 1
        return f"-{error.code} {' '.join(str(error).split())}\r\n".encode()

    # -- for operators

    def as_json(self, now: float) -> dict[str, Any]:
        newest = self.newest
        followers = [
            {"name": client.name.decode("ascii", "replace"), "using": it.using, "asked_age_ms": round((now - it.asked_at) * 1000, 3)}
            for client, it in list(self._followers.items())[:SHOWN]
        ]
        return {
            "revision": newest.number if newest else None,
            "etag": bare(newest.etag) if newest else None,
            "bundle_bytes": len(newest.body) if newest else None,
            "look_age_ms": None if self._looked_at is None else round((now - self._looked_at) * 1000, 3),
            "why": self._why,
            "damage": self.damage,
            "waiting": len(self._askers),
            "followers": followers,
        }


def bare(etag: str) -> str:
    """Without HTTP's quotes."""
    return etag.strip('"')


def encode_bundle(bundle: PublishedBundle) -> bytes:
    """As RESP: number, ETag, the bundle's gzip."""
    etag = bare(bundle.etag).encode()
    return b"*3\r\n:%d\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (bundle.number, len(etag), etag, len(bundle.body), bundle.body)
