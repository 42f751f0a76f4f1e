"""What a stopped stack must not leave behind: processes, sockets, queues."""

from __future__ import annotations

import sysv_ipc

from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import in_project
from workers.front_link import local_socket_path


def assert_nothing_is_left(stack: PrivateStack) -> None:
    running = [process.name for process in stack.dbsvr_processes if process.pid is not None]
    assert not running, f"still running: {running}"
    for dbsvr in stack.dbsvrs.values():
        queues = [key for key in range(dbsvr.queue_key, dbsvr.queue_key + 3) if _exists(key)]
        if dbsvr.front.exit_code == 0:  # a killed front cannot clean up; the next one does
            assert not queues, f"queues left: {queues}"
            assert not in_project(local_socket_path(stack.configuration(), dbsvr.name)).exists()
        for key in queues:
            sysv_ipc.MessageQueue(key).remove()


def _exists(key: int) -> bool:
    try:
        sysv_ipc.MessageQueue(key)
    except sysv_ipc.ExistentialError:
        return False
    return True
