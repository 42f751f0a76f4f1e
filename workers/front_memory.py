"""What outlives a front, in files: how far the master had come, and the acknowledged writes that a database has lost.

Leans on `watermark` and `lost_writes` for what stands in them. A file that cannot be written harms nobody's request.
"""

from __future__ import annotations

import logging

from tasksys_site.configuration import Configuration
from workers.lost_writes import AcknowledgedWrite, append_lost
from workers.servers import Servers
from workers.watermark import Watermark, load_watermark, save_watermark, watermark_path

KEEP_EVERY_S = 1.0


class FrontMemory:
    def __init__(self, configuration: Configuration, instance: str, log: logging.Logger) -> None:
        self._path = watermark_path(configuration, instance)
        self._lost_path = self._path.with_name(f"lost-writes-{instance}.jsonl")
        self._log = log
        self._kept_at = 0.0
        self._complaint = ""
        self.watermark, fault = load_watermark(self._path)
        if fault:
            log.error('the watermark cannot be read: a master that went back meanwhile may not be noticed why="%s"', fault)

    def keep(self, servers: Servers, possessed: dict[str, int], now: float) -> None:
        """About once a second, and only when something has changed."""
        if now - self._kept_at < KEEP_EVERY_S or not servers.base:
            return
        self._kept_at = now
        kept = Watermark(servers.known, servers.forks.as_dict(), servers.past_fork, dict(possessed))
        if kept == self.watermark:
            return
        complaint = ""
        try:
            save_watermark(self._path, kept)
            self.watermark = kept
        except OSError as error:
            complaint = str(error)
        if complaint and complaint != self._complaint:
            self._log.error('cannot keep the watermark why="%s"', complaint)
        self._complaint = complaint

    def keep_lost(self, generation: int, writes: list[AcknowledgedWrite]) -> str:
        try:
            append_lost(self._lost_path, generation, writes)
        except OSError as error:
            self._log.error('cannot write the lost writes file=%s why="%s"', self._lost_path, error)
            for write in writes:
                self._log.error("an acknowledged write is lost uid=%d event_id=%s", write.uid, write.event_id)
            return ""
        return str(self._lost_path)
