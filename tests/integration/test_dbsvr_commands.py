"""The wire as clients meet it: each command, bad input, other clients' habits."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator

import pytest
import redis

from deploy.local.private_stack import PrivateStack
from tests.stack.task_client import TaskClient, change, new_event_id
from tests.stack.waiting import eventually
from workers.protocol import BadArgument

UID = 1_000_000_000_042


@pytest.fixture
def client(stack: PrivateStack) -> Iterator[TaskClient]:
    client = TaskClient(stack)
    yield client
    client.close()


def test_an_unknown_user_has_version_0_and_no_tasks(client: TaskClient) -> None:
    snapshot = client.get(77_001)

    assert (snapshot.uid, snapshot.version, snapshot.points, snapshot.tasks) == (77_001, 0, 0, [])
    assert snapshot.served_by in ("master", "r1")


def test_a_write_answers_what_it_did_and_the_next_read_shows_it(client: TaskClient) -> None:
    answer = client.finish(77_002, changes=[change(task=5, value=3, target=3, points=10)])
    snapshot = client.get(77_002)

    assert answer.applied
    assert answer.base_version == 0
    assert answer.results[0].completed_now
    assert (snapshot.version, snapshot.points, snapshot.tasks[0].state) == (1, 10, "completed")
    assert snapshot.tasks == answer.snapshot.tasks


def test_a_repeated_event_answers_its_first_results_with_the_present_snapshot(client: TaskClient) -> None:
    event_id = new_event_id()
    first = client.finish(77_003, event_id)
    client.finish(77_003)

    repeated = client.finish(77_003, event_id, changes=[change(value=99)])

    assert not repeated.applied
    assert repeated.results == first.results
    assert repeated.snapshot.version == 2


def test_a_clear_deletes_all_but_the_version_and_the_event_ids(client: TaskClient) -> None:
    event_id = new_event_id()
    client.finish(77_004, event_id, changes=[change(points=5, target=1)])

    client.clear(77_004)
    snapshot = client.get(77_004)
    repeated = client.finish(77_004, event_id)

    assert (snapshot.version, snapshot.points, snapshot.tasks) == (2, 0, [])
    assert not repeated.applied


def test_many_users_come_back_in_the_order_of_asking(client: TaskClient) -> None:
    uids = [77_100 + number for number in (5, 3, 9, 3, 1)]
    client.finish(77_103)

    snapshots = client.get_many(uids)

    assert [snapshot.uid for snapshot in snapshots] == uids
    assert [snapshot.version for snapshot in snapshots] == [0, 1, 0, 1, 0]


def test_the_largest_uid_and_leading_zeros_are_accepted(client: TaskClient) -> None:
    assert client.get(2**63 - 1).uid == 2**63 - 1
    assert client.ask("TASK.GET", "0000042", "node-1").startswith(b'{"uid":42,')


def test_a_reply_of_megabytes_arrives_whole(client: TaskClient) -> None:
    """A user with 5,000 records: neither ticket nor queue limits his size."""
    for first in range(0, 5_000, 500):
        client.finish(77_005, changes=[change(task=first + number + 1) for number in range(500)])

    snapshot = client.get(77_005)

    assert [record.task for record in snapshot.tasks] == list(range(1, 5_001))


def test_explain_says_who_may_serve_a_user_and_why_not(client: TaskClient, stack: PrivateStack) -> None:
    stack.replica.stop_sql_thread()
    try:
        client.finish(77_006)
        explained = client.explain(77_006)
    finally:
        stack.replica.start_sql_thread()

    assert explained["stamp_is"] == "recorded"
    assert explained["servers"]["master"]["may_serve"]
    assert not explained["servers"]["r1"]["may_serve"]
    assert "stamp" in explained["servers"]["r1"]["why"]


def test_stats_hold_every_documented_key(client: TaskClient) -> None:
    client.get(77_007)
    stats = client.stats()

    assert stats["master"]["state"] == "up"
    assert stats["replicas"]["r1"]["state"] == "serving"
    assert stats["reads"]["total"] == sum(stats["reads"]["by_server"].values())
    assert set(stats["queues"]) == {"finish", "query", "clear"}
    assert stats["latency_ms"]["read"]["p50"] > 0


CHANGES = json.dumps([change()])
BAD_COMMANDS = [
    ("TASK.GET",),
    ("TASK.GET", 1),
    ("TASK.GET", 1, "node-1", "more"),
    ("TASK.GET", 0, "node-1"),
    ("TASK.GET", "-5", "node-1"),
    ("TASK.GET", "abc", "node-1"),
    ("TASK.GET", 2**63, "node-1"),
    ("TASK.GET", 1, "Node 1"),
    ("TASK.GET", 1, ""),
    ("TASK.MGET", "node-1"),
    ("TASK.MGET", "node-1", 1, "x"),
    ("TASK.MGET", "node-1", *range(1, 502)),
    ("TASK.FINISH", 1, "node-1", "e1"),
    ("TASK.FINISH", 1, "node-1", "", CHANGES),
    ("TASK.FINISH", 1, "node-1", "a b", CHANGES),
    ("TASK.FINISH", 1, "node-1", "e1", "no json"),
    ("TASK.FINISH", 1, "node-1", "e1", "[]"),
    ("TASK.FINISH", 1, "node-1", "e1", '[{"task":1,"period":"once","op":"add","colour":"red"}]'),
    ("TASK.CLEAR", 1, "node-1"),
    ("TASK.CLEAR", 1, "node-1", "\n"),
    ("TASK.EXPLAIN",),
    ("TASK.EXPLAIN", "x"),
]


@pytest.mark.parametrize("words", BAD_COMMANDS, ids=lambda words: " ".join(map(str, words))[:60])
def test_bad_arguments_are_badarg_with_a_sentence_and_the_connection_lives(client: TaskClient, words: tuple[object, ...]) -> None:
    with pytest.raises(BadArgument) as caught:
        client.ask(*words)

    assert len(str(caught.value)) > 15
    assert client.redis.ping()


def test_an_event_that_would_overflow_fails_alone(client: TaskClient) -> None:
    client.finish(77_008, changes=[change(value=2**53 - 1)])

    with pytest.raises(BadArgument, match="2\\^53"):
        client.finish(77_008)

    assert client.get(77_008).version == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"*1\r\n:5\r\n",
        b"*2\r\n$4\r\nPING\r\n*1\r\n$1\r\na\r\n",
        b"*1\r\n$-5\r\n",
        b"*100000000\r\n",
        b"+OK\r\n",
        b"*0\r\n",
    ],
)
def test_garbage_ends_its_own_connection_and_no_other(client: TaskClient, stack: PrivateStack, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", stack.front_port), timeout=5) as intruder:
        intruder.sendall(garbage)
        answer = intruder.recv(1000)
        assert answer.startswith(b"-")
        assert intruder.recv(1000) == b""

    assert client.redis.ping()


def send_forever(connection: socket.socket) -> None:
    for _ in range(1_000):
        connection.sendall(b"x" * 65536)


def test_an_endless_frame_is_cut_off(client: TaskClient, stack: PrivateStack) -> None:
    with socket.create_connection(("127.0.0.1", stack.front_port), timeout=5) as intruder:
        intruder.sendall(b"*2\r\n$8\r\nTASK.GET\r\n$900000000\r\n")
        with pytest.raises(ConnectionError):
            send_forever(intruder)

    assert client.redis.ping()


def test_half_a_command_waits_for_its_other_half(stack: PrivateStack) -> None:
    with socket.create_connection(("127.0.0.1", stack.front_port), timeout=5) as slow:
        slow.sendall(b"*1\r\n$4\r\nPI")
        slow.sendall(b"NG\r\n*1\r")
        slow.sendall(b"\n$4\r\nPING\r\n")
        eventually(lambda: slow.recv(100, socket.MSG_PEEK) == b"+PONG\r\n+PONG\r\n")


def test_replies_come_in_the_order_of_asking_though_a_write_takes_longer(stack: PrivateStack) -> None:
    with stack.client() as client:
        pipe = client.pipeline(transaction=False)
        pipe.execute_command("TASK.FINISH", 77_009, "node-1", new_event_id(), CHANGES)
        pipe.execute_command("TASK.GET", 77_009, "node-1")
        pipe.execute_command("PING")
        pipe.execute_command("TASK.GET", 77_010, "node-1")
        written, read, pong, other = pipe.execute()

    assert json.loads(written)["snapshot"]["version"] == 1
    assert json.loads(read)["version"] == 1, "a GET sent after a FINISH must not overtake it"
    assert pong
    assert json.loads(other)["uid"] == 77_010


@pytest.mark.parametrize("protocol", [2, 3])
def test_both_protocol_versions_of_redis_py_connect(stack: PrivateStack, protocol: int) -> None:
    with redis.Redis(port=stack.front_port, protocol=protocol, client_name="a-test") as client:
        assert client.ping()
        assert json.loads(client.execute_command("TASK.GET", 1, "node-1"))["uid"] == 1


def test_redis_cli_and_redis_benchmark_work_as_they_are(stack: PrivateStack) -> None:
    port = str(stack.front_port)
    said = subprocess.run(["redis-cli", "-p", port, "TASK.GET", str(UID), "node-1"], capture_output=True, text=True, check=True, timeout=20)
    assert json.loads(said.stdout)["uid"] == UID

    command = ["redis-benchmark", "-p", port, "-c", "50", "-n", "20000", "-r", "10000", "TASK.GET", "1__rand_int__", "node-1"]
    bench = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "throughput summary" in bench.stdout
    assert "error" not in bench.stdout.lower()
    assert bench.stderr == "", "it runs clean: no warning either"


def test_info_tells_clients_that_nothing_is_loading(client: TaskClient) -> None:
    assert client.redis.info()["loading"] == 0


def test_a_client_that_closes_its_half_still_gets_its_answers(stack: PrivateStack) -> None:
    with socket.create_connection(("127.0.0.1", stack.front_port), timeout=5) as connection:
        connection.sendall(b"*3\r\n$8\r\nTASK.GET\r\n$1\r\n1\r\n$6\r\nnode-1\r\n" * 3)
        connection.shutdown(socket.SHUT_WR)
        answers = b""
        while piece := connection.recv(65536):
            answers += piece

    assert answers.count(b'"uid":1,') == 3


def test_an_unknown_command_is_an_error_that_clients_tolerate(client: TaskClient) -> None:
    with pytest.raises(redis.ResponseError, match="unknown command"):
        client.redis.execute_command("FLUSHALL")
