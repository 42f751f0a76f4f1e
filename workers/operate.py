"""What an operator tells a DBSvr: `python -m workers adopt ENDPOINT` and `python -m workers rebuilt REPLICA`.

Leans on the fronts' own port (TASK.STATS, TASK.REBUILT) and on `store` for the rows of a master.
"""

from __future__ import annotations

import json
from typing import TextIO

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tasksys_site.configuration import Configuration, ConfigurationError, Instance, read_secret
from workers import store
from workers.database import Connection, DatabaseGone, DatabaseUnfit, StatementRefused, master_faults
from workers.process import Exit
from workers.watermark import load_watermark, watermark_path

ANSWER_WITHIN_S = 3.0


def adopt(configuration: Configuration, endpoint: str, out: TextIO) -> Exit:
    """Make this writable database the master of a new generation, and give up what it lacks. For a restored or former master."""
    try:
        connection = Connection(endpoint, configuration.databases.accounts.workers, configuration.databases)
        faults = master_faults(connection)
    except (DatabaseGone, DatabaseUnfit, StatementRefused, ConfigurationError) as error:
        print(f"Nothing was changed: {error}", file=out)
        return Exit.WRONG_CONFIGURATION
    try:
        if faults:
            print(f"Nothing was changed: {endpoint} must not be used as master: {'; '.join(faults)}", file=out)
            return Exit.WRONG_CONFIGURATION
        seen = max(_generation_seen(configuration, name, out) for name in configuration.dbsvr.instances)
        generation = store.adopt_master(connection, seen)
        print(f"{endpoint} is the master of generation {generation} now. Every DBSvr takes it within a few seconds,", file=out)
        print("if it stands in databases.master. Replicas that have applied more than it must be rebuilt from it.", file=out)
        return Exit.STOPPED
    finally:
        connection.close()


def _generation_seen(configuration: Configuration, name: str, out: TextIO) -> int:
    """The newest generation that this DBSvr has seen: from its front, or from what it left on this host."""
    try:
        with _client(configuration.instance(name)) as client:
            return int(json.loads(client.execute_command("TASK.STATS"))["generation"])
    except (redis.RedisError, OSError) as error:
        remembered, fault = load_watermark(watermark_path(configuration, name))
        print(f"DBSvr {name} does not answer ({error}); from its file here: generation {remembered.known.generation}{fault}", file=out)
        return remembered.known.generation


def rebuilt(configuration: Configuration, instance: str, replica: str, out: TextIO) -> Exit:
    """Tell a front that a replica, which it refuses for what it holds, was rebuilt from the master."""
    try:
        with _client(configuration.instance(instance)) as client:
            was_refused = client.execute_command("TASK.REBUILT", replica)
    except (redis.RedisError, OSError) as error:
        print(f"DBSvr {instance} did not take it: {error}", file=out)
        return Exit.START_AGAIN
    sentence = "is looked at again" if was_refused else "was not refused for a fork; nothing has changed"
    print(f"{replica} {sentence}.", file=out)
    return Exit.STOPPED


def _client(instance: Instance) -> redis.Redis:
    return redis.Redis(
        host=instance.host,
        port=instance.port,
        username=instance.auth_user or None,
        password=read_secret(instance.auth_secret_file) if instance.auth_secret_file else None,
        socket_timeout=ANSWER_WITHIN_S,
        socket_connect_timeout=ANSWER_WITHIN_S,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )
