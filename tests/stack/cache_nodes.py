"""Cache nodes as a test sees them: what lies on them, the unfinished purges, and a logic node that cannot reach one of them."""

from __future__ import annotations

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from apps.cachesync import probes, purge_rows
from apps.cachesync.center import Center
from apps.cachesync.copies import encode_copy, parse_head
from apps.cachesync.scripts import keys
from apps.cachesync.task_interface import TaskInterface
from apps.dbsvr.db_interface import db_interface
from deploy.local.ports import free_ports
from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import load
from tests.stack.waiting import eventually
from workers.protocol import Snapshot, WriteAnswer

NODES = ("node-1", "node-2")


def start_logic_node(that_uses_all: bool = True, **cache: object) -> TaskInterface:
    """A logic node in this process, with its own connections and its own view of the cache nodes, both of which it uses.

    What earlier tests have left unfinished is worked off first. `cache`: settings of that section. The caller closes it.
    """
    if that_uses_all:
        work_off()
    made = TaskInterface(db_interface(), load().cache.model_copy(update=cache), 3_000)
    if that_uses_all:
        eventually(lambda: made._nodes.choose(1) and not any(made._nodes.why_not().values()))
    return made


def work_off() -> None:
    """What the cache sync center does, once."""
    center = Center(load().cache)
    center.admit(probes.probe(center.nodes()))
    for node in purge_rows.unfinished():
        center.purge_everywhere() if node == purge_rows.EVERY_NODE else center.purge_node(node)
    for made in center.nodes().values():
        made.close()


def snapshot_of(uid: int, version: int, generation: int = 1) -> Snapshot:
    return Snapshot(uid, generation, version, 0, [], served_by="r1", storable=True)


def written(uid: int, version: int, purge: list[str], applied: bool = True) -> WriteAnswer:
    return WriteAnswer(applied, [], version - 1, snapshot_of(uid, version), purge)


def put_copy(stack: PrivateStack, node: str, uid: int, version: int) -> None:
    with stack.nodes[node].client() as client:
        client.set(keys(uid)[0], encode_copy(snapshot_of(uid, version)), px=60_000)


def version_on(stack: PrivateStack, node: str, uid: int) -> int | None:
    with stack.nodes[node].client() as client:
        text = client.get(keys(uid)[0])
    found = parse_head(str(text).encode()) if text is not None else None
    return None if found is None else found[1]


def has_token(stack: PrivateStack, node: str, uid: int) -> bool:
    with stack.nodes[node].client() as client:
        return bool(client.exists(keys(uid)[1]))


def leave_token(stack: PrivateStack, node: str, uid: int, token: str = "somebody's", ttl_ms: int = 60_000) -> None:
    with stack.nodes[node].client() as client:
        client.set(keys(uid)[1], token, px=ttl_ms)


def leave_row(stack: PrivateStack, node: str, uid: int, version: int, generation: int = 1) -> None:
    """As master_db_svr does in a write's transaction."""
    sql = "INSERT INTO cache_purge (uid, generation, version, node, created_ms) VALUES (%s, %s, %s, %s, UNIX_TIMESTAMP() * 1000)"
    stack.master.execute(sql, "tasksys_user", (uid, generation, version, node))


def rows_of(stack: PrivateStack, uid: int) -> list[tuple[str, int]]:
    rows = stack.master.execute("SELECT node, version FROM cache_purge WHERE uid = %s ORDER BY id", "tasksys_user", (uid,))
    return [(str(node), int(version)) for node, version in rows]


def cut_off(tasks: TaskInterface, node: str) -> None:
    """From now on this logic node alone cannot reach that cache node."""
    found = tasks._nodes.named(node)
    assert found is not None
    found._connection = redis.Redis(port=free_ports(1)[0], retry=Retry(NoBackoff(), 0), socket_connect_timeout=0.25)
    found._pool.close()
