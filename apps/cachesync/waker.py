"""Wakes the cache sync center the moment a write has left purge rows: asks each DBSvr's front, which answers when there are more.

It runs in the Celery worker of queue `purge`, and works without the broker: rows are worked off in threads of its own. What it misses (a
front that does not answer, another worker's nodes) the sweep finds a second later; the table is the truth.
"""

from __future__ import annotations

import concurrent.futures
import logging
import threading
import time

from django.db import DatabaseError, close_old_connections

from apps.cachesync import purge_rows
from apps.cachesync.center import Center
from apps.dbsvr.connections import Connections
from tasksys_site.configuration import Instance
from workers.protocol import DBSvrError

log = logging.getLogger(__name__)

BLOCK_S = 5.0
PAUSE_S = 0.05
"""Looks come no closer to each other: what was committed meanwhile goes with the next."""
AGAIN_AFTER_S = 0.5
THREADS = 8


class Waker:
    def __init__(self, center: Center, instances: dict[str, Instance]) -> None:
        self._center = center
        self._instances = instances
        self._look_now = threading.Event()
        self._pool = concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="purge")

    def start(self) -> None:
        """Threads that end with the process: nothing is lost with them."""
        for name, instance in self._instances.items():
            threading.Thread(target=self._listen, args=(name, instance), name=f"purges of {name}", daemon=True).start()
        threading.Thread(target=self._look, name="purge waker", daemon=True).start()

    def _listen(self, name: str, instance: Instance) -> None:
        connections, seen, is_away = Connections(instance, max_connections=1), -1, False
        while True:
            try:
                number = connections.ask("TASK.PURGES", max(seen, 0), "BLOCK", int(1000 * BLOCK_S), until=time.monotonic() + 2 * BLOCK_S)
            except DBSvrError as error:
                if not is_away:
                    log.warning("a DBSvr does not say when there is something to purge; the sweep finds it: %s", error)
                seen, is_away = -1, True
                threading.Event().wait(AGAIN_AFTER_S)
                continue
            is_away = False
            if number != seen:
                seen = int(number)
                self._look_now.set()

    def _look(self) -> None:
        while True:
            self._look_now.wait()
            self._look_now.clear()
            try:
                for node in purge_rows.unfinished():
                    self._pool.submit(self._work, node)
            except DatabaseError as error:
                log.warning("purges cannot be looked for; the sweep tries again: %s", error)
                close_old_connections()
            threading.Event().wait(PAUSE_S)

    def _work(self, node: str) -> None:
        try:
            if node == purge_rows.EVERY_NODE:
                self._center.purge_everywhere()
            else:
                self._center.purge_node(node)
        except DatabaseError as error:
            log.warning("a node's purges wait for the sweep: %s", error)
        finally:
            close_old_connections()
