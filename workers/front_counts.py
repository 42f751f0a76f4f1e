"""What a front counts: cumulative since its run began, except latencies, which cover about the last ten seconds.

Pure: moments are passed in.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from workers.protocol import ERRORS, REASONS

BOUNDS_MS = tuple(0.05 * 1.25**step for step in range(60))
"""Upper bounds of the latency buckets: 50 µs to about 26 s, each a quarter wider than the one before."""
WINDOW_S = 5.0


class Latencies:
    """A histogram of the last one to two windows of WINDOW_S."""

    def __init__(self) -> None:
        self._now = [0] * (len(BOUNDS_MS) + 1)
        self._before = [0] * (len(BOUNDS_MS) + 1)
        self._turned_at = 0.0

    def add(self, ms: float) -> None:
        self._now[bisect_left(BOUNDS_MS, ms)] += 1

    def turn(self, now: float) -> None:
        """Let the older window go when its time is over."""
        if now - self._turned_at >= WINDOW_S:
            self._before, self._now = self._now, [0] * (len(BOUNDS_MS) + 1)
            self._turned_at = now

    def quantile_ms(self, share: float) -> float | None:
        """The bucket bound below which `share` of the requests lie; None without requests."""
        counts = [a + b for a, b in zip(self._before, self._now, strict=True)]
        total = sum(counts)
        if not total:
            return None
        left = share * total
        for place, count in enumerate(counts):
            left -= count
            if left <= 0:
                return round(BOUNDS_MS[min(place, len(BOUNDS_MS) - 1)], 3)
        return round(BOUNDS_MS[-1], 3)


class FrontCounts:
    def __init__(self, replica_names: list[str]) -> None:
        self.reads_by_server: Counter[str] = Counter({"master": 0, **dict.fromkeys(replica_names, 0)})
        self.reads_by_reason: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self.reads_safe = 0
        self.writes: Counter[str] = Counter(total=0, applied=0, repeated=0, refused=0, batches=0)
        self.commit_ms_total = 0.0
        self.clears: Counter[str] = Counter(total=0, applied=0, repeated=0)
        self.errors: Counter[str] = Counter({code: 0 for code in ERRORS if code != "UNREACHABLE"})
        self.connections_accepted = 0
        self.connections_cut = 0
        self.read_latency = Latencies()
        self.write_latency = Latencies()

    def as_json(self) -> dict[str, object]:
        return {
            "reads": {
                "total": sum(self.reads_by_server.values()),
                "by_server": dict(self.reads_by_server),
                "by_reason": dict(self.reads_by_reason),
                "safe": self.reads_safe,
            },
            "writes": {**self.writes, "commit_ms_total": round(self.commit_ms_total, 3)},
            "clears": dict(self.clears),
            "latency_ms": {
                "read": {"p50": self.read_latency.quantile_ms(0.5), "p99": self.read_latency.quantile_ms(0.99)},
                "write": {"p50": self.write_latency.quantile_ms(0.5), "p99": self.write_latency.quantile_ms(0.99)},
            },
            "errors": dict(self.errors),
        }
