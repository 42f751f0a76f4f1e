"""What a front counts: cumulative since its run began, except the percentiles of latencies, which cover about the last ten seconds.

Pure: moments are passed in. TASK.STATS shows all of it, and the metrics are made of the same figures.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from workers.histogram import Histogram, HistogramJson, quantile, sum_of
from workers.protocol import ERRORS, REASONS

if TYPE_CHECKING:
    from workers.requests import Request

BOUNDS_MS = tuple(0.05 * 1.25**step for step in range(60))
"""Upper bounds of the latency buckets: 50 µs to about 26 s, each a quarter wider than the one before."""
SHOW_EVERY = 4
"""Of these bounds every fourth is shown: 0.1 ms to 26 s."""
WINDOW_S = 5.0
BATCH_BOUNDS = tuple(2**power for power in range(11))
MARGIN_BITS = 20
"""A margin of n ticks has its bucket by its bit length: 0, 1, up to 3, up to 7, … up to 2^20 - 1, more."""
SHOWN_KEPT = 4_096


class Latencies(Histogram):
    """A histogram that also knows what was added within the last one to two windows of WINDOW_S."""

    __slots__ = ("_earlier", "_latest", "_turned_at")

    def __init__(self) -> None:
        super().__init__(BOUNDS_MS)
        self._earlier = self._latest = self.counts.copy()
        self._turned_at = 0.0

    def turn(self, now: float) -> None:
        """Let the older window go when its time is over."""
        if now - self._turned_at >= WINDOW_S:
            self._earlier, self._latest = self._latest, self.counts.copy()
            self._turned_at = now

    def recent(self) -> list[int]:
        return [count - before for count, before in zip(self.counts, self._earlier, strict=True)]


class FirstShown:
    """When a replica was first known to show a tick, for the newest SHOWN_KEPT advances within one generation."""

    def __init__(self) -> None:
        self._generation = 0
        self._ticks: list[int] = []
        self._moments: list[float] = []

    def note(self, generation: int, tick: int, now: float) -> None:
        """Some replica shows `tick`, and so everything up to it."""
        if generation != self._generation:
            self._generation = generation
            self._ticks.clear()
            self._moments.clear()
        if self._ticks and tick <= self._ticks[-1]:
            return
        self._ticks.append(tick)
        self._moments.append(now)
        if len(self._ticks) > SHOWN_KEPT:
            del self._ticks[: SHOWN_KEPT // 2], self._moments[: SHOWN_KEPT // 2]

    def at(self, tick: int) -> float | None:
        """The moment, not before the oldest that is kept; None for a tick that no replica has shown."""
        place = bisect_left(self._ticks, tick)
        return self._moments[place] if place < len(self._moments) else None


class FrontCounts:
    def __init__(self, replica_names: list[str]) -> None:
        self.reads_by_server: Counter[str] = Counter({"master": 0, **dict.fromkeys(replica_names, 0)})
        self.reads_by_reason: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self.reads_safe = 0
        self.reads_short = 0
        """Replica reads below the user's stamp. The worker proves each read, so it stays 0, or the promise is broken."""
        self.shown = FirstShown()
        self._margins = [0] * (MARGIN_BITS + 2)
        self._margin_sum = 0
        # Replica reads whose stamp was shown when they came, and those that had to wait for replication.
        self._at_once, self._waited = Latencies(), Latencies()
        self._replication_part, self._worker_part = Histogram(BOUNDS_MS), Histogram(BOUNDS_MS)
        self.master_latency = Latencies()
        self.write_latency = Latencies()
        self.read_batches = {name: Histogram(BATCH_BOUNDS) for name in self.reads_by_server}
        self.write_batches = Histogram(BATCH_BOUNDS)
        self.writes: Counter[str] = Counter(total=0, applied=0, repeated=0, refused=0, batches=0, grants=0, capped=0)
        self.commit_ms_total = 0.0
        self.clears: Counter[str] = Counter(total=0, applied=0, repeated=0)
        self.errors: Counter[str] = Counter({code: 0 for code in ERRORS if code != "UNREACHABLE"})
        self.deadline_misses: Counter[str] = Counter(read=0, finish=0, clear=0)
        self.connections_accepted = 0
        self.connections_cut = 0
        self.connections_refused = 0
        self.switches: Counter[str] = Counter(dict.fromkeys(self.reads_by_server, 0))
        """Changes of the endpoint that a server is reached by, after its first."""
        self.generation_rises: Counter[str] = Counter(promotion=0, restore=0, adoption=0)
        self.lost_writes = 0
        """Acknowledged writes that a promotion or a restore has undone."""

    def note_master_reads(self, requests: list[Request], now: float) -> None:
        """The master has answered these, in one batch."""
        add = self.master_latency.add
        for request in requests:
            users = len(request.uids)
            self.reads_by_reason[request.reason or "spill"] += users
            add((now - request.arrived) * 1000, users)

    def note_replica_reads(self, requests: list[Request], tick: int | None, now: float) -> None:
        """A replica that showed `tick` has answered these; None: a tick of another generation. Called for every such batch: cheap."""
        at_once, margins = self._at_once.add, self._margins
        for request in requests:
            users = len(request.uids)
            if tick is not None:
                margin = tick - request.stamp
                if margin >= 0:
                    bits = margin.bit_length()
                    margins[bits if bits <= MARGIN_BITS else -1] += users
                    self._margin_sum += margin * users
                else:
                    self.reads_short += users
            ms = (now - request.arrived) * 1000
            if request.waits_for_replication:
                shown_at = self.shown.at(request.stamp)
                worker_ms = 0.0 if shown_at is None else min(ms, (now - shown_at) * 1000)
                self._replication_part.add(ms - worker_ms, users)
                self._worker_part.add(worker_ms, users)
                self._waited.add(ms, users)
            else:
                at_once(ms, users)

    def turn(self, now: float) -> None:
        for latencies in (self._at_once, self._waited, self.master_latency, self.write_latency):
            latencies.turn(now)

    def as_json(self) -> dict[str, object]:
        return {
            "reads": {
                "total": sum(self.reads_by_server.values()),
                "by_server": dict(self.reads_by_server),
                "by_reason": dict(self.reads_by_reason),
                "safe": self.reads_safe,
                "short": self.reads_short,
                "margin_ticks": self._margins_as_json(),
                "wait_ms": self._waits_as_json(),
                "batch_sizes": {name: batches.as_json() for name, batches in self.read_batches.items()},
            },
            "writes": {**self.writes, "commit_ms_total": round(self.commit_ms_total, 3), "batch_sizes": self.write_batches.as_json()},
            "clears": dict(self.clears),
            "latency_ms": {
                "read": _latency_as_json(self.master_latency, self._at_once, self._waited),
                "write": _latency_as_json(self.write_latency),
            },
            "errors": dict(self.errors),
            "deadline_misses": dict(self.deadline_misses),
            "switches": dict(self.switches),
            "generation_rises": dict(self.generation_rises),
            "lost_writes": self.lost_writes,
        }

    def _margins_as_json(self) -> HistogramJson:
        bounds = [float(2**bits - 1) for bits in range(MARGIN_BITS + 1)]
        return {"bounds": bounds, "counts": list(self._margins), "sum": self._margin_sum}

    def _waits_as_json(self) -> dict[str, HistogramJson]:
        """Of all replica reads. One whose stamp was shown when it came has waited for a worker alone."""
        replication = self._replication_part.as_json(SHOW_EVERY)
        replication["counts"][0] += sum(self._at_once.counts)
        return {"replication": replication, "worker": sum_of(self._at_once, self._worker_part).as_json(SHOW_EVERY)}


def _latency_as_json(*latencies: Latencies) -> dict[str, object]:
    recent = [sum(counts) for counts in zip(*(each.recent() for each in latencies), strict=True)]
    return {
        "p50": quantile(recent, BOUNDS_MS, 0.5),
        "p99": quantile(recent, BOUNDS_MS, 0.99),
        "all": sum_of(*latencies).as_json(SHOW_EVERY),
    }
