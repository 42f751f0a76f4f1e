"""A worker's end of the local socket: frames to and from its front, and where the socket is."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tasksys_site.configuration import Configuration, in_project
from workers.messages import (
    MAX_FRAME_BYTES,
    Frame,
    FrameSplitter,
    FromFront,
    Hello,
    Leave,
    Welcome,
    decode_from_front,
    encode_frame,
    halves,
)

MAX_SOCKET_PATH_BYTES = 107
SEND_TIMEOUT_S = 10.0


class FrontGone(Exception):
    """The front is not there, or has ended; its queues are worth nothing any more."""


def local_socket_path(configuration: Configuration, instance: str) -> Path:
    """Where this instance's front and workers meet; a short path when the configured one is too long for a socket."""
    path = in_project(configuration.dbsvr.run_dir) / f"dbsvr-{instance}.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return Path("/tmp") / f"tasksys-{os.geteuid()}-{digest}.sock"


class FrontLink:
    """One connection to the front, from Hello to its end."""

    def __init__(self, path: Path, server: str) -> None:
        """Connect and say hello. Raises FrontGone."""
        self._splitter = FrameSplitter()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # The kernel's time-out, not Python's, which asks poll before each call.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(SEND_TIMEOUT_S), 0))
        self._ready: list[FromFront] = []
        self._held: list[bytes] = []
        try:
            self._socket.connect(str(path))
            self._poll = select.poll()
            self._poll.register(self._socket, select.POLLIN)
            self.send(Hello(server, os.getpid()))
            self.welcome = self._await_welcome()
        except OSError as error:
            self._socket.close()
            raise FrontGone(f"{path}: {error}") from error
        except FrontGone:
            self._socket.close()
            raise

    def _await_welcome(self) -> Welcome:
        frames = self.receive(SEND_TIMEOUT_S)
        if not frames or not isinstance(frames[0], Welcome):
            raise FrontGone("the front did not welcome us")
        self._ready = frames[1:]
        return frames[0]

    def hold(self, frame: Frame) -> None:
        """Send this frame together with the next, or before the next wait: call `flush` before anything else that takes time."""
        encoded = encode_frame(frame)
        if len(encoded) > MAX_FRAME_BYTES and (parts := halves(frame)):
            # A batch of answers for users with thousands of records each: the front would cut us off for it.
            for part in parts:
                self.hold(part)
            return
        self._held.append(encoded)

    def send(self, frame: Frame) -> None:
        """Raises FrontGone; a front that does not read for SEND_TIMEOUT_S counts as gone."""
        self.hold(frame)
        self.flush()

    def flush(self) -> None:
        """Send what is held. Raises FrontGone."""
        if not self._held:
            return
        frames, self._held = self._held, []
        try:
            self._socket.sendall(frames[0] if len(frames) == 1 else b"".join(frames))
        except OSError as error:
            raise FrontGone(str(error)) from error

    def receive(self, timeout_s: float, beside: Sequence[int] = ()) -> list[FromFront]:
        """What the front has said. Waits up to `timeout_s` for a first frame, or until one of `beside`, other descriptors, can be read.

        Raises FrontGone.
        """
        frames, self._ready = self._ready, []
        wait_ms = timeout_s * 1000  # `poll` rounds up: who is woken before his time waits once more
        if wait_ms > 0:
            self.flush()
        if beside and wait_ms > 0 and not frames:
            for each in beside:
                self._poll.register(each, select.POLLIN)
            try:
                self._poll.poll(wait_ms)
            finally:
                for each in beside:
                    self._poll.unregister(each)
            wait_ms = 0
        while not frames and (wait_ms <= 0 or self._poll.poll(wait_ms)):
            try:
                data = self._socket.recv(1 << 16, socket.MSG_DONTWAIT)
                if not data:
                    raise FrontGone("the front has closed the connection")
                frames = [decode_from_front(body) for body in self._splitter.feed(data)]
            except BlockingIOError:
                break
            except (OSError, ValueError, msgspec.MsgspecError) as error:
                raise FrontGone(str(error)) from error
        return frames

    def put_back(self, frames: list[FromFront]) -> None:
        """Frames received too early: the next `receive` gives them first."""
        self._ready = [*frames, *self._ready]

    def was_told_to_leave(self) -> bool:
        """After the front is gone: was Leave its last word? A failed send comes before one has read it."""
        try:
            self._socket.settimeout(0)
            while data := self._socket.recv(1 << 18):
                self._ready += [decode_from_front(body) for body in self._splitter.feed(data)]
        except (OSError, ValueError, msgspec.MsgspecError):
            pass  # what has come so far is all there is
        return any(isinstance(frame, Leave) for frame in self._ready)

    def close(self) -> None:
        """What is held is true, however this life ended, and still goes out if it can."""
        with contextlib.suppress(FrontGone):
            self.flush()
        self._socket.close()
