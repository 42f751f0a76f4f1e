"""The API over HTTP: what a user's tasks cost beside a bare view of the same server, and which application server serves them best.

On a stack of its own, with TASKS tasks of five conditions each, copies on the cache nodes, keys checked. Every server gets the same number
of processes and, where it has any, threads. Bare view, serializer view and the API are asked in turn, in short stretches, so that all
three meet the same machine. A server that is not installed is left out with a word (install it anywhere on PYTHONPATH).
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.api_facts import FIRST_UID, PAYLOAD_VARIABLE, TASKS, THREADS_ALONE, USERS
from bench.api_writes import measure_batches, measure_events
from bench.http_load import Answers, BadAnswer, Clients, encode
from bench.measures import Measure
from bench.neighbours import cpu_s
from bench.progress import say
from deploy.local.ports import free_ports
from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import ServerFailed, wait_until
from deploy.local.stack_process import StackProcess
from tasksys_site.configuration import PROJECT

CLIENTS = 32
ROUNDS, STRETCH_S = 5, 0.5
PROCESSES, THREADS = 2, 8
BARE, SERIALIZER, OURS = "bare view", "serializer view", "users/{uid}/tasks"


class Server(NamedTuple):
    """How one is started, on a port."""

    name: str
    module: str
    arguments: str
    bare: str = "/bare"

    def command(self, port: int) -> list[str]:
        return [sys.executable, "-m", self.module, *self.arguments.format(port=port).split()]


SERVERS = (
    Server(
        "granian",
        "granian",
        f"--interface wsgi --host 127.0.0.1 --port {{port}} --workers {PROCESSES} --blocking-threads {THREADS} --no-ws"
        " --workers-kill-timeout 3 --no-log bench.api_server:application",
    ),
    Server(
        "gunicorn gthread",
        "gunicorn",
        f"--worker-class gthread --workers {PROCESSES} --threads {THREADS} --bind 127.0.0.1:{{port}} --keep-alive 60"
        " --log-level warning bench.api_server:application",
    ),
    Server(
        "uvicorn",
        "uvicorn",
        f"--workers {PROCESSES} --host 127.0.0.1 --port {{port}} --lifespan off --no-access-log --log-level warning"
        " bench.api_server:asynchronous",
        bare="/bare-async",
    ),
)
CHOSEN = SERVERS[0]
ONE_PROCESS = f"--workers 1 --blocking-threads {THREADS_ALONE}"


def measure(_stack: PrivateStack) -> Iterator[Measure]:
    say("api: a stack of its own")
    with tempfile.TemporaryDirectory(prefix="tasksys-bench-") as directory:
        stack = PrivateStack(Path(directory))
        center = stack.celery("purge")  # without it no purge is ever done, and a node with an old one is not used
        try:
            stack.start_databases()
            stack.migrate()
            stack.start_redis()
            stack.start_dbsvr()
            center.start()
            yield from _measure_servers(stack)
        finally:
            center.stop()
            stack.stop()


def _measure_servers(stack: PrivateStack) -> Iterator[Measure]:
    said = _prepare(stack)
    headers = {"Authorization": f"Api-Key {said['key']}"}
    paths = [f"/api/v1/users/{FIRST_UID + place}/tasks?attributes={said['attributes'][place]}" for place in range(USERS)]
    requests = {SERIALIZER: [encode("GET", "/drf", {})], OURS: [encode("GET", path, headers) for path in paths]}
    for server in SERVERS:
        if importlib.util.find_spec(server.module) is None:
            say(f"api: {server.name} is not installed, and left out")
            continue
        say(f"api: {server.name}")
        with _running(stack, server) as (process, port):
            found, looked = _ask_in_turn(process, port, {BARE: [encode("GET", server.bare, {})], **requests}, stack)
        yield from _measures_of(server, found)
        # Without its node a user is read from the DBSvr: something else would have been measured.
        yield Measure(f"{server.name}: looked for on a cache node, of these reads", looked / found[OURS].answers.count, "", bar=1)
    say("api: batches")
    with _running(stack, CHOSEN) as (process, port):
        _wait_for(process, port, PROCESSES)
        yield from measure_batches(port, said["key"], said["attributes"])
    say("api: events")
    one = CHOSEN._replace(arguments=CHOSEN.arguments.replace(f"--workers {PROCESSES} --blocking-threads {THREADS}", ONE_PROCESS))
    with _running(stack, one) as (process, port):
        _wait_for(process, port, 1)
        yield from measure_events(port, said["key"], said["task"])


def _measures_of(server: Server, found: Mapping[str, Found]) -> Iterator[Measure]:
    bare, serializer, ours = (found[name].answers for name in (BARE, SERIALIZER, OURS))
    name = f"{server.name}: GET users/{{uid}}/tasks, {TASKS} tasks"
    is_chosen = server is CHOSEN
    yield Measure(name, ours.per_s, "/s", [bare.per_s], BARE, bar=0.3 if is_chosen else None, aim=0.45 if is_chosen else None)
    yield Measure(f"{name}, beside a serializer", ours.per_s, "/s", [serializer.per_s], SERIALIZER, bar=1.8 if is_chosen else None)
    yield Measure(f"{name}, processor time", found[OURS].cost_us, "µs", [found[BARE].cost_us], f"µs {BARE}")
    for share in (0.5, 0.99):
        against = [bare.percentile_ms(share)]
        yield Measure(f"{name}, p{100 * share:g} of {CLIENTS} clients", ours.percentile_ms(share), "ms", against, f"ms {BARE}")


def _prepare(stack: PrivateStack) -> dict[str, Any]:
    """Tasks, users and a key: what bench.api_users says of them."""
    file = stack.directory / "api.json"
    command = [sys.executable, "-m", "bench.api_users", str(file)]
    environment = {**os.environ, **stack.environment, **_payload(stack)}
    made = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False)
    if made.returncode:
        raise ServerFailed(f"the tasks could not be published:\n{made.stderr[-3000:]}")
    said: dict[str, Any] = json.loads(file.read_text())
    return said


def _looks(stack: PrivateStack) -> int:
    """How often somebody has looked for a copy."""
    total = 0
    for node in stack.nodes.values():
        with node.client() as client:
            total += client.info("commandstats").get("cmdstat_get", {}).get("calls", 0)
    return total


def _payload(stack: PrivateStack) -> dict[str, str]:
    return {PAYLOAD_VARIABLE: str(stack.directory / "payload.json")}


@contextlib.contextmanager
def _running(stack: PrivateStack, server: Server) -> Iterator[tuple[StackProcess, int]]:
    port = free_ports(1)[0]
    log = stack.directory / f"{server.module}.log"
    process = StackProcess(server.name, server.command(port), log, {**stack.environment, **_payload(stack)})
    process.start()
    try:
        yield process, port
    finally:
        process.stop()


class Found(NamedTuple):
    answers: Answers
    cost_us: float
    """Of processor time of all processes of the server, for one answer."""


def _ask_in_turn(
    process: StackProcess, port: int, requests: Mapping[str, Sequence[bytes]], stack: PrivateStack
) -> tuple[dict[str, Found], int]:
    """What was found, and how often a copy was looked for in the stretches that count."""
    _wait_for(process, port, PROCESSES)
    assert process.pid is not None
    answers = {name: Answers() for name in requests}
    cost_s = dict.fromkeys(requests, 0.0)
    with Clients(port, CLIENTS) as clients:
        for name in (OURS, BARE, SERIALIZER):  # every process has read its keys and tasks, every user's copy lies on its node
            clients.ask(requests[name], 1.5)
        looked = _looks(stack)
        for _round in range(ROUNDS):
            for name, theirs in requests.items():
                before = _cpu_s_of_session(process.pid)
                answers[name].add(clients.ask(theirs, STRETCH_S))
                cost_s[name] += _cpu_s_of_session(process.pid) - before
        looked = _looks(stack) - looked
    return {name: Found(each, 1e6 * cost_s[name] / each.count) for name, each in answers.items()}, looked


def _wait_for(process: StackProcess, port: int, processes: int) -> None:
    """Until all of them serve: clients stay with the process that took their connections, and one that comes late would get none."""
    seen: set[bytes] = set()

    def all_serve() -> bool:
        seen.update(_serving(port))
        return len(seen) >= processes and _answers(port)

    if not wait_until(all_serve, 30):
        raise ServerFailed(f"{process.name} does not serve:\n{process.last_log_lines()}")


def _serving(port: int) -> set[bytes]:
    """The process that takes a new connection, if one does."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/process", timeout=5) as answer:
            return {answer.read()}
    except OSError:
        return set()


def _cpu_s_of_session(leader: int) -> float:
    """Of all processes that the server has forked."""
    total = 0.0
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and os.getsid(int(entry)) == leader:
                total += cpu_s(int(entry))
    return total


def _answers(port: int) -> bool:
    try:
        with Clients(port, 1) as clients:
            clients.ask([encode("GET", "/api/v1/users/0/tasks", {})], 0)
    except BadAnswer as refused:
        return str(refused).startswith("HTTP/1.1 401")
    except OSError:
        return False
    return False
