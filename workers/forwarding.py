"""Writes of users whom another DBSvr owns: handed to its front, and its answers handed back.

Leans on `peers` for the way there. A write that was forwarded and not answered may have happened: its client hears TIMEOUT,
and repeats it with its event id, wherever.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import hiredis

from tasksys_site.configuration import Instance
from workers.peer_link import Take
from workers.peers import Peer
from workers.protocol import TimedOut
from workers.replies import Replies
from workers.requests import CLEAR, Request


class Forwarding:
    def __init__(
        self, instance: str, instances: Mapping[str, Instance], replies: Replies, settled: Callable[[Request], None], log: logging.Logger
    ) -> None:
        """`settled` is called once for each request, when its client has his answer."""
        self._replies = replies
        self._settled = settled
        self.peers = {name: Peer(name, peer, instance, log) for name, peer in instances.items() if name != instance}
        self._under_way: dict[int, Request] = {}
        """By request id, in order of arrival."""

    def on_greeting(self, call: Callable[[str], None]) -> None:
        """Let `call` know when a peer has been connected (again)."""
        for peer in self.peers.values():
            peer.greeted = call

    def __len__(self) -> int:
        return len(self._under_way)

    def forward(self, owner: str, request: Request, words: list[bytes], now: float) -> bool:
        """False when the owner cannot be reached: nothing was sent."""
        peer = self.peers.get(owner)
        if peer is None or not peer.ask_for(request.uid, request.kind == CLEAR, words, lambda answer: self._take(request, answer), now):
            return False
        peer.forwarded += 1
        self._under_way[request.request_id] = request
        return True

    def ask(self, peer_name: str, words: list[bytes], take: Take, now: float) -> bool:
        """Ask a peer something of our own. False when it cannot be reached."""
        peer = self.peers.get(peer_name)
        return peer is not None and peer.ask(words, take, now)

    def tell(self, peer_name: str, words: list[bytes], take: Take, now: float) -> bool:
        """Tell a peer news. False when it cannot be reached."""
        peer = self.peers.get(peer_name)
        return peer is not None and peer.tell(words, take, now)

    def _take(self, request: Request, answer: object) -> None:
        if self._under_way.pop(request.request_id, None) is None:
            return  # its client has heard TIMEOUT
        if isinstance(answer, bytes):
            self._replies.give_json(request, answer)
        elif isinstance(answer, hiredis.ReplyError):
            code, _, sentence = str(answer).partition(" ")
            self._replies.refuse(request, code, sentence)
        else:
            self._replies.fail(request, TimedOut("the write was handed to its owner, and the connection broke: it may have happened"))
        self._settled(request)
        self._replies.flush()

    def look_around(self, now: float, deadline_s: float) -> None:
        for peer in self.peers.values():
            peer.look_around(now)
        late = []
        for request in self._under_way.values():
            if request.arrived > now - deadline_s:
                break
            late.append(request)
        for request in late:
            del self._under_way[request.request_id]
            self._replies.fail(request, TimedOut())
            self._settled(request)

    def as_json(self, now: float) -> dict[str, dict[str, Any]]:
        return {name: {"state": peer.state(now), "forwarded": peer.forwarded, "failed": peer.failed} for name, peer in self.peers.items()}

    def close(self) -> None:
        for peer in self.peers.values():
            peer.close()
