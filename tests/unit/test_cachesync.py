"""The pure parts of the cache layer: ring, copies, breaker."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from uhashring import HashRing

from apps.cachesync.copies import decode_copy, encode_copy, head
from apps.cachesync.ring import Ring
from apps.dbsvr.breaker import FAILURES, FIRST_REST_S, LONGEST_REST_S, Breaker
from workers.protocol import Snapshot, TaskRecord

UIDS = range(10**12, 10**12 + 4_000)
names = st.sets(st.from_regex(r"\A[a-z][a-z0-9-]{0,8}\Z"), min_size=2, max_size=6)


def test_the_ring_spreads_users_evenly() -> None:
    ring = Ring(["node-1", "node-2", "node-3", "node-4"])
    counts = dict.fromkeys(ring.names, 0)
    for uid in UIDS:
        counts[ring.node_of(uid)] += 1

    assert all(0.15 < count / len(UIDS) < 0.35 for count in counts.values()), counts


@settings(max_examples=20, deadline=None)
@given(names)
def test_every_user_is_where_the_ring_of_uhashring_puts_him_and_the_next_nodes_follow(nodes: set[str]) -> None:
    ring, theirs = Ring(nodes), HashRing(nodes=sorted(nodes))

    for uid in [*UIDS[:200], 1, 2**63 - 1]:
        assert ring.node_of(uid) == theirs.get_node(str(uid))
        in_turn = list(ring.in_turn(uid))
        assert in_turn[0] == ring.node_of(uid)
        assert sorted(in_turn) == sorted(nodes)


def test_the_shares_are_those_of_the_users() -> None:
    ring = Ring(["node-1", "node-2", "node-3"])
    shares = ring.shares()

    assert abs(sum(shares.values()) - 1) < 1e-9
    for name, share in shares.items():
        assert abs(sum(ring.node_of(uid) == name for uid in UIDS) / len(UIDS) - share) < 0.03


@settings(max_examples=20, deadline=None)
@given(names)
def test_a_node_that_leaves_moves_only_its_own_users(nodes: set[str]) -> None:
    leaving = sorted(nodes)[0]
    before, after = Ring(nodes), Ring(nodes - {leaving})

    for uid in UIDS[:300]:
        if before.node_of(uid) != leaving:
            assert after.node_of(uid) == before.node_of(uid)


@settings(max_examples=6, deadline=None)
@given(names, st.randoms())
def test_the_order_in_which_nodes_are_named_does_not_matter(nodes: set[str], rnd: object) -> None:
    shuffled = list(nodes)
    rnd.shuffle(shuffled)  # type: ignore[attr-defined]

    assert [Ring(shuffled).node_of(uid) for uid in UIDS[:100]] == [Ring(nodes).node_of(uid) for uid in UIDS[:100]]


def test_a_copy_keeps_the_state_and_drops_what_was_of_the_moment() -> None:
    record = TaskRecord(1, "once", 3, "completed", 1_800_000_000_000, None, 2)
    snapshot = Snapshot(7, 2, 9, 50, [record], served_by="master", reason="in_flight", storable=True)

    copy = encode_copy(snapshot)

    assert copy.startswith(head(2, 9))
    assert decode_copy(copy, "node-1") == Snapshot(7, 2, 9, 50, [record], served_by="node-1")


def test_what_is_no_copy_of_ours_counts_as_none() -> None:
    for text in (b"", b"nonsense", b"1:2\nnonsense", b"1:2\n{}"):
        assert decode_copy(text, "node-1") is None


def test_a_node_is_left_alone_after_failures_in_a_row_and_one_caller_tries_it_again() -> None:
    breaker = Breaker()
    for _ in range(FAILURES):
        assert breaker.may_try(0.0)
        breaker.note_failure(0.0)

    assert breaker.is_open
    assert not breaker.may_try(FIRST_REST_S - 0.01)
    assert breaker.may_try(FIRST_REST_S)
    assert not breaker.may_try(FIRST_REST_S), "the others wait for what the first finds"
    breaker.note_success()
    assert breaker.may_try(FIRST_REST_S)


def test_the_rest_grows_and_is_bounded() -> None:
    breaker, now = Breaker(), 0.0
    for _ in range(FAILURES + 10):
        breaker.note_failure(now)
    assert not breaker.may_try(now + LONGEST_REST_S - 0.01)
    assert breaker.may_try(now + LONGEST_REST_S)


def test_a_failure_now_and_then_opens_nothing() -> None:
    breaker = Breaker()
    for _ in range(10):
        breaker.note_failure(0.0)
        breaker.note_success()

    assert breaker.may_try(0.0)


def test_after_one_good_try_the_next_comes_soon_however_long_the_rest_had_grown() -> None:
    breaker = Breaker(good_tries=3)
    now = 0.0
    for _ in range(20):
        breaker.note_failure(now)
        now += LONGEST_REST_S
    assert breaker.may_try(now)

    breaker.note_success()

    assert breaker.rests_for(now) <= FIRST_REST_S
