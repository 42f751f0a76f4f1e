"""The metrics are the figures of TASK.STATS, in Prometheus' names and units, and every one is documented."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tasksys_site.configuration import PROJECT, Configuration, DBSvr, Instance, Web
from workers.front_counts import FrontCounts
from workers.metrics import PREFIX, Exposition
from workers.metrics_port import MetricsPort
from workers.protocol import REASONS

UNKNOWN_REPLICA = {"state": "silent", "tick": None, "lag_ms": None, "answer_age_ms": None}
SERVING_REPLICA = {"state": "serving", "tick": 41, "lag_ms": 250.0, "answer_age_ms": 3.0}


def stats_with(replica: dict[str, Any], counts: FrontCounts | None = None) -> dict[str, Any]:
    counts = counts or FrontCounts(["r1"])
    return {
        "instance": "a",
        "run_id": 7,
        "started_at": 1_800_000_000.0,
        "generation": 1,
        "tick": 42,
        "floor": 40,
        "master": {"state": "up", "beat_age_ms": 50.0},
        "replicas": {"r1": replica},
        "queues": {name: {"depth": 2, "backlog": 1, "oldest_ms": 20.0} for name in ("finish", "query", "clear")},
        "users": {"stamps": 3, "in_flight": 1, "trails": 4},
        "segments": {"all": {"owner": "a", "epoch": 0, "state": "ours"}},
        "peers": {"b": {"state": "up", "forwarded": 6, "failed": 0}},
        "mirror": {"b": {"lag_ms": 20.0}},
        "purges": {"committed": 5, "trails_lost": []},
        "config": {
            "revision": 42,
            "etag": "42-0123456789abcdef",
            "bundle_bytes": 1000,
            "look_age_ms": 150.0,
            "why": "",
            "damage": "",
            "waiting": 2,
            "followers": [
                {"name": "logic-1", "using": 42, "asked_age_ms": 10.0},
                {"name": "logic-2", "using": 41, "asked_age_ms": 10.0},
                {"name": "", "using": 7, "asked_age_ms": 10.0},
            ],
        },
        "connections": {"now": 5, "accepted": 9, "cut": 1, "refused": 0},
        "floor_rises": {"start": 1, "worker": 0, "dropped": 4, "lru": 0},
        **counts.as_json(),
    }


def samples_of(stats: dict[str, Any]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = Exposition(lambda: stats).render().decode()
    return {
        (sample.name.removeprefix(PREFIX), tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_milliseconds_become_seconds() -> None:
    samples = samples_of(stats_with(SERVING_REPLICA))

    assert samples["replica_lag_seconds", (("replica", "r1"),)] == 0.25
    assert samples["queue_oldest_age_seconds", (("queue", "query"),)] == 0.02
    assert samples["master_commit_age_seconds", ()] == 0.05


def test_who_owns_what_and_how_the_other_dbsvr_is_reached() -> None:
    samples = samples_of(stats_with(SERVING_REPLICA))

    assert samples["segment_owner", (("owner", "a"), ("segment", "all"))] == 1
    assert samples["peer_up", (("peer", "b"),)] == 1
    assert samples["mirror_lag_seconds", (("peer", "b"),)] == pytest.approx(0.02)
    assert samples["forwarded_total", (("peer", "b"),)] == 6


def test_logic_processes_are_counted_by_the_revision_that_they_use_and_strangers_are_not() -> None:
    samples = samples_of(stats_with(SERVING_REPLICA))

    assert samples["config_revision", ()] == 42
    assert samples["config_damaged", ()] == 0
    using = {key[1]: value for key, value in samples.items() if key[0] == "config_logic_processes"}
    assert using == {(("revision", "42"),): 1, (("revision", "41"),): 1}


def test_an_unknown_lag_has_no_sample_and_is_never_zero() -> None:
    samples = samples_of(stats_with(UNKNOWN_REPLICA))

    assert not [key for key in samples if key[0] in ("replica_lag_seconds", "replica_tick", "replica_answer_age_seconds")]
    assert samples["replica_state", (("replica", "r1"), ("state", "silent"))] == 1
    assert samples["replica_state", (("replica", "r1"), ("state", "serving"))] == 0


def test_every_reason_of_a_master_read_has_its_counter_and_a_replica_has_none() -> None:
    counts = FrontCounts(["r1"])
    counts.reads_by_server.update({"master": 3, "r1": 5})
    counts.reads_by_reason.update({"in_flight": 2, "spill": 1})
    samples = samples_of(stats_with(SERVING_REPLICA, counts))

    reads = {key[1]: value for key, value in samples.items() if key[0] == "reads_total"}
    assert {dict(labels)["reason"] for labels in reads} == {*REASONS, "none"}
    assert reads[("reason", "in_flight"), ("server", "master")] == 2
    assert reads[("reason", "none"), ("server", "r1")] == 5
    assert sum(reads.values()) == 8


def test_what_a_switch_a_promotion_and_a_restore_leave_is_counted() -> None:
    counts = FrontCounts(["r1"])
    counts.switches["master"] += 1
    counts.generation_rises["restore"] += 1
    counts.lost_writes += 3
    samples = samples_of(stats_with(SERVING_REPLICA, counts))

    assert samples["switches_total", (("server", "master"),)] == 1
    assert samples["generation_rises_total", (("cause", "restore"),)] == 1
    assert samples["lost_writes_total", ()] == 3


def test_buckets_of_a_histogram_add_up() -> None:
    counts = FrontCounts(["r1"])
    for size in (1, 2, 5, 2_000):
        counts.write_batches.add(size)
    samples = samples_of(stats_with(SERVING_REPLICA, counts))

    buckets = {labels[0][1]: value for (name, labels), value in samples.items() if name == "write_batch_size_bucket"}
    assert [buckets[bound] for bound in ("1", "2", "4", "8", "1024", "+Inf")] == [1, 2, 2, 3, 3, 4]
    assert samples["write_batch_size_count", ()] == 4
    assert samples["write_batch_size_sum", ()] == 2008


def test_the_operations_page_names_every_metric_and_no_other() -> None:
    page = (PROJECT / "docs" / "operations.md").read_text(encoding="utf-8")
    text = Exposition(lambda: stats_with(SERVING_REPLICA)).render().decode()

    # A family's name in the text's "# TYPE" line is what one finds in Prometheus: counters end in _total.
    offered = set(re.findall(rf"^# TYPE {PREFIX}(\w+)", text, re.MULTILINE))
    named = set(re.findall(rf"`{PREFIX}(\w+)", page))
    assert offered == named


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /metrics HTTP/1.1", b"200"),
        (b"GET /metrics?x=1 HTTP/1.1", b"200"),
        (b"HEAD /metrics HTTP/1.1", b"200"),
        (b"GET / HTTP/1.1", b"404"),
        (b"GET /metricsx HTTP/1.1", b"404"),
        (b"POST /metrics HTTP/1.1", b"405"),
        (b"*1\r\n$4\r\nPING", b"405"),
        (b"\xff\x00", b"405"),
    ],
)
def test_only_the_metrics_are_answered(request_line: bytes, status: bytes) -> None:
    port = MetricsPort("127.0.0.1", 1, "", lambda: b"figure 1\n", logging.getLogger())
    head, _, body = port.answer(request_line + b"\r\n\r\n").partition(b"\r\n\r\n")

    assert head.split()[1] == status
    assert (b"figure" in body) == (status == b"200" and request_line.startswith(b"GET"))


def test_many_askers_at_once_cost_one_rendering() -> None:
    rendered = []

    def render() -> bytes:
        rendered.append(1)
        return b"figure 1\n"

    port = MetricsPort("127.0.0.1", 1, "", render, logging.getLogger())
    for _ in range(100):
        port.answer(b"GET /metrics HTTP/1.1\r\n\r\n")

    assert len(rendered) == 1


@pytest.mark.parametrize("taken", [7380, 7301, 7312])
def test_a_metrics_port_that_something_else_of_ours_uses_is_a_fault_of_the_configuration(taken: int) -> None:
    instances = {
        "a": Instance(port=7301, queue_key=1, metrics_port=taken),
        "b": Instance(port=7302, queue_key=10, metrics_port=7312),
    }
    with pytest.raises(ValueError, match="metrics ports"):
        Configuration(dbsvr=DBSvr(instances=instances), web=Web(port=7380))


def test_instances_without_metrics_do_not_share_a_port() -> None:
    instances = {"a": Instance(port=7301, queue_key=1), "b": Instance(port=7302, queue_key=10)}

    assert Configuration(dbsvr=DBSvr(instances=instances)).instance("b").metrics_port == 0
