"""What goes wrong around the cache nodes while clients read and write through two logic nodes.

Where a writer may not reach a cache node, the promise is only that older copies are gone after the grace: OUT_OF_REACH names these faults.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator

import redis

from deploy.local.private_stack import PrivateStack
from deploy.local.redis import RedisServer
from tests.consistency.faults import Fault, delay_replica, freeze_process, kill_front, kill_master_worker, kill_process, term_front
from tests.stack.api_stack import ApiStack

LONGEST_S = 7.0
"""Longer than the grace and two looks."""
SETTLED_AFTER_S = 10.0
"""As in the registry, which needs Django."""


def kill_node(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """It comes back without its data, or with what it had saved a moment before."""
    node = _node(stack, rnd)
    if rnd.random() < 0.5:
        with contextlib.suppress(redis.RedisError), node.client() as client:
            client.save()
        ending.wait(rnd.uniform(0, 2.0))
    node.kill()
    ending.wait(rnd.uniform(0, LONGEST_S))
    node.start()
    (node.directory / "dump.rdb").unlink(missing_ok=True)


def freeze_node(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """It comes back with all its data, and with what was sent to it meanwhile."""
    _freeze([_node(stack, rnd)], rnd.uniform(0.05, LONGEST_S), ending)


def flap_node(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    node = _node(stack, rnd)
    for _ in range(rnd.randrange(3, 10)):
        _freeze([node], rnd.uniform(0.05, 0.6), ending)
        ending.wait(rnd.uniform(0.05, 0.6))


def freeze_all_nodes(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    _freeze(list(stack.nodes.values()), rnd.uniform(0.2, LONGEST_S), ending)


def cut_one_logic_node_from_a_node(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """The others, and the center, reach it."""
    logic_node, way = rnd.choice(_as_api(stack).logic_nodes), rnd.choice(list(_as_api(stack).ways.values()))
    assert logic_node.pid is not None
    way.cut_for(logic_node.pid)
    ending.wait(rnd.uniform(0.2, LONGEST_S))
    way.open()


def lose_the_way_to_a_node(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """For everybody: connections stay and nothing arrives, or they are reset. What was sent arrives when the way is open again."""
    way = rnd.choice(list(_as_api(stack).ways.values()))
    way.hold() if rnd.random() < 0.5 else way.cut()
    ending.wait(rnd.uniform(0.1, LONGEST_S))
    way.open()


def two_failures_in_a_row(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """One node fails, and as soon as it is back the other one."""
    for node in rnd.sample(list(stack.nodes.values()), 2):
        _freeze([node], rnd.uniform(0.5, LONGEST_S / 2), ending)


def freeze_logic_node(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """What it was about to do on a cache node it does when it thaws."""
    logic_node = rnd.choice(_as_api(stack).logic_nodes)
    logic_node.freeze()
    ending.wait(rnd.uniform(0.1, LONGEST_S))
    logic_node.thaw()


def freeze_broker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    _freeze([stack.broker], rnd.uniform(0.2, LONGEST_S), ending)


def kill_broker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    stack.broker.kill()
    ending.wait(rnd.uniform(0, 3.0))
    stack.broker.start()


def kill_center(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    kill_process(_as_api(stack).center, rnd, ending)


def freeze_center(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    freeze_process(_as_api(stack).center, rnd, ending)


def remove_and_add_node(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """As operators do in the console (see the registry): drained, removed when everybody knows, added again with what it holds."""
    name = rnd.choice(list(stack.nodes))
    _set_state(stack, name, "draining")
    if not ending.wait(rnd.uniform(0, 4.0)) and rnd.random() < 0.6 and not ending.wait(SETTLED_AFTER_S):
        _set_state(stack, name, "removed")
        ending.wait(rnd.uniform(0, 3.0))
    _set_state(stack, name, "joining")


def _set_state(stack: PrivateStack, name: str, state: str) -> None:
    change = "state = %s, changed_at = UNIX_TIMESTAMP()"
    if state == "joining":
        change += ", admitted_run = ''"
    stack.master.execute(f"UPDATE cache_node SET {change} WHERE name = %s", "tasksys", (state, name))


def _node(stack: PrivateStack, rnd: random.Random) -> RedisServer:
    return rnd.choice(list(stack.nodes.values()))


def _freeze(servers: list[RedisServer], seconds: float, ending: threading.Event) -> None:
    with contextlib.ExitStack() as thawed:
        for server in servers:
            thawed.enter_context(_frozen(server))
        ending.wait(seconds)


@contextlib.contextmanager
def _frozen(server: RedisServer) -> Iterator[None]:
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


def _as_api(stack: PrivateStack) -> ApiStack:
    assert isinstance(stack, ApiStack), "these faults need logic nodes"
    return stack


OUT_OF_REACH: tuple[Fault, ...] = (
    kill_node,
    freeze_node,
    flap_node,
    freeze_all_nodes,
    cut_one_logic_node_from_a_node,
    cut_one_logic_node_from_a_node,
    lose_the_way_to_a_node,
    two_failures_in_a_row,
)
WITHIN_REACH: tuple[Fault, ...] = (
    freeze_logic_node,
    freeze_broker,
    kill_broker,
    kill_center,
    freeze_center,
    kill_front,
    term_front,
    kill_master_worker,
    delay_replica,
    remove_and_add_node,
)
CACHE: tuple[Fault, ...] = (*OUT_OF_REACH, *WITHIN_REACH)
CACHE_FAULTS: dict[str, tuple[Fault, ...]] = {"cache": CACHE, "around-the-cache": WITHIN_REACH}
"""The second: all cache nodes stay within everybody's reach, so nothing is excused."""
