"""The configuration of this test session, chosen before anything reads one.

Loaded first (`-p tests.session`), so that Django's settings already name the session's own ports, secrets and queue keys.
Nothing is started here: the `stack` fixture does that when a test first asks for it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from deploy.local import ports
from deploy.local.mariadb import MariaDBServer
from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import ENVIRONMENT_PREFIX

for _name in [name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX)]:
    del os.environ[_name]  # the tests' stack is described by its file alone

# Two runs beside each other (`-n 2`) pick their ports from different shares.
if _worker := os.environ.get("PYTEST_XDIST_WORKER"):
    ports.PICKED_FROM = ports.PICKED_FROM[int(_worker.removeprefix("gw")) :: 8]

# A short path: sockets go into it.
DIRECTORY = Path(tempfile.mkdtemp(prefix="tasksys-test-"))
MariaDBServer.template = DIRECTORY / "template"
STACK = PrivateStack(DIRECTORY)
os.environ.update(STACK.environment)


def _clean_up(made_by: int = os.getpid()) -> None:
    if os.getpid() == made_by and "TASKSYS_KEEP_TEST_FILES" not in os.environ:
        STACK.stop()
        shutil.rmtree(DIRECTORY, ignore_errors=True)


atexit.register(_clean_up)
# TERM ends a run as Ctrl-C does, with everything that it has started: a killed front would leave its queues in the kernel.
signal.signal(signal.SIGTERM, signal.default_int_handler)
sys.modules.setdefault("tests.session", sys.modules[__name__])
