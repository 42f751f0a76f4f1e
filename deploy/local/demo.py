"""`make demo`: a minute of bounded load, with the replica stalled in the middle. Something to watch in the console.

A few connections, shared out among the DBSvrs, ask nine times and write once, over and over, at a fixed rate, each for users that its DBSvr
owns; the replica's SQL thread is stopped for a while and started again. Every read is compared with what was acknowledged before it was
sent, so the last line is a measurement. Beside it a few logic servers call the API, see `demo_callers`.
"""

from __future__ import annotations

import collections
import json
import random
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import redis

from deploy.local.answers import stats_of
from deploy.local.demo_callers import CALLERS, CALLS_PER_S, Callers
from deploy.local.demo_users import DEMO_USERS, DemoTask, change_of, demo_tasks, uid_of
from deploy.local.front_client import front_client
from deploy.local.mariadb import MariaDBServer
from deploy.local.pieces import LocalStack
from deploy.local.supervision import Supervisord
from tasksys_site.configuration import DBSvr, Instance
from workers.protocol import decode_snapshot, decode_write_answer, encode

CONNECTIONS = 4
REQUESTS_PER_S = 1_500
IN_ONE_PIPELINE = 10
"""Nine reads and one write."""


class Load:
    """Reads and writes at a fixed rate until stopped; counts what it saw."""

    def __init__(self, dbsvr: DBSvr, tasks: Sequence[DemoTask]) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.last_error = ""
        self._tasks = tasks
        self._acknowledged: dict[int, tuple[int, int]] = {}
        """uid -> the newest (generation, version) that anybody has read or been acknowledged."""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        users: dict[str, list[int]] = {}
        for number in range(DEMO_USERS):
            users.setdefault(dbsvr.home_of(uid_of(number)), []).append(uid_of(number))
        homes = sorted(users)
        self._threads = [
            threading.Thread(target=self._ask, args=(dbsvr.instances[home], users[home]), daemon=True)
            for home in (homes[number % len(homes)] for number in range(CONNECTIONS))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(10)

    def _ask(self, instance: Instance, users: Sequence[int]) -> None:
        pause_s = CONNECTIONS * IN_ONE_PIPELINE / REQUESTS_PER_S
        client = front_client(instance)
        next_at = time.monotonic()
        while not self._stop.is_set():
            try:
                self._one_round(client, users)
            except redis.RedisError as error:
                self._note(error)
                self._stop.wait(0.5)
            next_at = max(next_at + pause_s, time.monotonic() - 1)  # after a hiccup no storm to catch up
            self._stop.wait(max(0.0, next_at - time.monotonic()))
        client.close()

    def _one_round(self, client: redis.Redis, users: Sequence[int]) -> None:
        # Some users come far more often than others, as in life.
        uids = [users[int(len(users) * random.random() ** 3)] for _ in range(IN_ONE_PIPELINE)]
        written, read = uids[0], uids[1:]
        change = change_of(random.choice(self._tasks), 1)
        pipeline = client.pipeline(transaction=False)
        with self._lock:
            before = {uid: self._acknowledged.get(uid, (0, 0)) for uid in read}
        for uid in read:
            pipeline.execute_command("TASK.GET", uid, "node-1")
        pipeline.execute_command("TASK.FINISH", written, "node-1", f"demo-{uuid.uuid4()}", encode([change]).decode())
        answers = pipeline.execute(raise_on_error=False)
        with self._lock:
            for uid, answer in zip([*read, written], answers, strict=True):
                self._look_at(uid, answer, before.get(uid), is_read=answer is not answers[-1])

    def _look_at(self, uid: int, answer: Any, before: tuple[int, int] | None, is_read: bool) -> None:
        if isinstance(answer, Exception):
            self._note(answer)
            return
        snapshot = decode_snapshot(answer) if is_read else decode_write_answer(answer).snapshot
        version = (snapshot.generation, snapshot.version)
        self.counts["reads" if is_read else "writes"] += 1
        if is_read and before is not None and version < before:
            self.counts["stale"] += 1
        self._acknowledged[uid] = max(version, self._acknowledged.get(uid, version))

    def _note(self, error: Exception) -> None:
        self.counts["errors"] += 1
        self.last_error = str(error)


def demonstrate(stack: LocalStack, supervisord: Supervisord, seconds: int, stall_s: int) -> int:
    """Run it; the exit code says whether every read was as new as promised."""
    dbsvr = stack.configuration.dbsvr
    if supervisord.pid is None or None in all_stats(dbsvr).values():
        print("The local stack does not run. Start it first: make run, or make up.")
        return 3
    tasks = demo_tasks()
    if not tasks:
        print("There is no task that can be done now; add one in the admin.")
        return 1
    name, replica = next(iter(stack.replicas.items()))
    stall_at = max(0, (seconds - stall_s) // 2)
    print(f"{seconds} s of load: about {REQUESTS_PER_S:,} requests/s, 90 % reads, on {CONNECTIONS} connections to the DBSvrs;")
    print(f"and {CALLERS} logic servers with about {CALLS_PER_S} calls/s through the API.")
    print(f"From second {stall_at} to {stall_at + stall_s} the replica {name} stands still.\n")
    print(f"Watch    {stack.web_address}/console/")
    if "points" in stack.references:
        print(f"points   {stack.web_address}/admin/tasks/points/ shows how what users earn reaches the reference points system")
    print("before   nearly all reads are served by the replica; its lag is milliseconds")
    print("stalled  lag rises; users who wrote since are read from the master, so nobody reads anything old")
    print("after    the replica catches up and takes its reads back\n")
    load = Load(dbsvr, tasks)
    callers = Callers(stack.web_address, stack.demo_key_file.read_text(encoding="utf-8").strip()) if stack.demo_key_file.is_file() else None
    began = all_stats(dbsvr)
    load.start()
    if callers is not None:
        callers.start()
    try:
        _watch(dbsvr, load, name, replica, seconds, range(stall_at, stall_at + stall_s))
    finally:
        replica.start_sql_thread()
        load.stop()
        if callers is not None:
            callers.stop()
            print(f"\n{callers.summary()}")
            load.counts["stale"] += callers.counts["stale"]
    return _judge(load, began, all_stats(dbsvr))


def all_stats(dbsvr: DBSvr) -> dict[str, Any]:
    """TASK.STATS of every DBSvr; None for one that does not answer."""
    return {name: stats_of(instance) for name, instance in dbsvr.instances.items()}


def _watch(dbsvr: DBSvr, load: Load, name: str, replica: MariaDBServer, seconds: int, stalled: range) -> None:
    print(f"{'second':>7} {'reads/s':>9} {'by replica':>11} {'writes/s':>9}   {name}")
    began = time.monotonic()
    earlier = all_stats(dbsvr)
    for second in range(1, seconds + 1):
        if second - 1 == stalled.start:
            replica.stop_sql_thread()
            print(f"        --- the replica {name} is stalled now")
        if second - 1 == stalled.stop:
            replica.start_sql_thread()
            print(f"        --- the replica {name} goes on")
        time.sleep(max(0.0, began + second - time.monotonic()))
        now = all_stats(dbsvr)
        print(_line(second, earlier, now, name), flush=True)
        earlier = now
    if load.last_error:
        print(f"        last error: {load.last_error}")


def _line(second: int, earlier: Mapping[str, Any], now: Mapping[str, Any], name: str) -> str:
    silent = [instance for instance in now if now[instance] is None or earlier[instance] is None]
    answering = [instance for instance in now if instance not in silent]
    if not answering:
        return f"{second:>7} no DBSvr answers"
    by_master = reads = writes = 0.0
    for instance in answering:
        before, after = earlier[instance], now[instance]
        passed = after["now"] - before["now"] or 1.0
        reads += (after["reads"]["total"] - before["reads"]["total"]) / passed
        by_master += (after["reads"]["by_server"].get("master", 0) - before["reads"]["by_server"].get("master", 0)) / passed
        writes += (after["writes"]["total"] - before["writes"]["total"]) / passed
    views = {instance: now[instance]["replicas"][name] for instance in answering}
    lags = [view["lag_ms"] for view in views.values()]
    lag = "lag unknown" if None in lags else f"lag {max(lags) / 1000:.1f} s"
    share = f"{100 * (reads - by_master) / reads:.0f} %" if reads else "–"
    states = ", ".join(sorted({view["state"].replace("_", " ") for view in views.values()}))
    without = "".join(f"; DBSvr {instance} does not answer" for instance in silent)
    return f"{second:>7} {reads:>9,.0f} {share:>11} {writes:>9,.0f}   {states}, {lag}{without}"


def _judge(load: Load, began: Mapping[str, Any], ended: Mapping[str, Any]) -> int:
    counts = load.counts
    reasons: collections.Counter[str] = collections.Counter()
    for instance, before in began.items():
        after = ended[instance]
        if before and after and before["run_id"] == after["run_id"]:
            reasons.update({it: count - before["reads"]["by_reason"].get(it, 0) for it, count in after["reads"]["by_reason"].items()})
    print(f"\nReads that went to the master: {reasons.total():,}, because of {json.dumps(+reasons)}")
    print(f"{counts['reads']:,} reads, {counts['writes']:,} writes, {counts['errors']:,} errors.")
    print(f"Reads that were older than promised: {counts['stale']:,}.")
    return 1 if counts["stale"] else 0
