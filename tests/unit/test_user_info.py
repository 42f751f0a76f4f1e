from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksys_site.configuration import PROJECT
from workers import user_info
from workers.user_info import EXACT_CHUNKS, PLACES_A_CHUNK, UserInfo


def test_an_unknown_user_is_taken_to_have_written_when_the_dbsvr_started() -> None:
    users = UserInfo(1000)
    users.raise_floor(40, "start")

    assert users.stamp(7) == 40
    assert users.recorded_stamp(7) is None


def test_the_effective_stamp_is_the_larger_of_record_and_floor() -> None:
    users = UserInfo(1000)
    users.raise_stamp(7, 50)
    users.raise_floor(60, "start")
    users.raise_stamp(8, 70)

    assert (users.stamp(7), users.stamp(8)) == (60, 70)


def test_a_user_is_in_flight_until_the_last_of_his_writes_is_decided() -> None:
    users = UserInfo(1000)
    users.accept_write(7, 0.0)
    users.accept_write(7, 0.0)

    users.decide_write(7, 5)
    assert users.is_in_flight(7)
    users.decide_write(7, None)

    assert not users.is_in_flight(7)
    assert users.stamp(7) == 5


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 99))), st.integers(0, 99), st.sets(st.integers(1, 9)), st.sets(st.integers(1, 12))
)
def test_what_is_said_of_many_users_at_once_is_what_is_said_of_each(
    stamps: list[tuple[int, int]], floor: int, writers: set[int], uids: set[int]
) -> None:
    users = UserInfo(1000)
    for uid, stamp in stamps:
        users.raise_stamp(uid, stamp)
    users.raise_floor(floor, "start")
    for uid in writers:
        users.accept_write(uid, 0.0)

    assert users.largest_stamp(uids) == max(map(users.stamp, uids), default=users.floor)
    assert users.any_in_flight(uids) == any(map(users.is_in_flight, uids))


def test_stamps_that_every_replica_has_passed_are_dropped_and_the_floor_rises_to_them() -> None:
    users = UserInfo(1000)
    for uid, stamp in ((1, 10), (2, 20), (3, 30)):
        users.raise_stamp(uid, stamp)

    users.forget_passed([25, 99])

    assert len(users) == 1
    assert users.floor == 20
    assert users.stamp(1) == 20


def test_nothing_is_dropped_while_a_configured_replica_is_unknown() -> None:
    users = UserInfo(1000)
    users.raise_stamp(1, 10)

    users.forget_passed([99, None])
    users.forget_passed([])

    assert len(users) == 1
    assert users.floor == 0


def test_the_table_is_bounded_and_what_it_drops_raises_the_floor() -> None:
    users = UserInfo(3)
    for uid in range(1, 6):
        users.raise_stamp(uid, 10 * uid)

    assert len(users) == 3
    assert users.floor == 20
    assert users.floor_rises["lru"] == 2


def test_an_answer_is_not_storable_when_a_write_came_after_its_read_or_is_still_in_flight() -> None:
    users = UserInfo(1000)
    before = users.accept_number
    users.accept_write(7, 1.0)
    assert users.written_since([7, 8], users.accept_number) == {7}, "in flight"
    users.decide_write(7, 5)

    assert users.written_since([7, 8], before) == {7}
    assert not users.written_since([7, 8], users.accept_number)


