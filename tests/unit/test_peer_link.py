from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tasksys_site.configuration import Instance
from workers import peer_link
from workers.peer_link import PeerLink


class Transport:
    was_aborted = False

    def write(self, data: bytes) -> None:
        pass

    def abort(self) -> None:
        self.was_aborted = True


def test_a_connection_that_is_made_as_its_time_runs_out_is_given_up_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop closes it without a word to its protocol: the link would take it for open, and wait for a greeting for ever."""
    monkeypatch.setattr(peer_link, "CONNECT_WITHIN_S", 0.01)
    link = PeerLink("b", Instance(port=1, queue_key=1), "a", logging.getLogger("test"))
    made: list[Transport] = []

    async def create_connection(protocol: Any, host: str, port: int) -> None:
        made.append(Transport())
        protocol().connection_made(made[-1])
        await asyncio.Event().wait()

    async def connect_twice() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", create_connection)
        for now in (1.0, 2.0):
            link.open_if_closed(now)
            assert link._connecting is not None
            await link._connecting

    asyncio.run(connect_twice())

    assert [transport.was_aborted for transport in made] == [True, True]
    assert not link.is_open
    assert link.owes == 0
