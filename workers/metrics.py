"""The front's figures for Prometheus: the values of TASK.STATS under Prometheus' names and in its units.

Leans on prometheus_client for the text format. Names, units and labels are for good: alerts are built on them, and
docs/operations.md lists them. What is unknown has no sample; it is never zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from workers.histogram import HistogramJson

PREFIX = "tasksys_dbsvr_"
MASTER_STATES = ("up", "starting", "down")
REPLICA_STATES = ("serving", "catching_up", "stopped", "refused", "held", "silent", "down")
PER_MS = 0.001

Labelled = Mapping[tuple[str, ...], float | None]
"""Values by their labels; None has no sample."""


class Exposition:
    """Renders what `stats` says at the moment in Prometheus' text format."""

    def __init__(self, stats: Callable[[], dict[str, Any]]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(FrontCollector(stats))
        ProcessCollector(registry=self._registry)

    def render(self) -> bytes:
        return generate_latest(self._registry)


class FrontCollector(Collector):
    def __init__(self, stats: Callable[[], dict[str, Any]]) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        stats = self._stats()
        yield _info(stats)
        yield from _ticks(stats)
        yield from _servers(stats)
        yield from _reads(stats)
        yield from _writes(stats)
        yield from _queues(stats)
        yield from _troubles(stats)
        yield from _users(stats)
        yield from _pair(stats)
        yield from _config(stats)


def _info(stats: dict[str, Any]) -> Metric:
    info = InfoMetricFamily(PREFIX + "front", "Which DBSvr, and which run of its front")
    info.add_metric([], {"instance": stats["instance"], "run_id": str(stats["run_id"])})
    return info


def _ticks(stats: dict[str, Any]) -> Iterator[Metric]:
    yield _gauge("start_time_seconds", "When the front began, in seconds since 1970", {(): stats["started_at"]})
    yield _gauge("generation", "The master's timeline", {(): stats["generation"]})
    yield _gauge("tick", "The newest tick committed on the master", {(): stats["tick"]})
    yield _gauge("floor_tick", "The stamp assumed for users without a recorded one", {(): stats["floor"]})
    replicas = stats["replicas"].items()
    yield _gauge("replica_tick", "The update tick", _by({name: it["tick"] for name, it in replicas}), ["replica"])


def _servers(stats: dict[str, Any]) -> Iterator[Metric]:
    master: Labelled = {(state,): stats["master"]["state"] == state for state in MASTER_STATES}
    yield _gauge("master_state", "1 for the state that the master is in", master, ["state"])
    states: Labelled = {(name, state): it["state"] == state for name, it in stats["replicas"].items() for state in REPLICA_STATES}
    yield _gauge("replica_state", "1 for the state that the replica is in", states, ["replica", "state"])
    beat_age_ms, replicas = stats["master"]["beat_age_ms"], stats["replicas"].items()
    yield _gauge("master_commit_age_seconds", "Since the last commit that the front heard of", {(): _seconds(beat_age_ms)})
    lags = _by({name: _seconds(it["lag_ms"]) for name, it in replicas})
    yield _gauge("replica_lag_seconds", "How far the replica is behind; no sample while that is unknown", lags, ["replica"])
    ages = _by({name: _seconds(it["answer_age_ms"]) for name, it in replicas})
    yield _gauge("replica_answer_age_seconds", "Since the replica's worker last spoke", ages, ["replica"])
    yield _counter("switches", "Changes of the endpoint that a server is reached by", _by(stats["switches"]), ["server"])


def _reads(stats: dict[str, Any]) -> Iterator[Metric]:
    reads = stats["reads"]
    served: dict[tuple[str, ...], float | None] = {("master", reason): count for reason, count in reads["by_reason"].items()}
    served |= {(name, "none"): count for name, count in reads["by_server"].items() if name != "master"}
    yield _counter("reads", "Reads answered, by server and the reason for the master's", served, ["server", "reason"])
    yield _counter("reads_safe", "Reads whose stamp some replica had reached when they arrived", {(): reads["safe"]})
    yield _counter("reads_short", "Replica reads below the user's stamp: always 0, else the promise is broken", {(): reads["short"]})
    yield _histogram(
        "replica_read_margin_ticks", "The replica's tick minus the user's stamp, of each replica read", {(): reads["margin_ticks"]}
    )
    yield _histogram(
        "replica_read_wait_seconds",
        "Of each replica read: until a replica had reached its stamp, and from then to its answer",
        _by(reads["wait_ms"]),
        ["for"],
        PER_MS,
    )
    yield _histogram("read_batch_size", "Reads answered by one statement", _by(reads["batch_sizes"]), ["server"])
    latencies = _by({kind: it["all"] for kind, it in stats["latency_ms"].items()})
    yield _histogram("request_seconds", "From a request's arrival to its answer", latencies, ["kind"], PER_MS)


def _writes(stats: dict[str, Any]) -> Iterator[Metric]:
    for kind, what in (("writes", "Writes"), ("clears", "Deletions")):
        counts = stats[kind]
        yield _counter(kind + "_accepted", f"{what} accepted", {(): counts["total"]})
        outcomes: Labelled = {(name,): counts[name] for name in ("applied", "repeated", "refused") if name in counts}
        yield _counter(kind, f"{what} decided", outcomes, ["outcome"])
    yield _histogram("write_batch_size", "Writes committed by one transaction", {(): stats["writes"]["batch_sizes"]})
    yield _counter("commit_seconds", "Time in write transactions", {(): _seconds(stats["writes"]["commit_ms_total"])})
    yield _counter("grants", "Grants written, those taken back as well", {(): stats["writes"]["grants"]})
    yield _counter("capped_changes", "Changes that a reached cap has kept from completing or giving", {(): stats["writes"]["capped"]})
    yield _counter("lost_writes", "Acknowledged writes that a promotion or a restore has undone", {(): stats["lost_writes"]})


def _queues(stats: dict[str, Any]) -> Iterator[Metric]:
    queues = stats["queues"].items()
    yield _gauge("queue_depth", "Users whose tickets are in the kernel's queue", _by({name: it["depth"] for name, it in queues}), ["queue"])
    yield _gauge("queue_backlog", "Requests in line at the front", _by({name: it["backlog"] for name, it in queues}), ["queue"])
    ages = _by({name: _seconds(it["oldest_ms"]) for name, it in queues})
    yield _gauge("queue_oldest_age_seconds", "How long the oldest request waits; 0 when none does", ages, ["queue"])


def _troubles(stats: dict[str, Any]) -> Iterator[Metric]:
    yield _counter("errors", "Error answers, by code", _by(stats["errors"]), ["code"])
    yield _counter("deadline_misses", "Requests without an outcome at their deadline", _by(stats["deadline_misses"]), ["kind"])
    yield _counter("floor_rises", "Rises of the floor, by cause", _by(stats["floor_rises"]), ["cause"])
    yield _counter("generation_rises", "Changes of the master's timeline, by cause", _by(stats["generation_rises"]), ["cause"])


def _users(stats: dict[str, Any]) -> Iterator[Metric]:
    users, connections = stats["users"], stats["connections"]
    yield _gauge("users_with_stamp", "Users whose last write is remembered", {(): users["stamps"]})
    yield _gauge("users_in_flight", "Users with a write whose outcome is not known yet", {(): users["in_flight"]})
    yield _gauge("clients", "Clients connected", {(): connections["now"]})
    ends: Labelled = {(name,): connections[name] for name in ("accepted", "refused", "cut")}
    yield _counter("connections", "Connections, by what became of them", ends, ["fate"])


def _pair(stats: dict[str, Any]) -> Iterator[Metric]:
    segments = stats["segments"].items()
    owners: Labelled = {(name, it["owner"]): 1 for name, it in segments}
    yield _gauge("segment_owner", "1 for the DBSvr that owns the segment, as this one sees it", owners, ["segment", "owner"])
    ours = _by({name: it["state"] == "ours" for name, it in segments})
    yield _gauge("segment_ours", "1 while this DBSvr is sure of owning the segment", ours, ["segment"])
    yield _gauge(
        "segment_epoch", "How often the segment has changed its owner", _by({name: it["epoch"] for name, it in segments}), ["segment"]
    )
    peers = stats["peers"].items()
    yield _gauge(
        "peer_up", "1 while the other DBSvr's front can be reached", _by({name: it["state"] == "up" for name, it in peers}), ["peer"]
    )
    yield _counter("forwarded", "Writes handed to their owner", _by({name: it["forwarded"] for name, it in peers}), ["peer"])
    lags = _by({name: _seconds(it["lag_ms"]) for name, it in stats["mirror"].items()})
    yield _gauge("mirror_lag_seconds", "How long the oldest change of our trails has been unknown to the peer", lags, ["peer"])
    yield _gauge("users_with_trail", "Users whose cache nodes are known", {(): stats["users"]["trails"]})
    yield _counter("purges", "Purge rows committed with writes", {(): stats["purges"]["committed"]})


def _config(stats: dict[str, Any]) -> Iterator[Metric]:
    config = stats["config"]
    yield _gauge("config_revision", "The revision of the task configuration that is handed down", {(): config["revision"]})
    age = _seconds(config["look_age_ms"])
    yield _gauge("config_look_age_seconds", "Since the last look at the published configuration; no sample before the first", {(): age})
    yield _gauge("config_damaged", "1 while the newest revision cannot be read, and an older one stands", {(): bool(config["damage"])})
    yield _gauge("config_bundle_bytes", "Size of the bundle, as gzip", {(): config["bundle_bytes"]})
    using = Counter(str(each["using"]) for each in config["followers"] if each["name"])
    yield _gauge("config_logic_processes", "Connected logic processes, by the revision that they use", _by(using), ["revision"])


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms * PER_MS


def _by(values: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    return {(name,): value for name, value in values.items()}


def _gauge(name: str, about: str, values: Labelled, labels: Iterable[str] = ()) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, about, labels=list(labels))
    for label, value in values.items():
        if value is not None:
            family.add_metric(label, value)
    return family


def _counter(name: str, about: str, values: Labelled, labels: Iterable[str] = ()) -> Metric:
    family = CounterMetricFamily(PREFIX + name, about, labels=list(labels))
    for label, value in values.items():
        if value is not None:
            family.add_metric(label, value)
    return family


def _histogram(
    name: str, about: str, values: Mapping[tuple[str, ...], HistogramJson], labels: Iterable[str] = (), scale: float = 1
) -> Metric:
    family = HistogramMetricFamily(PREFIX + name, about, labels=list(labels))
    for label, it in values.items():
        bounds = [f"{bound * scale:.10g}" for bound in it["bounds"]]
        buckets = list(zip([*bounds, "+Inf"], accumulate(it["counts"]), strict=True))
        family.add_metric(label, buckets, it["sum"] * scale)
    return family
