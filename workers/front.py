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
import resource
import signal
import time

import uvloop

from tasksys_site.configuration import Configuration, Instance, read_secret
from workers.bundle_file import BundleFile, bundle_path
from workers.clients import Client
from workers.commands import Commands
from workers.dispatch import Dispatch
from workers.front_link import local_socket_path
from workers.front_memory import FrontMemory
from workers.front_stats import stats
from workers.metrics_port import MetricsPort
from workers.process import Exit, ignore_stop_signals
from workers.rounds import LOOK_AROUND_S, Rounds
from workers.worker_links import WorkerLink

STOP_WITHIN_S = 0.8
BACKLOG = 4096
OTHER_FILES = 256
"""Files beside clients' connections: workers, the log, connections that are being refused."""


def run_front(configuration: Configuration, instance: str, log: logging.Logger) -> Exit:
    """Serve until TERM; the exit code."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(configuration, instance, log))


async def _serve(configuration: Configuration, name: str, log: logging.Logger) -> Exit:
    loop = asyncio.get_running_loop()

    def look_around(now: float) -> None:
        dispatch.look_around(now)
        memory.keep(dispatch.servers, dispatch.pair.ownership.possessed, now)

    rounds = Rounds(look_around, lambda: bool(dispatch.table))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, rounds.stop)
    settings, instance = configuration.dbsvr, configuration.instance(name)
    auth = (instance.auth_user, read_secret(instance.auth_secret_file)) if instance.auth_secret_file else None
    replicas = [replica.name for replica in configuration.databases.replicas]

    _allow_files(settings.max_clients + OTHER_FILES, log)

    parts: list[Commands] = []
    try:
        # The port first: whoever holds it is the front of this instance, and its queues are not ours to remove.
        server = await loop.create_server(
            lambda: Client(parts[0], settings.max_output_bytes), instance.host, instance.port, backlog=BACKLOG, start_serving=False
        )
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = f"port {instance.port} is taken; set dbsvr.instances.{name}.port" if taken else str(error)
        log.error("cannot listen: %s host=%s port=%d", why, instance.host, instance.port)
        return Exit.START_AGAIN
    memory = FrontMemory(configuration, name, log)
    trail_life_s = (configuration.cache.copy_ttl_ms + settings.deadline_ms) / 1000
    shelf = BundleFile(bundle_path(configuration, name), log)
    dispatch = Dispatch(name, settings, instance.queue_key, replicas, memory.watermark, trail_life_s, memory.keep_lost, shelf, log)
    commands = Commands(dispatch, auth, settings.max_clients, log)
    parts.append(commands)
    path = local_socket_path(configuration, name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    local = await loop.create_unix_server(lambda: WorkerLink(dispatch, log, rounds.ride_along), str(path))
    path.chmod(0o600)
    metrics = _serve_metrics(name, instance, parts[0], dispatch, log)
    try:
        await server.start_serving()
        # What lives now lives on; what comes is freed by counting references, so that cycles are looked for seldom.
        gc.freeze()
        gc.set_threshold(50_000, 50, 50)
        log.info("listening host=%s port=%d run_id=%d", instance.host, instance.port, dispatch.run_id)
        await rounds.go()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)  # a loop that closes with handlers would take `ignore_stop_signals` back
        ignore_stop_signals()
        server.close()
        commands.take_leave()
        until = time.monotonic() + STOP_WITHIN_S
        while (dispatch.table or commands.connections) and time.monotonic() < until:
            dispatch.look_around(time.monotonic())
            await asyncio.sleep(LOOK_AROUND_S)
        memory.keep(dispatch.servers, dispatch.pair.ownership.possessed, math.inf)
        log.info("stopped unanswered=%d", len(dispatch.table))
    finally:
        if metrics is not None:
            metrics.cancel()
            await asyncio.wait([metrics])
        dispatch.forwarding.close()
        local.close()
        dispatch.lanes.remove()
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    return Exit.STOPPED


def _serve_metrics(name: str, instance: Instance, commands: Commands, dispatch: Dispatch, log: logging.Logger) -> asyncio.Task[None] | None:
    if not instance.metrics_port:
        return None
    from workers.metrics import Exposition  # some megabytes, which a front without metrics does without

    exposition = Exposition(lambda: stats(dispatch, commands.connections, time.monotonic()))
    setting = f"dbsvr.instances.{name}.metrics_port"
    port = MetricsPort(instance.host, instance.metrics_port, setting, exposition.render, log)
    return asyncio.create_task(port.serve(), name="metrics")


def _allow_files(wanted: int, log: logging.Logger) -> None:
    """Each connection is an open file; a shell's usual soft limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        log.warning("may open too few files for max_clients; raise LimitNOFILE or ulimit -n allowed=%d needed=%d", allowed, wanted)