def test_accepted_writes_are_forgotten_when_no_read_that_old_can_be_waiting() -> None:
    users = UserInfo(1000)
    before = users.accept_number
    users.accept_write(7, 1.0)
    users.decide_write(7, 5)
    users.accept_write(8, 3.0)
    users.decide_write(8, 6)

    users.forget_accepted(2.0)

    assert users.written_since([7, 8], before) == {8}


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40)), max_size=60))
def test_a_stamp_never_falls_whatever_is_dropped(steps: list[tuple[int, int]]) -> None:
    users = UserInfo(2)
    written: dict[int, int] = {}
    for tick, (uid, passed) in enumerate(steps, start=1):
        users.raise_stamp(uid, tick)
        written[uid] = tick
        users.forget_passed([passed])

        assert all(users.stamp(each) >= stamp for each, stamp in written.items())


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(8, 40)), min_size=8, max_size=60), st.integers(6, 12))
def test_a_stamp_never_falls_although_old_ones_are_rounded(steps: list[tuple[int, int]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(user_info, "PLACES_A_CHUNK", 3)
        patch.setattr(user_info, "EXACT_CHUNKS", 1)
        users = UserInfo(most)
        written: dict[int, int] = {}
        for tick, (uid, lag) in enumerate(steps, start=1):
            users.raise_stamp(uid, tick)
            written[uid] = tick
            users.forget_passed([tick - lag])

            assert all(stamp <= users.stamp(each) <= tick for each, stamp in written.items())
            assert len(users) <= most
        users.forget_passed([len(steps)])
        assert len(users) == 0


def test_only_stamps_with_many_newer_ones_are_rounded_up_and_never_by_more_than_a_chunk() -> None:
    users = UserInfo(1_000_000)
    exact, last = EXACT_CHUNKS * PLACES_A_CHUNK, 100_000
    for tick in range(1, last + 1):
        users.raise_stamp(tick, tick)

    assert all(users.stamp(uid) == uid for uid in range(last - exact, last + 1))
    assert all(uid <= users.stamp(uid) < uid + PLACES_A_CHUNK for uid in range(1, last - exact))
    assert users.stamp(1) == PLACES_A_CHUNK, "old enough"
    users.forget_passed([last - 1])
    assert (len(users), users.floor) == (1, last - 1)


def test_stamps_that_lie_far_apart_stay_exact_however_old() -> None:
    users = UserInfo(1_000_000)
    for uid in range(1, PLACES_A_CHUNK + 1):
        users.raise_stamp(uid, 100 * uid)
    newest = 100 * PLACES_A_CHUNK
    for uid in range(10_000, 10_000 + (EXACT_CHUNKS + 2) * PLACES_A_CHUNK):
        newest += 1
        users.raise_stamp(uid, newest)

    assert all(users.stamp(uid) == 100 * uid for uid in range(1, PLACES_A_CHUNK + 1))


def test_a_stamp_never_falls_when_many_users_write_again_and_again() -> None:
    chance = random.Random(7)
    users = UserInfo(90_000)
    written: dict[int, int] = {}
    for tick in range(1, 300_001):
        uid = chance.randrange(100_000)
        users.raise_stamp(uid, tick)
        written[uid] = tick
        if tick % 60_000 == 0:
            users.forget_passed([tick - 180_000])
            for each, stamp in written.items():
                assert users.stamp(each) >= stamp
                assert users.stamp(each) <= max(stamp + (tick - stamp) / 16, users.floor), "rounded up, and by little"

    users.forget_passed([tick])
    assert (len(users), users.floor) == (0, tick)


FILL = """
import re
from workers.trails import NodeNumbers, Trails
from workers.user_info import UserInfo

def resident_bytes():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

users, trails = UserInfo(1_000_000), Trails(NodeNumbers(), 300.0, 1_000_000, 0.0)
for node in range(20):
    trails.note(1, f"n{node}", 0.0)
before = resident_bytes()
for place in range(USERS):
    uid = int(b"%d" % (10**12 + place))
    users.raise_stamp(uid, 10**9 + place)
    trails.begin_write(uid, "n15", 0.0)
print((resident_bytes() - before) / USERS)
"""


def test_stamp_and_trail_of_a_user_take_no_more_than_two_places_in_dictionaries_and_a_number() -> None:
    """As many as fill the dictionaries well; each with a tick of his own, on one of many nodes."""
    fill = FILL.replace("USERS", "340_000")
    told = subprocess.run([sys.executable, "-c", fill], cwd=PROJECT, capture_output=True, text=True, check=True).stdout

    assert float(told) < 140, "110; it was 190 with an int for each stamp and each trail"
