"""What goes wrong with one of two DBSvrs, or between them. The clients see both, and go from one to the other."""

from __future__ import annotations

import contextlib
import random
import threading

import redis

from deploy.local.private_stack import PrivateDBSvr, PrivateStack
from tests.consistency.faults import Fault, delay_replica, freeze_process, kill_process, stop_sql_thread, supersede_worker, term_process
from tests.stack.gateway import Gateway
from tests.stack.pair_stack import PairStack

LONGEST_S = 6.0
"""Longer than a lease, the stillness before a takeover, and the life of a frozen transaction together."""


def kill_dbsvr(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    dbsvr = _one(stack, rnd)
    for process in dbsvr.processes:
        process.kill()
    ending.wait(rnd.uniform(0, LONGEST_S))
    for process in dbsvr.processes:
        process.start()


def freeze_dbsvr(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    dbsvr = _one(stack, rnd)
    for process in dbsvr.processes:
        process.freeze()
    ending.wait(rnd.uniform(0.2, LONGEST_S))
    for process in rnd.sample(dbsvr.processes, len(dbsvr.processes)):
        process.thaw()


def restart_both(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    for process in stack.dbsvr_processes:
        process.kill()
    ending.wait(rnd.uniform(0, 1.0))
    for process in rnd.sample(stack.dbsvr_processes, len(stack.dbsvr_processes)):
        process.start()


def kill_either_front(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    kill_process(_one(stack, rnd).front, rnd, ending)


def term_either_front(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    term_process(_one(stack, rnd).front)


def freeze_either_front(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    freeze_process(_one(stack, rnd).front, rnd, ending)


def kill_either_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    kill_process(_one(stack, rnd).master_worker, rnd, ending)


def freeze_either_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """Its front lives on, and its lease runs out."""
    worker = _one(stack, rnd).master_worker
    worker.freeze()
    ending.wait(rnd.uniform(0.2, LONGEST_S))
    worker.thaw()


def supersede_either_master_worker(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    supersede_worker(stack, _one(stack, rnd), rnd, ending)


def cut_link(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """Neither reaches the other, or one does not; all else is well."""
    links = list(_as_on_two_hosts(stack).links.values())
    _trouble(links if rnd.random() < 0.5 else [rnd.choice(links)], rnd, ending)


def cut_from_the_master(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """One of them does not see the master; the other does."""
    _trouble([rnd.choice(list(_as_on_two_hosts(stack).masters.values()))], rnd, ending)


def give_segment(stack: PrivateStack, rnd: random.Random, ending: threading.Event) -> None:
    """An operator moves a segment from its owner to the other."""
    dbsvr = _one(stack, rnd)
    (other,) = (name for name in stack.dbsvrs if name != dbsvr.name)
    segments = (stack.stats(dbsvr.name) or {}).get("segments", {})
    owned = [name for name, segment in segments.items() if segment["owner"] == dbsvr.name]  # type: ignore[attr-defined]
    if owned:
        with contextlib.suppress(redis.RedisError), stack.client(10.0, dbsvr.name) as client:
            client.execute_command("TASK.GIVE", rnd.choice(owned), other)


def _one(stack: PrivateStack, rnd: random.Random) -> PrivateDBSvr:
    return rnd.choice(list(stack.dbsvrs.values()))


def _as_on_two_hosts(stack: PrivateStack) -> PairStack:
    assert isinstance(stack, PairStack), "these faults need gateways between the two"
    return stack


def _trouble(ways: list[Gateway], rnd: random.Random, ending: threading.Event) -> None:
    """Connections are reset, or nothing arrives for a while."""
    is_cut = rnd.random() < 0.5
    for way in ways:
        way.cut() if is_cut else way.hold()
    ending.wait(rnd.uniform(0.2, LONGEST_S))
    for way in ways:
        way.open()


PAIR: tuple[Fault, ...] = (
    kill_dbsvr,
    kill_dbsvr,
    freeze_dbsvr,
    freeze_dbsvr,
    restart_both,
    kill_either_front,
    term_either_front,
    freeze_either_front,
    kill_either_master_worker,
    freeze_either_master_worker,
    supersede_either_master_worker,
    cut_link,
    cut_from_the_master,
    give_segment,
    give_segment,
    delay_replica,
    delay_replica,
    stop_sql_thread,
)
