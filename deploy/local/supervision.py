"""supervisord: its configuration file, its start and end, and talking to it.

It keeps the programs of the stack alive; in which order they are started is for start_up to say. It runs in the project's folder,
and its file names everything under var/ by `%(here)s`: so no path has to survive its parser, which takes what follows " #" or
" ;" for a comment.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import resource
import shlex
import signal
import subprocess
import time
import xmlrpc.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from supervisor.xmlrpc import SupervisorTransport

from deploy.local.pieces import SERVERS, LocalStack, Program, from_project, python
from deploy.local.server_process import dies_with_parent, make_socket_directory, remove_socket_directory, socket_path, wait_until
from tasksys_site.configuration import PROJECT

OPEN_FILES = 16_384
"""A front holds up to dbsvr.max_clients connections."""
DO_NOT_START_AGAIN = "0,3,78"
"""Exit codes: stopped as asked, superseded by another process, wrong configuration. After all others (75: start again) it is."""


class SupervisordFailed(Exception):
    """supervisord did not start or does not answer; the message ends with the last lines of its log."""


class Supervisord:
    """The stack's supervisord, whoever started it: found by its pid file, spoken to over its socket."""

    def __init__(self, stack: LocalStack) -> None:
        self.stack = stack
        self.file = stack.var / "supervisord.conf"
        self.pid_file = stack.var / "supervisord.pid"
        self.log = stack.var / "log" / "supervisord.log"
        self.socket = socket_path(stack.var, "supervisor.sock")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its pid; None when it does not run. A pid file left over from a power cut names nobody of ours."""
        try:
            pid = int(self.pid_file.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, ValueError):
            return None
        return pid if b"supervisord" in command and os.fsencode(self.file) in command and state != "Z" else None

    def start(self, dies_with_us: bool) -> None:
        """Start it with databases and Redis; the other programs wait for `start_group`."""
        (self.stack.var / "log").mkdir(parents=True, exist_ok=True)
        make_socket_directory(self.socket)
        self.file.write_text(supervisord_configuration(self.stack, self.socket), encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        environment |= {"PYTHONUNBUFFERED": "1"} | self.stack.environment
        with open(self.stack.var / "log" / "supervisord.out", "wb") as out:
            self.process = subprocess.Popen(
                [
                    *(dies_with_parent(signal.SIGTERM) if dies_with_us else ()),
                    python(),
                    "-m",
                    "supervisor.supervisord",
                    "-c",
                    str(self.file),
                ],
                cwd=PROJECT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # Ctrl-C is for the one who runs us; he stops supervisord in order
            )
        if not wait_until(lambda: self._has_ended() or self.answers(), 15) or self._has_ended():
            said = (self.stack.var / "log" / "supervisord.out").read_text(errors="replace")[-2000:]
            raise SupervisordFailed(f"supervisord did not start:\n{said}")

    def stop(self, timeout_s: float = 60) -> bool:
        """End it and all programs in order. False when it did not run."""
        pid = self.pid
        if pid is None:
            return False
        os.kill(pid, signal.SIGTERM)
        if not wait_until(lambda: self.pid is None, timeout_s):
            os.kill(pid, signal.SIGKILL)  # the programs see their parent end, and stop
            wait_until(lambda: self.pid is None, 5)
        if self.process is not None:
            self.process.wait(5)
        remove_socket_directory(self.socket, self.stack.var)
        return True

    def answers(self) -> bool:
        try:
            with self._talk() as supervisor:
                return bool(supervisor.getState()["statename"] == "RUNNING")
        except SupervisordFailed:
            return False

    def start_group(self, group: str) -> None:
        """Start what is not running in the group. Does not wait."""
        with self._talk() as supervisor:
            supervisor.startProcessGroup(group, False)

    def start_program(self, program: Program) -> None:
        with self._talk() as supervisor:
            supervisor.startProcess(program.full_name, False)

    def processes(self) -> dict[str, dict[str, Any]]:
        """What supervisord knows of each program, by full name: statename, pid, start, spawnerr, exitstatus …"""
        with self._talk() as supervisor:
            rows = cast(list[dict[str, Any]], supervisor.getAllProcessInfo())
        return {f"{row['group']}:{row['name']}": row for row in rows}

    def _has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    @contextlib.contextmanager
    def _talk(self) -> Iterator[Any]:
        transport = SupervisorTransport(None, None, f"unix://{self.socket}")
        try:
            yield xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport).supervisor
        except xmlrpc.client.Fault as fault:
            raise SupervisordFailed(f"supervisord refused: {fault.faultString}") from fault
        except (OSError, xmlrpc.client.Error, ValueError) as error:
            raise SupervisordFailed(f"supervisord does not answer: {error}") from error
        finally:
            transport.close()


def supervisord_configuration(stack: LocalStack, socket: Path) -> str:
    """The whole file."""
    open_files = min(OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    sections = [
        f"; Written by deploy.local at every start ({time.strftime('%Y-%m-%d %H:%M:%S')}); changes here are lost.",
        f"[supervisord]\nnodaemon = true\nlogfile = {_logs(stack.var)}/supervisord.log\nlogfile_maxbytes = 5MB\nlogfile_backups = 1\n"
        f"pidfile = %(here)s/supervisord.pid\nminfds = {open_files}\nstrip_ansi = true\n"
        + (f"user = {pwd.getpwuid(0).pw_name}\n" if os.geteuid() == 0 else ""),
        f"[unix_http_server]\nfile = {_in_here(str(socket), stack.var)}\nchmod = 0700\n",
        f"[supervisorctl]\nserverurl = unix://{_in_here(str(socket), stack.var)}\n",
        "[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n",
    ]
    groups = list(dict.fromkeys(program.group for program in stack.programs))
    for priority, group in enumerate(groups):
        members = [program for program in stack.programs if program.group == group]
        sections.append(f"[group:{group}]\nprograms = {','.join(program.name for program in members)}\npriority = {10 * (priority + 1)}\n")
        sections += [_program_section(program, stack) for program in members]
    return "\n".join(sections)


def _program_section(program: Program, stack: LocalStack) -> str:
    command = [*dies_with_parent(signal.SIGTERM), from_project(program.command[0]), *program.command[1:]]
    return "\n".join(
        (
            f"[program:{program.name}]",
            "command = " + " ".join(_in_here(shlex.quote(argument), stack.var) for argument in command),
            f"autostart = {str(program.group == SERVERS).lower()}",
            "autorestart = unexpected",
            f"exitcodes = {DO_NOT_START_AGAIN}",
            f"startsecs = {program.up_after_s}",
            "startretries = 1000000",  # the pause between tries grows by itself
            f"stopwaitsecs = {program.stops_within_s}",
            "killasgroup = true",
            "redirect_stderr = true",
            f"stdout_logfile = {_logs(stack.var)}/{program.group}-{program.name}.log",
            "stdout_logfile_maxbytes = 5MB",
            "stdout_logfile_backups = 1",
            "",
        )
    )


def _logs(var: Path) -> str:
    """The logs' folder. supervisord expands these paths twice, so a percent sign in `%(here)s` would not survive."""
    return f"{var.relative_to(PROJECT)}/log" if var.is_relative_to(PROJECT) else "%(here)s/log"


def _in_here(text: str, var: Path) -> str:
    """`text` for supervisord's file: percent signs doubled, var/ by its short name."""
    return "%(here)s".join(part.replace("%", "%%") for part in text.split(str(var)))
