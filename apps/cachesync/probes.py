"""The center asks every cache node how it is, once a second, and writes it down for all: so processes agree soon on who is out.

With hysteresis: a node counts as silent after a few failures in a row, and as answering after a few answers. Correctness does not
rest on it: who meets a failing node himself leaves it alone at once.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping
from typing import Any

from django.db import connection

from apps.cachesync.nodes import CacheNode, NodeUnavailable

CONTRADICTIONS = 3
"""Outcomes in a row until what counts changes."""


def probe(nodes: Mapping[str, CacheNode]) -> dict[str, str]:
    """Ask all at once and write down what was found; of each that answers the run of its server. Raises the database's errors."""
    if not nodes:
        return {}
    with concurrent.futures.ThreadPoolExecutor(len(nodes)) as threads:
        found = dict(zip(nodes, threads.map(_ask, nodes.values()), strict=True))
    with connection.cursor() as cursor:
        for name, (figures, error, _run) in found.items():
            answers = not error
            cursor.execute(
                "INSERT INTO cache_node_now (name, answers, streak, since, probed_at, memory_bytes, max_memory_bytes, copies, error)"
                " VALUES (%s, %s, 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP(), %s, %s, %s, %s)"
                " ON DUPLICATE KEY UPDATE streak = IF(answers = VALUES(answers), 0, streak + 1),"
                " since = IF(streak >= %s, VALUES(since), since), answers = IF(streak >= %s, VALUES(answers), answers),"
                " streak = IF(streak >= %s, 0, streak), probed_at = VALUES(probed_at), memory_bytes = VALUES(memory_bytes),"
                " max_memory_bytes = VALUES(max_memory_bytes), copies = VALUES(copies), error = VALUES(error)",
                [name, answers, *figures, error, CONTRADICTIONS, CONTRADICTIONS, CONTRADICTIONS],
            )
        marks = ",".join(["%s"] * len(nodes))
        cursor.execute(f"DELETE FROM cache_node_now WHERE name NOT IN ({marks})", list(nodes))
    return {name: run for name, (_figures, _error, run) in found.items() if run}


def _ask(node: CacheNode) -> tuple[tuple[Any, Any, Any], str, str]:
    try:
        found = node.describe()
    except NodeUnavailable as error:
        return (None, None, None), str(error)[:200], ""
    return (found.get("used_memory"), found.get("maxmemory"), found["keys"]), "", str(found["run_id"])
