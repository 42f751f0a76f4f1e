"""The front: the process that clients connect to and workers answer to.

Wires the parts together and lives: binds its port, makes its queues, serves until asked to stop, finishes what it has
accepted, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import math
import signal
import time

import uvloop

from tasksys_site.configuration import Configuration, read_secret
from workers.clients import Client
from workers.commands import Commands
from workers.dispatch import Dispatch
from workers.front_link import local_socket_path
from workers.lost_writes import AcknowledgedWrite, append_lost
from workers.process import Exit
from workers.servers import Servers
from workers.watermark import Watermark, load_watermark, save_watermark, watermark_path
from workers.worker_links import WorkerLink

LOOK_AROUND_S = 0.02
LOOK_AROUND_IDLE_S = 0.05
STOP_WITHIN_S = 0.8
BACKLOG = 4096
KEEP_EVERY_S = 1.0


def run_front(configuration: Configuration, instance: str, log: logging.Logger) -> Exit:
    """Serve until TERM; the exit code."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(configuration, instance, log))


async def _serve(configuration: Configuration, name: str, log: logging.Logger) -> Exit:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    settings, instance = configuration.dbsvr, configuration.instance(name)
    auth = (instance.auth_user, read_secret(instance.auth_secret_file)) if instance.auth_secret_file else None
    replicas = [replica.name for replica in configuration.databases.replicas]

    parts: list[Commands] = []
    try:
        # The port first: whoever holds it is the front of this instance, and its queues are not ours to remove.
        server = await loop.create_server(
            lambda: Client(parts[0], settings.max_output_bytes), instance.host, instance.port, backlog=BACKLOG, start_serving=False
        )
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = f"port {instance.port} is taken; set dbsvr.instances.{name}.port" if taken else str(error)
        log.error("cannot listen on %s:%d: %s", instance.host, instance.port, why)
        return Exit.START_AGAIN
    memory = _Memory(configuration, name, log)
    dispatch = Dispatch(name, settings, instance.queue_key, replicas, memory.watermark, memory.keep_lost, log)
    parts.append(Commands(dispatch, auth, settings.max_clients, log))
    path = local_socket_path(configuration, name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    local = await loop.create_unix_server(lambda: WorkerLink(dispatch, log), str(path))
    path.chmod(0o600)
    try:
        await server.start_serving()
        # What lives now lives on; what comes is freed by counting references, so that cycles are looked for seldom.
        gc.freeze()
        gc.set_threshold(50_000, 50, 50)
        log.info("listening on %s:%d run_id=%d", instance.host, instance.port, dispatch.run_id)
        while not stopping.is_set():
            dispatch.look_around(time.monotonic())
            memory.keep(dispatch.servers, time.monotonic())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), LOOK_AROUND_S if dispatch.table else LOOK_AROUND_IDLE_S)
        server.close()
        until = time.monotonic() + STOP_WITHIN_S
        while dispatch.table and time.monotonic() < until:
            dispatch.look_around(time.monotonic())
            await asyncio.sleep(LOOK_AROUND_S)
        memory.keep(dispatch.servers, math.inf)
        log.info("stopped, unanswered=%d", len(dispatch.table))
    finally:
        local.close()
        dispatch.lanes.remove()
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    return Exit.STOPPED


class _Memory:
    """What outlives the front, in files: how far the master had come, and acknowledged writes that the database has lost."""

    def __init__(self, configuration: Configuration, instance: str, log: logging.Logger) -> None:
        self._path = watermark_path(configuration, instance)
        self._lost_path = self._path.with_name(f"lost-writes-{instance}.jsonl")
        self._log = log
        self._kept_at = 0.0
        self._complaint = ""
        self.watermark, fault = load_watermark(self._path)
        if fault:
            log.error("a master that went back meanwhile would not be noticed: %s", fault)

    def keep(self, servers: Servers, now: float) -> None:
        """About once a second, and only when something has changed."""
        if now - self._kept_at < KEEP_EVERY_S or not servers.base:
            return
        self._kept_at = now
        kept = Watermark(servers.known, servers.forks.as_dict(), servers.past_fork)
        if kept == self.watermark:
            return
        complaint = ""
        try:
            save_watermark(self._path, kept)
            self.watermark = kept
        except OSError as error:
            complaint = str(error)
        if complaint and complaint != self._complaint:
            self._log.error("cannot keep the watermark: %s", complaint)
        self._complaint = complaint

    def keep_lost(self, generation: int, writes: list[AcknowledgedWrite]) -> str:
        try:
            append_lost(self._lost_path, generation, writes)
        except OSError as error:
            self._log.error("cannot write %s: %s", self._lost_path, error)
            for write in writes:
                self._log.error("acknowledged and lost: uid=%d event_id=%s", write.uid, write.event_id)
            return ""
        return str(self._lost_path)
