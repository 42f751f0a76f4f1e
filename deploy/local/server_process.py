"""One private server process: started, stopped, killed, frozen and thawed by its pid.

MariaDBServer and RedisServer say what to start and when it answers; this says how a process lives. The pid file is inside the
server's directory, so a server that another process started (supervisord does, in the local stack) can be handled too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from deploy.local.ports import PortTaken, is_free

POLL_S = 0.02
MAX_SOCKET_BYTES = 103
"""sun_path holds 107 bytes and a NUL; a few are left for what a server appends while it starts."""


class ServerFailed(Exception):
    """A private server did not start, stop or install as it should; the message ends with the last lines of its log."""


class ServerProcess:
    """What the private servers have in common. `directory` holds everything the server writes."""

    program = ""

    def __init__(self, name: str, directory: Path, port: int, options: Sequence[str] = ()) -> None:
        self.name = name
        self.directory = directory.resolve()
        self.port = port
        self.options = tuple(options)
        self.log = self.directory / "server.log"
        self.pid_file = self.directory / "server.pid"
        self._process: subprocess.Popen[bytes] | None = None

    def install(self) -> None:
        """Make the directory ready for a first start. Does nothing when it is."""
        raise NotImplementedError

    def command(self) -> list[str]:
        """The server in the foreground, for a supervisor."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Whether the server answers now."""
        raise NotImplementedError

    @property
    def pid(self) -> int | None:
        """The running server's pid, also when somebody else started it; None when it does not run."""
        if self._process is not None:
            return self._process.pid if self._process.poll() is None else None
        try:
            pid = int(self.pid_file.read_text())
            return pid if self._is_ours(pid) else None
        except (OSError, ValueError):
            return None

    def start(self, timeout_s: float = 30.0) -> None:
        """Start and wait until it answers. The server dies with the process that called this, however that one ends."""
        if self.pid is not None:
            raise ServerFailed(f"{self.name} runs already, pid {self.pid}")
        self.install()
        if not is_free(self.port):
            raise PortTaken(f"port {self.port} for {self.name} is taken by another program")
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [*dies_with_parent(signal.SIGKILL), *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                start_new_session=True,  # Ctrl-C on the terminal is for the caller, who stops us in order
            )
        self.wait_until_ready(timeout_s)

    def wait_until_ready(self, timeout_s: float) -> None:
        """Wait for an answer; ServerFailed when the process ends before, or the time does."""
        process = self._process

        def has_ended() -> bool:
            return process is not None and process.poll() is not None

        if not wait_until(lambda: has_ended() or self.is_ready(), timeout_s) or has_ended():
            self.kill()
            raise ServerFailed(f"{self.name} did not start:\n{self.last_log_lines()}")

    def stop(self, timeout_s: float = 20.0) -> None:
        """End it in order; after `timeout_s` by force. Does nothing when it does not run."""
        self.thaw()  # a frozen process takes no notice of TERM
        self._signal(signal.SIGTERM)
        if not wait_until(lambda: self.pid is None, timeout_s):
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End it as a power cut would."""
        self._signal(signal.SIGKILL)
        if not wait_until(lambda: self.pid is None, 10.0):
            raise ServerFailed(f"{self.name}, pid {self.pid}, survived SIGKILL")
        self._process = None

    def freeze(self) -> None:
        """SIGSTOP: connections stay, answers do not come."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def last_log_lines(self, count: int = 15) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])
        except OSError as error:
            return f"(no log: {error})"

    def _signal(self, number: signal.Signals) -> None:
        pid = self.pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):  # it ended in between, which is what the caller sees next anyway
                os.kill(pid, number)

    def _is_ours(self, pid: int) -> bool:
        """A pid file may be left over and its number given to another program since."""
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return state not in ("Z", "X") and os.path.basename(self.program).encode() in command and str(self.port).encode() in command


def socket_path(directory: Path, name: str) -> Path:
    """In `directory`, or, where that path is too long for a socket, in a short one that the same directory always gets."""
    inside = directory / name
    if len(os.fsencode(inside)) <= MAX_SOCKET_BYTES:
        return inside
    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    return Path("/tmp") / f"tasksys-{os.geteuid()}-{digest}" / name


def make_socket_directory(socket: Path) -> None:
    """Make the socket's folder, for its owner only; refuse one that somebody else made in /tmp."""
    socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if socket.parent.stat().st_uid != os.geteuid():
        raise ServerFailed(f"{socket.parent} belongs to somebody else: remove it, or use a shorter path for the project")


def remove_socket_directory(socket: Path, directory: Path) -> None:
    """Leave nothing in /tmp; a socket in its own `directory` stays where it is."""
    if socket.parent != directory:
        shutil.rmtree(socket.parent, ignore_errors=True)


def wait_until(condition: Callable[[], bool], timeout_s: float, every_s: float = POLL_S) -> bool:
    """Whether `condition` came true within the time."""
    until = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= until:
            return False
        time.sleep(every_s)
    return True


def dies_with_parent(number: signal.Signals) -> list[str]:
    """A command prefix: the kernel sends `number` when the parent (its starting thread) ends, even by SIGKILL."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", number.name.removeprefix("SIG")] if setpriv else []


def find_program(name: str) -> str:
    """The program's path. Also where the set-up may have put it, and in /usr/sbin, which is not on everybody's PATH."""
    path = shutil.which(name) or shutil.which(name, path=f"{sys.prefix}/bin:/usr/sbin:/usr/local/sbin:/sbin")
    if path is None:
        raise ServerFailed(f"{name} is not installed: deploy/setup.sh installs it")
    return path
