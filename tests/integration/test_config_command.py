"""TASK.CONFIG on real processes: the master's worker looks, the front hands down."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.checked import checked
from tests.stack.locks import HeldLock
from tests.stack.revisions import create_table, damaged, publish, publish_numbers, revision
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually
from tests.stack.wire import Wire

MakeStack = Callable[..., PrivateStack]
IN_USE_WITHIN_S = 3.0
"""1 s is promised; the machine has other things to do."""
OPERATOR = 7_000_000_002


@pytest.fixture
def published(make_stack: MakeStack) -> PrivateStack:
    """A DBSvr that hands revision 42 down."""
    stack = make_stack(before=lambda it: publish_numbers(it, 41, 42))
    eventually(lambda: config(stack)["revision"] == 42)
    return stack


@pytest.fixture
def client(published: PrivateStack) -> Iterator[TaskClient]:
    client = TaskClient(published, timeout_s=10)
    yield client
    client.close()


def config(stack: PrivateStack, instance: str | None = None) -> dict[str, Any]:
    stats = stack.stats(instance)
    return stats["config"] if stats else {"revision": None}  # type: ignore[return-value]


def test_the_newest_revision_is_handed_down_as_it_was_committed(client: TaskClient) -> None:
    number, etag, body = client.ask("TASK.CONFIG", 0)

    assert (number, etag.decode(), body) == revision(42)
    assert json.loads(gzip.decompress(body)) == {"schema": 1, "revision": 42}
    assert client.ask("TASK.CONFIG", 42) is None
    assert client.ask("TASK.CONFIG", revision(42).etag, "BLOCK", 50) is None


def test_a_committed_revision_reaches_who_waits_within_a_second(published: PrivateStack, client: TaskClient) -> None:
    took = []
    for number in (43, 44, 45):
        waiting = Asked(published, "TASK.CONFIG", number - 1, "BLOCK", 20_000, raw=True)
        eventually(lambda: config(published)["waiting"] == 1)
        publish(published, revision(number))
        began = time.monotonic()
        answer = waiting.answer
        took.append(time.monotonic() - began)
        assert (answer[0], answer[1].decode(), answer[2]) == revision(number)
        assert took[-1] < IN_USE_WITHIN_S
    print(f"\nfrom commit to answer: {', '.join(f'{1000 * each:.0f} ms' for each in took)}")


def test_without_the_table_nothing_is_harmed_and_it_may_come_later(make_stack: MakeStack) -> None:
    stack = make_stack()
    client = TaskClient(stack)

    assert client.finish(OPERATOR).applied
    eventually(lambda: "config_revision" in config(stack)["why"])
    with pytest.raises(Exception, match="doesn't exist"):
        client.ask("TASK.CONFIG", 0, "BLOCK", 100)
    epoch = stack.stats()["master"]["epoch"]  # type: ignore[index]
    publish_numbers(stack, 1)

    assert eventually(lambda: config(stack)["revision"], within_s=5) == 1
    assert client.get(OPERATOR).version == 1
    assert stack.stats()["master"]["epoch"] == epoch, "no life of the worker has ended for it"  # type: ignore[index]


def test_while_a_migration_holds_the_table_users_are_served_as_ever(published: PrivateStack, client: TaskClient) -> None:
    with_lock = HeldLock(published.master, "LOCK TABLES config_revision WRITE", "tasksys")
    try:
        eventually(lambda: config(published)["why"])
        began = time.monotonic()
        for uid in range(OPERATOR, OPERATOR + 20):
            assert client.finish(uid).applied
        took_s = time.monotonic() - began
    finally:
        with_lock.release()

    assert took_s < 2
    assert client.ask("TASK.CONFIG", 0)[0] == 42
    eventually(lambda: config(published)["why"] == "")


def test_without_the_right_to_look_the_check_says_which(published: PrivateStack) -> None:
    before = checked(published)
    assert "task configuration, revision 42" in before.stdout

    for host in ("127.0.0.1", "localhost"):
        published.master.execute(r"REVOKE SELECT ON `tasksys`.* FROM 'tasksys_workers'@'" + host + "'")

    eventually(lambda: "denied" in config(published)["why"])
    without = checked(published)
    assert without.returncode == 78
    assert "GRANT SELECT ON `tasksys`.config_revision" in without.stdout
    for host in ("127.0.0.1", "localhost"):
        published.master.execute(f"GRANT SELECT ON tasksys.config_revision TO 'tasksys_workers'@'{host}'")
    assert checked(published).returncode == 0, "that one table is enough"
    eventually(lambda: config(published)["why"] == "", within_s=5)


def test_ten_megabytes_go_to_many_who_wait_and_to_one_who_does_not_read(make_stack: MakeStack) -> None:
    """As JSON it has 10 MB and more, as gzip over 1 MB: more than a client may leave unread."""
    stack = make_stack(before=lambda it: publish_numbers(it, 1), max_output_bytes=64 * 1024)
    eventually(lambda: config(stack)["revision"] == 1)
    text = json.dumps(
        {"tasks": [{"code": f"task-{n}", "salt": os.urandom(80).hex(), "text": "win " * 200} for n in range(12_000)]}
    ).encode()
    large = revision(2, text)
    assert len(text) > 10_000_000
    assert len(large.body) > 1_000_000
    before = resident_bytes(stack)
    with Wire(stack) as deaf:
        many = [Asked(stack, "TASK.CONFIG", 1, "BLOCK", 30_000, raw=True) for _ in range(30)]
        deaf.ask("TASK.CONFIG", "1", "BLOCK", "30000")
        eventually(lambda: config(stack)["waiting"] == 31)

        publish(stack, large)

        for each in many:
            number, etag, body = each.answer
            assert (number, etag.decode(), body) == large
        grown = resident_bytes(stack) - before
        assert TaskClient(stack).finish(OPERATOR).applied
    print(f"\n{len(text)} bytes of JSON, {len(large.body)} as gzip, to 31 clients: the front grew by {grown} bytes")
    assert grown < 6 * len(large.body) + len(text) + 16_000_000, "no copy for each who waits"


def resident_bytes(stack: PrivateStack) -> int:
    with open(f"/proc/{stack.front.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_who_asks_again_and_again_without_reading_is_cut(published: PrivateStack) -> None:
    publish(published, revision(43, os.urandom(1_500_000)))
    eventually(lambda: config(published)["revision"] == 43)
    with Wire(published) as flood:
        flood.send_all([("TASK.CONFIG", "0")] * 2_000)
        eventually(lambda: published.stats()["connections"]["cut"] == 1)  # type: ignore[index]


def test_wrong_words_are_refused_and_redis_clients_of_both_protocols_understand_the_answers(published: PrivateStack) -> None:
    client = TaskClient(published)
    for words in (
        ("TASK.CONFIG",),
        ("TASK.CONFIG", "x"),
        ("TASK.CONFIG", 1, "BLOCK"),
        ("TASK.CONFIG", 1, "BLOCK", "x"),
        ("TASK.CONFIG", 1, "WAIT", 5),
        ("TASK.CONFIG", 1, "BLOCK", 5, "BLOCK", 5),
        ("TASK.CONFIG", 1, "BLOCK", -5),
        ("TASK.CONFIG", 1, "BLOCK", "9" * 5_000),
    ):
        with pytest.raises(Exception, match=r"usage|revision must be"):
            client.ask(*words)
    for protocol in (2, 3):
        other = redis.Redis(port=published.front_port, protocol=protocol)
        assert other.execute_command("TASK.CONFIG", 42, "USING", 41) is None
        assert other.execute_command("TASK.CONFIG", 41)[0] == 42


def test_redis_cli_and_gunzip_are_enough_to_read_it(published: PrivateStack) -> None:
    """As the protocol's page says."""
    command = f"redis-cli -p {published.front_port} --raw TASK.CONFIG 0 | tail -n +3 | gunzip 2>/dev/null"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=20)

    assert json.loads(shown.stdout) == {"schema": 1, "revision": 42}


def test_a_damaged_revision_leaves_the_last_good_one_and_is_said(published: PrivateStack, client: TaskClient) -> None:
    publish(published, damaged(43))

    eventually(lambda: config(published)["damage"].startswith("revision 43 cannot be read, 42 stands"))
    assert client.ask("TASK.CONFIG", 0)[0] == 42
    with pytest.raises(Exception, match="revision 43 cannot be read"):
        client.ask("TASK.CONFIG", 42, "BLOCK", 100)
    assert "damaged" in published.front.last_log_lines()
    publish(published, revision(44))
    assert eventually(lambda: client.ask("TASK.CONFIG", 42, "BLOCK", 3_000))[0] == 44
    assert config(published)["damage"] == ""


def test_a_database_that_was_restored_is_followed_back(published: PrivateStack, client: TaskClient) -> None:
    create_table(published)
    published.master.execute("DELETE FROM config_revision WHERE number = 42", "tasksys")

    assert client.ask("TASK.CONFIG", 42, "BLOCK", 3_000)[0] == 41
