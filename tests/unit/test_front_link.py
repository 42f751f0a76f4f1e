"""What a worker holds back goes to its front with the next frame, before it waits, and when its life ends."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.front_link import FrontLink
from workers.messages import Frame, FrameSplitter, FromWorker, Hello, Idle, Ticked, Wake, Welcome, decode_from_worker, encode_frame

WELCOME = Welcome(run_id=1, queue_key=2, generation=0, newest_tick=0, server_id=0, possessed={})


class Front:
    """The other end of one link."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._splitter = FrameSplitter()
        self._welcoming = threading.Thread(target=self._welcome)
        self._welcoming.start()

    def _welcome(self) -> None:
        self._socket, _ = self._listener.accept()
        self.say(WELCOME)

    def say(self, frame: Frame) -> None:
        self._socket.sendall(encode_frame(frame))

    def heard(self) -> list[FromWorker]:
        """All that has come by now, without waiting."""
        frames: list[FromWorker] = []
        with contextlib.suppress(BlockingIOError):
            while data := self._socket.recv(1 << 16, socket.MSG_DONTWAIT):
                frames += [decode_from_worker(body) for body in self._splitter.feed(data)]
        return frames

    def close(self) -> None:
        self._welcoming.join(5)
        self._socket.close()
        self._listener.close()


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    front = Front(tmp_path / "front.sock")
    yield front
    front.close()


@pytest.fixture
def link(front: Front, tmp_path: Path) -> Iterator[FrontLink]:
    link = FrontLink(tmp_path / "front.sock", "r1")
    assert [type(frame) for frame in front.heard()] == [Hello]
    yield link
    link.close()


def test_a_held_frame_goes_out_with_the_next_one_and_before_it(front: Front, link: FrontLink) -> None:
    link.hold(Ticked(1, 7))
    assert front.heard() == []

    link.send(Idle(3))

    assert front.heard() == [Ticked(1, 7), Idle(3)]


def test_a_held_frame_goes_out_before_the_worker_waits(front: Front, link: FrontLink) -> None:
    link.hold(Ticked(1, 7))
    assert link.receive(0) == []
    assert front.heard() == []

    assert link.receive(0.01) == []

    assert front.heard() == [Ticked(1, 7)]


def test_a_held_frame_goes_out_when_the_life_ends(front: Front, link: FrontLink) -> None:
    link.hold(Ticked(1, 7))

    link.close()

    assert front.heard() == [Ticked(1, 7)]


def test_what_the_front_has_said_is_heard_without_waiting(front: Front, link: FrontLink) -> None:
    front.say(Wake(1))
    front.say(Wake(2))

    assert link.receive(0) == [Wake(1), Wake(2)]


def test_a_wait_is_never_shorter_than_it_was_asked_for(front: Front, link: FrontLink) -> None:
    before = time.monotonic()
    assert link.receive(0.0206) == []
    assert time.monotonic() - before >= 0.0206
