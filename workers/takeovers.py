"""The front acts on what `pair` decides: takes segments over, asks them back, gives them away.

Orders go to the master's worker, which changes the rows; what came of them is seen in its next look.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import hiredis

from workers.forwarding import Forwarding
from workers.lease_clock import boottime
from workers.messages import GiveSegment, MayPossess, SegmentRow, Segments, TakeSegment
from workers.mirrors import Mirrors
from workers.pair import GIVE_WITHIN_S, Giving, Pair
from workers.protocol import BadArgument
from workers.requests import FINISH, Later, Request
from workers.servers import MASTER, Servers
from workers.trail_book import TrailBook
from workers.user_info import UserInfo
from workers.worker_links import WorkerLinks

if TYPE_CHECKING:
    from workers.clients import Client


SETTLE_S = 5.0
"""A front that has just begun takes nothing over: the others may be starting as well."""


class Takeovers:
    def __init__(
        self,
        pair: Pair,
        forwarding: Forwarding,
        links: WorkerLinks,
        servers: Servers,
        users: UserInfo,
        trails: TrailBook,
        table: Mapping[int, Request],
        log: logging.Logger,
    ) -> None:
        """`table`: the requests without an outcome; a segment with a write among them is not given yet."""
        self.pair = pair
        self.forwarding = forwarding
        self._links = links
        self._servers = servers
        self._users = users
        self._trails = trails
        self._table = table
        self._log = log
        self.mirrors = Mirrors(pair, trails, forwarding)
        self._givings: dict[str, Later] = {}
        self._began_at = time.monotonic()

    def note(self, frame: Segments) -> None:
        changes = self.pair.note(frame, time.time())
        for segment, epoch, tick in frame.possessed:
            self._users.raise_floor(tick, "takeover")
            self._trails.take(segment, epoch, time.monotonic())
        self.mirrors.follow()
        for takeover in changes:
            self._log.warning(
                "a segment has another owner segment=%s owner=%s before=%s epoch=%d cause=%s",
                takeover.segment,
                takeover.after,
                takeover.before,
                takeover.epoch,
                takeover.cause.replace(" ", "_"),
            )
        for giving in list(self.pair.giving.values()):
            row = self.pair.row(giving.segment)
            if row is None or row.epoch != giving.epoch:
                if row is not None and (row.owner, row.epoch) == (giving.to, giving.epoch + 1):
                    words = [b"TASK.GIVEN", giving.segment.encode(), b"%d" % row.epoch]
                    self.forwarding.ask(giving.to, words, lambda answer: None, time.monotonic())
                self._end_giving(giving.segment, b":%d\r\n" % (row.epoch if row is not None else 0))

    def receive(self, segment: str, epoch: int) -> None:
        """A peer has given us a segment. It has let go before the row changed, so nothing of its lease is left to be waited out."""
        link = self._links.get(MASTER)
        if link is not None:
            link.send(MayPossess(segment, epoch))

    def give(self, client: Client, segment: str, to: str) -> None:
        """Somebody asks for a segment of ours: no write of it is accepted from now on, and when none is under way, it changes its owner."""
        if to not in self.forwarding.peers:
            raise BadArgument(f"no other DBSvr named {to!r} (there are: {', '.join(self.forwarding.peers) or 'none'})")
        if self.pair.give(segment, to, not client.peer, boottime()) is None:
            row = self.pair.row(segment)
            words = f"no segment named {segment!r}" if row is None else f"segment {segment} is {row.owner}'s, or on its way already"
            raise BadArgument(words)
        later = self._givings[segment] = Later(client)
        client.pending.append(later)

    def _end_giving(self, segment: str, reply: bytes) -> None:
        self.pair.giving.pop(segment, None)
        later = self._givings.pop(segment, None)
        if later is not None:
            later.reply = reply
            later.client.flush()

    def look_around(self, now: float) -> None:
        """Take over what stands still and is asked for; ask back what has its home here; give what was asked for."""
        boot, link = boottime(), self._links.get(MASTER)
        for giving in list(self.pair.giving.values()):
            row = self.pair.row(giving.segment)
            if boot > giving.until or row is None:
                self._end_giving(giving.segment, b"-ERR it took too long; the segment stays where it is\r\n")
            elif link is not None and not self._writes_under_way(row) and self._may_go(giving, boot, now):
                link.send(GiveSegment(giving.segment, giving.epoch, giving.to, giving.moves_home))
        if link is None or not self._servers.master.is_ready:
            return
        for row in self.pair.to_take(boot) if now - self._began_at >= SETTLE_S else ():
            self._log.warning("takes over: the owner's tick stands still segment=%s owner=%s epoch=%d", row.segment, row.owner, row.epoch)
            link.send(TakeSegment(row.segment, row.epoch))
        for row in self.pair.to_ask_back(boot, self._servers.master.up_for_s(now)):
            self._ask_back(row, now)

    def _may_go(self, giving: Giving, boot: float, now: float) -> bool:
        """Its new owner knows its trails, or has not learned them in time: then it purges everywhere for a while."""
        is_late = boot > giving.until - GIVE_WITHIN_S / 2
        return is_late or self.mirrors.has_told_all(giving.segment, giving.epoch + 1, giving.to, now)

    def _writes_under_way(self, row: SegmentRow) -> bool:
        """Not deletions: one may wait for its turn for a minute, and nothing is written meanwhile. If the segment has gone by then it is
        refused, and comes again to the new owner."""
        return any(each.kind == FINISH and row.first <= each.uid <= row.last for each in self._table.values())

    def _ask_back(self, row: SegmentRow, now: float) -> None:
        def take(answer: object) -> None:
            if isinstance(answer, hiredis.ReplyError):
                self._log.warning('a segment was asked back in vain segment=%s owner=%s why="%s"', row.segment, row.owner, answer)

        self.forwarding.ask(row.owner, [b"TASK.GIVE", row.segment.encode(), self.pair.instance.encode()], take, now)
