"""Which cache nodes a process uses (INV 11): a purge's age is told by looks alone."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.cachesync.readmission import FLUSH, LONGEST_GAP_S, PURGES, SILENT, Readmission

GRACE_S = 2.0


class Node(NamedTuple):
    name: str = "node-1"
    state: str = "in_use"
    is_silent: bool = False


class Rows(NamedTuple):
    oldest: int
    newest: int
    flush: bool = False


IN_USE = Node()


def why(readmission: Readmission, at: float, node: Node = IN_USE, **rows: Rows) -> str:
    unfinished = {name.replace("_", "-").replace("every", "*"): it for name, it in rows.items()}
    return readmission.judge(at, [node], unfinished)[node.name]


def test_a_purge_under_way_keeps_no_node_out() -> None:
    looks = Readmission(GRACE_S)
    assert why(looks, 0.0) == ""

    assert why(looks, 1.0, node_1=Rows(5, 7)) == ""
    assert why(looks, 2.0, node_1=Rows(6, 9)) == ""


def test_after_a_gap_all_that_is_seen_is_old() -> None:
    looks = Readmission(GRACE_S)
    why(looks, 0.0, node_2=Rows(3, 3))

    assert why(looks, LONGEST_GAP_S + 0.1, node_1=Rows(5, 5)) == PURGES


def test_a_node_is_out_once_a_purge_has_been_unfinished_for_the_grace_and_back_when_it_is_done() -> None:
    looks = Readmission(GRACE_S)
    why(looks, 0.0)

    assert [why(looks, float(at), node_1=Rows(5, 5)) for at in (1, 2, 3)] == ["", "", PURGES]
    assert why(looks, 4.0) == ""


def test_a_purge_is_no_younger_because_others_were_done() -> None:
    looks = Readmission(GRACE_S)
    why(looks, 0.0)
    why(looks, 1.0, node_1=Rows(4, 6))

    why(looks, 2.0, node_1=Rows(5, 40))

    assert why(looks, 3.0, node_1=Rows(6, 90)) == PURGES


def test_what_the_first_look_finds_is_old() -> None:
    looks = Readmission(GRACE_S)

    assert why(looks, 0.0, node_1=Rows(5, 7)) == PURGES
    assert why(looks, 0.25, node_1=Rows(7, 9)) == PURGES
    assert why(looks, 0.5, node_1=Rows(8, 9)) == ""


@pytest.mark.parametrize("name", ["node_1", "every"])
def test_a_node_that_is_to_be_flushed_is_out_at_once(name: str) -> None:
    looks = Readmission(GRACE_S)
    why(looks, 0.0)

    assert why(looks, 1.0, **{name: Rows(9, 9, flush=True)}) == FLUSH


def test_a_purge_for_every_node_counts_for_each() -> None:
    looks = Readmission(GRACE_S)
    why(looks, 0.0)
    why(looks, 1.0, every=Rows(5, 5))
    why(looks, 2.0, every=Rows(5, 5))

    assert why(looks, 3.0, every=Rows(5, 5)) == PURGES


def test_another_nodes_purges_keep_nobody_out() -> None:
    looks = Readmission(GRACE_S)

    assert why(looks, 0.0, node_2=Rows(5, 7)) == ""


def test_a_silent_node_and_one_that_is_not_in_use_are_not_used() -> None:
    looks = Readmission(GRACE_S)

    assert why(looks, 0.0, Node(is_silent=True)) == SILENT
    assert why(looks, 1.0, Node(state="draining")) == "draining"


@settings(deadline=None)
@given(
    looks=st.lists(st.floats(0.05, 2.5), min_size=3, max_size=20),
    made_at=st.floats(0.0, 20.0),
    others=st.lists(st.floats(0.0, 30.0), max_size=30),
)
def test_no_look_takes_a_row_for_young_that_an_earlier_look_of_the_graces_age_has_seen(
    looks: list[float], made_at: float, others: list[float]
) -> None:
    """Rows of other nodes come and go all the time; ours stays from `made_at` on."""
    readmission, at, seen_at = Readmission(GRACE_S), 0.0, None
    ours = 1 + sum(other < made_at for other in others)
    for pause in looks:
        at += pause
        ids = [1 + number + (other > made_at) for number, other in enumerate(sorted(others)) if other <= at and at - other < 1.0]
        rows = {"node-2": Rows(min(ids), max(ids))} if ids else {}
        if made_at <= at:
            rows["node-1"] = Rows(ours, ours)
            seen_at = at if seen_at is None else seen_at
        found = readmission.judge(at, [Node()], rows)["node-1"]

        if made_at > at:
            assert found == ""
        if (seen_at is not None and at - seen_at >= GRACE_S) or at - made_at > GRACE_S + 2 * LONGEST_GAP_S:
            assert found == PURGES
