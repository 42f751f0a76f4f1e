"""Which logic node a user's requests go to. That nginx chooses the same: tests/integration/test_nginx.py."""

from __future__ import annotations

import pytest

from apps.cachesync.logic_nodes import LogicNodes

THREE = ("10.0.0.11:7380", "10.0.0.12:7380", "10.0.0.13:7380")
UIDS = range(1, 3_000)


def own(nodes: LogicNodes) -> dict[int, str]:
    return {uid: next(nodes.in_turn(uid)) for uid in UIDS}


def test_every_node_is_named_once_for_every_user() -> None:
    nodes = LogicNodes(THREE)

    assert all(sorted(nodes.in_turn(uid)) == sorted(THREE) for uid in UIDS)


def test_a_node_that_comes_takes_only_its_own_share() -> None:
    before, after = own(LogicNodes(THREE[:2])), own(LogicNodes(THREE))
    moved = [uid for uid in UIDS if before[uid] != after[uid]]

    assert {after[uid] for uid in moved} == {THREE[2]}
    assert 0.2 < len(moved) / len(UIDS) < 0.5


def test_who_takes_a_lost_nodes_place_is_who_would_own_without_it() -> None:
    with_it, without = LogicNodes(THREE), LogicNodes(THREE[1:])

    assert all(next(each for each in with_it.in_turn(uid) if each != THREE[0]) == next(without.in_turn(uid)) for uid in UIDS)


def test_there_must_be_a_node() -> None:
    with pytest.raises(ValueError, match="at least one"):
        LogicNodes([])
