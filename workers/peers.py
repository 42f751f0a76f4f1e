"""Another DBSvr, as a front sees it: several links, so that an answer that takes its time holds up no other.

RESP answers a connection in order. A write that meets a lock, a deletion that waits for its turn and a segment that is being given
each take seconds; so writes are spread over links of their own by user, and what is slow by nature has one, as have the news of the
mirror. Whether the peer lives is asked on a link that carries nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from tasksys_site.configuration import Instance
from workers.peer_link import PeerLink, Take

WRITE_LINKS = 4
PING_EVERY_S = 0.25
SILENT_S = 1.0
"""A peer that has not answered a PING for so long counts as away: what comes is not sent there."""
CUT_AFTER_S = 3.0
"""And after so long everything that it owes is given up."""


class Peer:
    def __init__(self, name: str, peer: Instance, own_name: str, log: logging.Logger) -> None:
        self.name = name
        self._log = log
        self._pulse = PeerLink(name, peer, own_name, log)
        self._slow = PeerLink(name, peer, own_name, log)
        self._news = PeerLink(name, peer, own_name, log)
        self._writes = [PeerLink(name, peer, own_name, log) for _ in range(WRITE_LINKS)]
        self._next_ping_at = 0.0
        self._was_up = False
        self._news_was_open = False
        self.greeted: Callable[[str], None] | None = None
        """Told when the link for news has been opened (again): what was told before may be lost."""
        self.forwarded = 0

    def _links(self) -> Iterator[PeerLink]:
        yield self._pulse
        yield self._slow
        yield self._news
        yield from self._writes

    @property
    def failed(self) -> int:
        """Commands whose answer was lost."""
        return self._slow.failed + sum(link.failed for link in self._writes)

    def is_up(self, now: float) -> bool:
        return self._pulse.is_open and self._pulse.silent_s(now) < SILENT_S

    def state(self, now: float) -> str:
        if self.is_up(now):
            return "up"
        return "silent" if self._pulse.is_open else "away"

    def ask_for(self, uid: int, is_slow: bool, words: list[bytes], take: Take, now: float) -> bool:
        """Ask for this user, in order with what else is not slow; `take` is called once. False when nothing could be sent."""
        return self._ask(self._slow if is_slow else self._writes[uid % WRITE_LINKS], words, take, now)

    def ask(self, words: list[bytes], take: Take, now: float) -> bool:
        """Ask what may take a while."""
        return self._ask(self._slow, words, take, now)

    def tell(self, words: list[bytes], take: Take, now: float) -> bool:
        """Tell news: what the mirror says."""
        return self._ask(self._news, words, take, now)

    def _ask(self, link: PeerLink, words: list[bytes], take: Take, now: float) -> bool:
        if not self.is_up(now) or not link.is_open:
            return False
        link.ask(words, take, now)
        return True

    def look_around(self, now: float) -> None:
        """Open what is closed, ask whether it lives, give up what has been silent for too long."""
        if self._pulse.silent_s(now) > CUT_AFTER_S:
            for link in self._links():
                link.cut()
        for link in self._links():
            link.open_if_closed(now)
        if self._pulse.is_open and not self._pulse.owes and now >= self._next_ping_at:
            self._next_ping_at = now + PING_EVERY_S
            self._pulse.ask([b"PING"], lambda answer: None, now)
        if self._news.is_open and not self._news_was_open and self.greeted is not None:
            self.greeted(self.name)
        self._news_was_open = self._news.is_open
        is_up = self.is_up(now)
        if is_up and not self._was_up:
            self._log.info("connected to a peer peer=%s", self.name)
        elif self._was_up and not is_up:
            unanswered = sum(link.owes for link in (self._slow, *self._writes))
            self._log.warning("lost a peer peer=%s state=%s unanswered=%d", self.name, self.state(now), unanswered)
        self._was_up = is_up

    def close(self) -> None:
        for link in self._links():
            link.close()
