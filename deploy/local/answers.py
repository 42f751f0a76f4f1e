"""Does everything answer? One question a part, asked until it does or the time is up."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

import redis
from celery import Celery
from kombu.exceptions import OperationalError

from deploy.local.front_client import front_client
from deploy.local.pieces import LocalStack
from deploy.local.server_process import wait_until
from deploy.local.supervision import Supervisord, SupervisordFailed
from tasksys_site.configuration import Instance

EVERYTHING_WITHIN_S = 45.0
CELERY_QUEUES = ("sample", "purge", "points", "diff")
"""Each has a worker of its own, named like it."""


@dataclass(frozen=True)
class Question:
    """`ask` returns None when all is well, else the sentence that says what is not."""

    what: str
    ask: Callable[[], str | None]

    def wait_for_answer(self, within_s: float) -> str | None:
        fault: str | None = "was not asked"

        def is_well() -> bool:
            nonlocal fault
            fault = self.ask()
            return fault is None

        return None if wait_until(is_well, within_s, every_s=0.1) else fault


def questions(stack: LocalStack, supervisord: Supervisord) -> list[Question]:
    dbsvr = [
        Question(f"DBSvr {name} on {instance.host}:{instance.port}", lambda instance=instance: _ask_front(instance))  # type: ignore[misc]
        for name, instance in stack.configuration.dbsvr.instances.items()
    ]
    return [
        *dbsvr,
        Question(f"web on {stack.web_address}", lambda: _ask_web(stack)),
        Question("Celery workers", lambda: _ask_celery(stack)),
        Question("every program under supervisord", lambda: _ask_supervisord(supervisord)),
    ]


def stats_of(instance: Instance) -> dict[str, object] | None:
    """TASK.STATS; None when the front does not answer."""
    try:
        with front_client(instance, timeout_s=2) as client:
            answer = json.loads(client.execute_command("TASK.STATS"))
            return answer if isinstance(answer, dict) else None
    except (redis.RedisError, ValueError):
        return None


def _ask_front(instance: Instance) -> str | None:
    try:
        with front_client(instance, timeout_s=2) as client:
            client.ping()
            stats = json.loads(client.execute_command("TASK.STATS"))
            client.execute_command("TASK.GET", "1", "node-1")
    except redis.RedisError as error:
        return str(error)
    if stats["master"]["state"] != "up":
        return f"its master is {stats['master']['state']}"
    taking = [f"segment {name} is being taken over" for name, row in stats.get("segments", {}).items() if row["state"] == "taking"]
    behind = [f"replica {name} is {replica['state']}" for name, replica in stats["replicas"].items() if replica["state"] != "serving"]
    return ", ".join([*taking, *behind]) or None


def _ask_web(stack: LocalStack) -> str | None:
    name = stack.configuration.web.allowed_hosts[0].lstrip(".").replace("*", "localhost")
    for path in ("/healthz", "/"):
        request = urllib.request.Request(stack.web_address + path, headers={"Host": name})
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                if response.status != 200:
                    return f"{path} answers {response.status}"
        except (OSError, urllib.error.URLError) as error:
            return f"{path}: {error}"
    return None


def _ask_celery(stack: LocalStack) -> str | None:
    # A plain app: only the broker and the worker's name matter here, and Django would take a second to load.
    with Celery("asking", broker=stack.configuration.broker.url) as app:
        app.conf.broker_transport_options = {"socket_timeout": 2, "socket_connect_timeout": 2}
        try:
            answering = {name.partition("@")[0] for name in app.control.inspect(timeout=1.0).ping() or {}}
            missing = [queue for queue in CELERY_QUEUES if queue not in answering]
            return f"no worker answers a ping for queue {', '.join(missing)}" if missing else None
        except (OSError, OperationalError, redis.RedisError) as error:
            return str(error)


def _ask_supervisord(supervisord: Supervisord) -> str | None:
    try:
        processes = supervisord.processes()
    except SupervisordFailed as error:
        return str(error)
    faults = [
        f"{name} {row['statename'].lower()} {row['spawnerr']}".strip() for name, row in processes.items() if row["statename"] != "RUNNING"
    ]
    return "; ".join(faults) or None
