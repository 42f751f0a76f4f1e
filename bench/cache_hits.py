"""A copy on a cache node: TaskInterface beside a bare GET of as many bytes from the same node, both by redis-py."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator

from bench.direct import FIRST_UID
from bench.measures import Measure
from bench.progress import say
from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import wait_until
from tasksys_site.configuration import FILE_VARIABLE

CALLS = 2_000
ROUNDS = 7


def measure(stack: PrivateStack) -> Iterator[Measure]:
    say("cache: hits")
    stack.start_redis()
    stack.manage("migrate", "--database=default", "--verbosity=0")  # which cache nodes there are stands in a table
    # No cache sync center runs here, and no copy lies anywhere yet: the purges that loading the users has asked for are done.
    stack.master.execute("DELETE FROM cache_purge", "tasksys_user")
    # Django reads its configuration, and with it the cache nodes' addresses, when it is imported.
    os.environ |= {FILE_VARIABLE: str(stack.configuration_file), "DJANGO_SETTINGS_MODULE": "tasksys_site.settings"}
    import django

    django.setup()
    from apps.cachesync.copies import encode_copy
    from apps.cachesync.task_interface import TaskInterface
    from apps.dbsvr.db_interface import DbInterface

    configuration = stack.configuration()
    cache = configuration.cache.model_copy(update={"copy_ttl_ms": 600_000})  # no miss while we measure hits
    tasks = TaskInterface(DbInterface(configuration.dbsvr, deadline_ms=5_000), cache, 5_000)
    wait_until(lambda: tasks.get(FIRST_UID).served_by in stack.nodes, 10)  # the nodes are known after the first look
    hit = tasks.get(FIRST_UID)
    if hit.served_by not in stack.nodes:
        raise RuntimeError(f"the second read came from {hit.served_by}, not from a cache node: {dict(tasks._nodes.why_not())}")
    with stack.nodes[hit.served_by].client() as bare:
        bare.set("bench", encode_copy(hit))
        rounds = [(_per_s(lambda: tasks.get(FIRST_UID)), _per_s(lambda: bare.get("bench"))) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
    tasks.close()
    yield Measure("TaskInterface.get of a copy, one thread", ours, "/s", [theirs], "bare redis-py GET, in turn with it")


def _per_s(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    return CALLS / (time.perf_counter() - began)
