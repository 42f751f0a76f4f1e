"""The metrics of a running front, as Prometheus gets them."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import PROJECT
from tests.stack.asking import Asked
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually
from workers.process import Exit

MakeStack = Callable[..., PrivateStack]
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(stack: PrivateStack) -> Samples:
    connection = http.client.HTTPConnection("127.0.0.1", stack.metrics_port, timeout=5)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(text)
    return {(sample.name, frozenset(sample.labels.items())): sample.value for family in families for sample in family.samples}


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples["tasksys_dbsvr_" + name, frozenset(labels.items())]


@contextlib.contextmanager
def listening_on(port: int) -> Iterator[None]:
    """Another program has the port."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the front's own ended connections linger
        other.bind(("127.0.0.1", port))
        other.listen()
        yield


def has_metrics(stack: PrivateStack) -> bool:
    try:
        return bool(scrape(stack))
    except OSError:
        return False


@pytest.fixture
def used_stack(make_stack: MakeStack) -> PrivateStack:
    """A stack that has answered reads of both kinds, writes, a repeated one and an error, and is quiet now."""
    stack = make_stack()
    client = TaskClient(stack)
    for uid in range(1, 21):
        client.finish(uid, f"e{uid}")
    client.finish(1, "e1")
    for uid in range(1, 21):
        eventually(lambda uid=uid: client.get(uid).served_by == "r1")  # type: ignore[misc]
    stack.replica.stop_sql_thread()
    client.finish(1, "e-more")
    assert client.get(1).served_by == "master"
    stack.replica.start_sql_thread()
    stack.wait_until_serving()
    return stack


def test_the_metrics_say_what_the_stats_say(used_stack: PrivateStack) -> None:
    def the_same() -> bool:
        stats = used_stack.stats()
        samples = scrape(used_stack)
        assert stats is not None
        reads = stats["reads"]
        assert value(samples, "reads_total", server="r1", reason="none") == reads["by_server"]["r1"] >= 20
        for reason, count in reads["by_reason"].items():
            assert value(samples, "reads_total", server="master", reason=reason) == count
        assert value(samples, "reads_safe_total") == reads["safe"]
        assert value(samples, "writes_total", outcome="applied") == stats["writes"]["applied"] == 21
        assert value(samples, "writes_total", outcome="repeated") == stats["writes"]["repeated"] == 1
        assert value(samples, "write_batch_size_sum") == 22
        assert value(samples, "request_seconds_count", kind="write") == 22
        assert value(samples, "request_seconds_count", kind="read") == reads["total"]
        assert value(samples, "generation") == stats["generation"]
        for cause, count in stats["floor_rises"].items():
            assert value(samples, "floor_rises_total", cause=cause) == count
        return True

    eventually(the_same)  # what is rendered is kept for a moment


def test_every_replica_read_has_a_margin_and_a_wait_and_none_is_short(used_stack: PrivateStack) -> None:
    eventually(lambda: value(scrape(used_stack), "replica_read_margin_ticks_count") >= 20)
    samples = scrape(used_stack)
    by_replica = value(samples, "reads_total", server="r1", reason="none")

    assert value(samples, "replica_read_margin_ticks_count") == by_replica
    assert samples["tasksys_dbsvr_replica_read_wait_seconds_count", frozenset({("for", "worker")})] == by_replica
    assert samples["tasksys_dbsvr_replica_read_wait_seconds_count", frozenset({("for", "replication")})] == by_replica
    assert value(samples, "reads_short_total") == 0
    assert value(samples, "read_batch_size_sum", server="r1") == by_replica


def test_a_read_that_waits_for_the_replica_has_waited_for_replication(make_stack: MakeStack) -> None:
    # given a replica half a second behind, and a front that lets reads wait for it
    stack = make_stack(spill_ms=5_000, age_limit_ms=5_000)
    client = TaskClient(stack)
    client.finish(7, "e1")
    stack.replica.stop_sql_thread()
    client.finish(7, "e2")
    asked = Asked(stack, "TASK.GET", 7, "node-1")
    # when it goes on only after a while
    eventually(lambda: (stack.stats() or {})["queues"]["query"]["oldest_ms"] > 300)
    stack.replica.start_sql_thread()

    # then the replica served it, and its wait was for replication
    assert asked.answer["served_by"] == "r1"
    waits = (stack.stats() or {})["reads"]["wait_ms"]
    assert waits["replication"]["sum"] > 250
    assert waits["worker"]["sum"] < 250


def test_a_stopped_replica_has_no_lag_in_the_metrics_once_it_is_silent(make_stack: MakeStack) -> None:
    stack = make_stack()
    key = ("tasksys_dbsvr_replica_lag_seconds", frozenset({("replica", "r1")}))
    eventually(lambda: key in scrape(stack))
    stack.replica_worker.stop()

    eventually(lambda: key not in scrape(stack))
    assert value(scrape(stack), "replica_state", replica="r1", state="down") == 1


def test_who_asks_without_end_is_cut_and_the_front_serves_on(stack: PrivateStack) -> None:
    with socket.create_connection(("127.0.0.1", stack.metrics_port), timeout=10) as caller, pytest.raises(ConnectionError):
        caller.sendall(b"x" * 10_000_000)

    assert scrape(stack)
    assert stack.client().ping()


@pytest.mark.long
def test_a_taken_metrics_port_is_named_and_the_front_serves_without_until_it_is_free(make_stack: MakeStack) -> None:
    stack = make_stack()
    stack.front.stop()
    with listening_on(stack.metrics_port):
        stack.front.start()
        stack.wait_until_serving()
        words = f"port {stack.metrics_port} is taken; set dbsvr.instances.a.metrics_port"
        eventually(lambda: words in stack.front.last_log_lines())
        assert TaskClient(stack).finish(7, "e1").applied

    eventually(lambda: has_metrics(stack))


def test_check_says_whose_the_metrics_port_is(make_stack: MakeStack) -> None:
    stack = make_stack()

    def check() -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **stack.environment}
        command = [sys.executable, "-m", "workers", "check"]
        return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert f"metrics of DBSvr a at 127.0.0.1:{stack.metrics_port}: its front answers" in check().stdout
    stack.front.stop()
    assert f"metrics of DBSvr a at 127.0.0.1:{stack.metrics_port}: nothing listens there yet" in check().stdout
    with listening_on(stack.metrics_port):
        refused = check()
    assert "dbsvr.instances.a.metrics_port" in refused.stdout
    assert refused.returncode == Exit.WRONG_CONFIGURATION
