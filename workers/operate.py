"""What an operator tells DBSvrs: `python -m workers adopt`, `rebuilt`, `hold`, `release`, `segments` and `move`.

Leans on the fronts' own port (TASK.STATS, TASK.REBUILT, TASK.HOLD) and on `store` for the rows of a master.
"""

from __future__ import annotations

import json
from typing import TextIO

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tasksys_site.configuration import Configuration, ConfigurationError, Instance, read_secret
from workers import segment_rows, store
from workers.database import Connection, DatabaseGone, DatabaseUnfit, StatementRefused, master_faults
from workers.endpoints import choose_master
from workers.messages import SegmentRow
from workers.process import Exit
from workers.roles import MasterRole
from workers.timelines import Known
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


def hold(configuration: Configuration, replica: str, by: str, reason: str, out: TextIO) -> Exit:
    """Let no DBSvr use this replica until it is released."""
    return _order(configuration, ("TASK.HOLD", replica, by, reason), f"{replica} is held: no DBSvr uses it.", out)


def release(configuration: Configuration, replica: str, by: str, out: TextIO) -> Exit:
    """Let the DBSvrs use this replica again."""
    return _order(configuration, ("TASK.RELEASE", replica, by), f"{replica} is released: it is used again.", out)


def _order(configuration: Configuration, words: tuple[str, ...], done: str, out: TextIO) -> Exit:
    """Any DBSvr will do: the row that it writes is every DBSvr's."""
    for name, instance in configuration.dbsvr.instances.items():
        try:
            with _client(instance) as client:
                client.execute_command(*words)
        except (redis.RedisError, OSError) as error:
            print(f"DBSvr {name} did not do it: {error}", file=out)
            continue
        print(done, file=out)
        return Exit.STOPPED
    return Exit.START_AGAIN


def show_segments(configuration: Configuration, out: TextIO) -> Exit:
    """Who owns which users now, and where the configuration says otherwise."""
    connection = _master(configuration, out)
    if connection is None:
        return Exit.START_AGAIN
    try:
        seen = segment_rows.look(connection)
    finally:
        connection.close()
    for row in seen.rows:
        away = "" if row.owner == row.home else f", home is {row.home}"
        print(f"{row.segment:12} {row.first:>20} … {row.last:<20} owner {row.owner}, epoch {row.epoch}{away}", file=out)
    if not seen.rows:
        print("No segment has an owner yet: the first DBSvr that starts makes the rows of the configuration.", file=out)
    elif _ranges(seen.rows) != [(it.name, it.first, it.last, it.home) for it in configuration.dbsvr.segment_list]:
        print("The configuration says otherwise. `python -m workers segments apply` makes it so.", file=out)
    return Exit.STOPPED


def apply_segments(configuration: Configuration, out: TextIO) -> Exit:
    """Let the owners be those of the configuration. Every owner takes his segments anew: for `lease_ms` there are no writes."""
    connection = _master(configuration, out)
    if connection is None:
        return Exit.START_AGAIN
    try:
        segment_rows.replace(connection, configuration.dbsvr.segment_list, configuration.dbsvr.lease_ms)
    finally:
        connection.close()
    print("The segments are those of the configuration now. Writes go on when their owners have waited out the leases.", file=out)
    return show_segments(configuration, out)


def move(configuration: Configuration, segment: str, to: str, out: TextIO) -> Exit:
    """Ask a segment's owner to give it to another DBSvr."""
    configuration.instance(to)
    for name, instance in configuration.dbsvr.instances.items():
        try:
            with _client(instance) as client:
                stats = json.loads(client.execute_command("TASK.STATS"))
                if stats["segments"].get(segment, {}).get("owner") == name:
                    epoch = client.execute_command("TASK.GIVE", segment, to)
                    print(f"{segment} was {name}'s, and is {to}'s now, epoch {epoch}.", file=out)
                    return Exit.STOPPED
        except redis.ResponseError as error:
            print(f"DBSvr {name} does not give it: {error}", file=out)
            return Exit.START_AGAIN
        except (redis.RedisError, OSError) as error:
            print(f"DBSvr {name} does not answer: {error}", file=out)
    print(f"No DBSvr that answers owns {segment}. A living one takes over from a dead owner by itself, when its users ask.", file=out)
    return Exit.START_AGAIN


def _ranges(rows: list[SegmentRow]) -> list[tuple[str, int, int, str]]:
    return [(row.segment, row.first, row.last, row.home) for row in rows]


def _master(configuration: Configuration, out: TextIO) -> Connection | None:
    """The master, as a DBSvr without memory would choose it; None, and why, when there is none."""
    role = MasterRole(next(iter(configuration.dbsvr.instances)), configuration.databases)
    looks = [role.look_at(endpoint) for endpoint in configuration.databases.master]
    chosen = choose_master(looks, Known())
    if chosen is None:
        print(f"No master can be used: {'; '.join(fault for look in looks for fault in look.faults)}", file=out)
        return None
    return role.open(chosen.endpoint)


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
