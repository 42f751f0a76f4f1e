"""A DBSvr that says exactly what the test tells it, and the answers that it may be told to say."""

from __future__ import annotations

import contextlib
import socket
import threading

import hiredis

SILENCE = b""
"""The scripted DBSvr takes the command and does not answer."""
HANG_UP = b"hang up"


class ScriptedDBSvr:
    """Answers the commands that it gets with the script's lines, in order; the last line for all that follow."""

    def __init__(self) -> None:
        self.script: list[bytes] = []
        self.commands: list[list[bytes]] = []
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        reader = hiredis.Reader()
        while True:
            try:
                data = connection.recv(65536)
                if not data:
                    return
                reader.feed(data)
                while (command := reader.gets()) is not False:
                    self.commands.append(command)
                    line = self.script.pop(0) if len(self.script) > 1 else self.script[0]
                    if line == HANG_UP:
                        connection.shutdown(socket.SHUT_RDWR)
                        return
                    connection.sendall(line)
            except OSError:
                return

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closed already
            self._listener.shutdown(socket.SHUT_RDWR)  # close alone would leave the accept under way listening
        self._listener.close()
        for connection in self._open:
            connection.close()


def bulk(text: str) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(text.encode()), text.encode())


def snapshot(uid: int, version: int = 1) -> str:
    return f'{{"uid":{uid},"generation":1,"version":{version},"points":0,"tasks":[],"served_by":"r1","reason":null,"storable":true}}'


def write_answer(uid: int) -> bytes:
    return bulk(f'{{"applied":true,"results":[],"base_version":0,"snapshot":{snapshot(uid)},"purge":[]}}')
