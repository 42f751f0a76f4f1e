"""Incidents on the way of a published configuration to the logic nodes. In all of them the last good one stands, and nobody goes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.dbsvr.db_interface import DbInterface
from apps.tasks.live_bundle import LiveBundle
from apps.tasks.watch import NotKnownYet
from deploy.local.private_stack import PrivateStack
from tests.stack.pair_stack import PairStack
from tests.stack.pairs import PAIR, kill, start
from tests.stack.revisions import compiled, create_table, damaged, publish, revision
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually

MakeStack = Callable[..., PrivateStack]
MakeNode = Callable[[PrivateStack], "LogicProcess"]
IN_USE_WITHIN_S = 3.0
"""1 s is promised; the machine has other things to do."""


class LogicProcess:
    """What a logic node has of the configuration: its DbInterface and its LiveBundle. It never goes back."""

    def __init__(self, stack: PrivateStack, path: Path) -> None:
        self.interface = DbInterface(stack.configuration().dbsvr, deadline_ms=3_000)
        self.bundle = LiveBundle(self.interface.wait_for_config, path)
        self.seen = 0

    @property
    def revision(self) -> int:
        revision = self.bundle.get().revision
        assert revision >= self.seen, f"it went back from {self.seen} to {revision}"
        self.seen = revision
        return revision

    def uses(self, number: int, within_s: float = IN_USE_WITHIN_S) -> float:
        began = time.monotonic()
        eventually(lambda: self.revision == number, within_s=within_s)
        return time.monotonic() - began

    def close(self) -> None:
        self.bundle.stop()
        self.interface.close()


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[MakeNode]:
    made: list[LogicProcess] = []

    def make(stack: PrivateStack) -> LogicProcess:
        made.append(LogicProcess(stack, tmp_path / "state" / "live-bundle"))
        return made[-1]

    yield make
    for each in made:
        each.close()


def with_revision_1(stack: PrivateStack) -> None:
    create_table(stack)
    publish(stack, compiled(1))


@pytest.fixture
def pair(make_stack: MakeStack) -> PrivateStack:
    return make_stack(before=with_revision_1, **PAIR)


@pytest.fixture
def node(pair: PrivateStack, make_node: MakeNode) -> LogicProcess:
    node = make_node(pair)
    node.uses(1, within_s=10)
    return node


def test_a_commit_is_in_use_within_a_second_and_whichever_dbsvr_is_killed_the_other_hands_down(
    pair: PrivateStack, node: LogicProcess
) -> None:
    publish(pair, compiled(2))
    figures = {"both well": node.uses(2)}

    for number, instance in ((3, "a"), (5, "b")):
        kill(pair, instance)
        publish(pair, compiled(number))
        figures[f"without {instance}"] = node.uses(number)
        start(pair, instance)
        pair.wait_until_serving(60)
        publish(pair, compiled(number + 1))
        figures[f"{instance} is back"] = node.uses(number + 1)

    print("\n" + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in figures.items()))


def test_a_frozen_front_keeps_nobody_from_a_new_revision(pair: PrivateStack, node: LogicProcess) -> None:
    for number, instance in ((2, "a"), (3, "b")):
        pair.dbsvrs[instance].front.freeze()
        try:
            publish(pair, compiled(number))
            node.uses(number, within_s=4)  # 2 s until it is taken for dead, whichever it waited at
        finally:
            pair.dbsvrs[instance].front.thaw()
        pair.wait_until_serving(60)


def test_both_dbsvrs_down_the_last_good_one_stands_and_says_its_age_also_for_a_process_that_starts(
    pair: PrivateStack, node: LogicProcess, make_node: MakeNode
) -> None:
    for instance in ("a", "b"):
        kill(pair, instance)
    publish(pair, compiled(2))

    eventually(lambda: node.bundle.get().age_s > 2)
    assert node.revision == 1
    assert "not confirmed for" in node.bundle.state
    later = make_node(pair)
    assert later.revision == 1
    assert later.bundle.get().age_s > 1

    for instance in ("a", "b"):
        start(pair, instance)
    for each in (node, later):
        each.uses(2, within_s=30)
        eventually(lambda: each.bundle.state == "revision 2")  # noqa: B023


def test_fronts_restarted_while_the_master_is_down_hand_down_what_they_had(pair: PrivateStack, node: LogicProcess, tmp_path: Path) -> None:
    publish(pair, compiled(2))
    node.uses(2)
    eventually(lambda: all(pair.stats(name)["config"]["revision"] == 2 for name in ("a", "b")))  # type: ignore[index,call-overload]
    pair.master.kill()
    for instance in ("a", "b"):
        pair.dbsvrs[instance].front.kill()
        pair.dbsvrs[instance].front.start()

    fresh = LogicProcess(pair, tmp_path / "another-host" / "live-bundle")
    try:
        eventually(lambda: _revision_or_0(fresh) == 2)
        eventually(lambda: "not confirmed" in fresh.bundle.state)
    finally:
        fresh.close()
    assert node.revision == 2
    pair.master.start()
    pair.wait_until_serving(60)
    publish(pair, compiled(3))
    node.uses(3, within_s=5)
    eventually(lambda: node.bundle.state == "revision 3")


def _revision_or_0(node: LogicProcess) -> int:
    try:
        return node.revision
    except NotKnownYet:
        return 0


def test_a_front_restarted_by_itself_is_no_event_for_who_follows(make_stack: MakeStack, make_node: MakeNode) -> None:
    stack = make_stack(before=with_revision_1)
    node = make_node(stack)
    node.uses(1, within_s=10)

    stack.front.kill()
    stack.front.start()
    stack.wait_until_serving(60)
    publish(stack, compiled(2))

    node.uses(2, within_s=4)


def test_a_master_worker_killed_or_frozen_is_made_up_for_by_its_successor_or_by_the_other_dbsvr(
    pair: PrivateStack, node: LogicProcess
) -> None:
    pair.dbsvrs["a"].master_worker.kill()
    pair.dbsvrs["b"].master_worker.freeze()
    publish(pair, compiled(2))
    pair.dbsvrs["a"].master_worker.start()

    node.uses(2, within_s=6)

    pair.dbsvrs["b"].master_worker.thaw()
    pair.wait_until_serving(60)
    publish(pair, compiled(3))
    node.uses(3)


def test_a_dbsvr_cut_from_the_master_sends_who_waits_to_the_other(make_stack: MakeStack, make_node: MakeNode) -> None:
    stack = make_stack(as_on_two_hosts=True, before=with_revision_1, hold_ms=1_000, give_back_after_ms=1_000)
    assert isinstance(stack, PairStack)
    node = make_node(stack)
    node.uses(1, within_s=10)
    for number, instance in ((2, "a"), (3, "b")):
        stack.masters[instance].cut()
        publish(stack, compiled(number))
        node.uses(number, within_s=5)  # 2 s until the one that is cut off says so
        publish(stack, compiled(number + 10))
        node.uses(number + 10, within_s=5)
        stack.masters[instance].open()
        stack.master.execute("DELETE FROM config_revision WHERE number > 9", "tasksys")
        eventually(lambda: node.bundle.get().revision == number, within_s=10)  # noqa: B023  # followed back: the database says so
        node.seen = 0
        stack.wait_until_serving(60)


def test_a_damaged_revision_is_used_by_nobody_and_said_by_all_until_a_whole_one_comes(
    pair: PrivateStack, node: LogicProcess, make_node: MakeNode, tmp_path: Path
) -> None:
    publish(pair, damaged(2))

    eventually(lambda: node.bundle.state == "revision 1, a newer one cannot be read")
    fresh = LogicProcess(pair, tmp_path / "another-host" / "live-bundle")
    try:
        assert fresh.revision == 1
    finally:
        fresh.close()
    for instance in ("a", "b"):
        eventually(lambda: pair.stats(instance)["config"]["damage"])  # type: ignore[index,call-overload]  # noqa: B023
        assert "damaged" in pair.dbsvrs[instance].front.last_log_lines()
    client = TaskClient(pair)
    assert client.finish(7).applied
    client.close()

    publish(pair, compiled(3))
    node.uses(3)
    eventually(lambda: node.bundle.state == "revision 3")


def test_one_that_the_logic_nodes_alone_cannot_read_is_seen_in_what_they_use(pair: PrivateStack, node: LogicProcess) -> None:
    """Whole, and of a schema that this version does not know."""
    publish(pair, revision(2, b'{"schema":999,"revision":2}'))

    eventually(lambda: node.bundle.state == "revision 1, a newer one cannot be read")

    def using() -> set[int]:
        followers = [each for name in ("a", "b") for each in pair.stats(name)["config"]["followers"]]  # type: ignore[index,call-overload]
        return {each["using"] for each in followers if each["name"] and each["asked_age_ms"] < 1_500}

    eventually(lambda: using() == {1})
    eventually(lambda: {pair.stats(name)["config"]["revision"] for name in ("a", "b")} == {2})  # type: ignore[index,call-overload]
