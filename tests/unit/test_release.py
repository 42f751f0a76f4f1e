"""Gray release: lists and a sticky share of the users."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.config.documents import Release
from apps.tasks.evaluation.release import Members, bucket_of
from tests.unit.evaluating import bundle, codes, decisions, task

uids = st.integers(1, 2**63 - 1)
shares = st.integers(0, 10_000)


@given(uid=uids, salt=st.text(max_size=20), one=shares, other=shares)
def test_a_larger_share_keeps_everybody_who_had_the_task(uid: int, salt: str, one: int, other: int) -> None:
    smaller, larger = sorted((one, other))

    assert 0 <= bucket_of(salt, uid) < 10_000
    assert bucket_of(salt, uid) < larger or bucket_of(salt, uid) >= smaller


def test_raising_the_percentage_removes_nobody_from_a_task() -> None:
    had: set[int] = set()
    for percentage_bp in (0, 100, 500, 2_500, 7_000, 9_999, 10_000):
        live = bundle(task(release=Release(percentage_bp=percentage_bp)))
        has = {uid for uid in range(1, 2_000) if decisions(live, uid=uid)["invite"].status == "available"}
        assert had <= has
        had = has
    assert len(had) == 1_999


def test_a_share_is_about_as_large_as_it_says() -> None:
    inside = sum(bucket_of("daily", uid) < 2_000 for uid in range(20_000))

    assert 3_700 < inside < 4_300


def test_another_salt_takes_other_users() -> None:
    first, second = ({uid for uid in range(5_000) if bucket_of(salt, uid) < 1_000} for salt in ("a", "b"))

    assert len(first & second) < 100


def test_deny_outweighs_allow_and_allow_outweighs_the_share() -> None:
    lists = {"staff": [7, 8], "cheats": [8, 9]}
    none = bundle(task(release=Release(percentage_bp=0, allow=("staff",), deny=("cheats",))), lists=lists)
    everybody = bundle(task(release=Release(deny=("cheats",))), lists=lists)

    assert [codes(decisions(none, uid=uid)["invite"]) for uid in (7, 8, 9, 10)] == [[], ["denied"], ["denied"], ["not_released"]]
    assert [codes(decisions(everybody, uid=uid)["invite"]) for uid in (7, 8, 10)] == [[], ["denied"], []]


def test_the_reason_says_the_bucket_and_the_share() -> None:
    (reason,) = decisions(bundle(task(release=Release(percentage_bp=0))))["invite"].reasons

    assert (reason.code, reason.wanted, reason.actual) == ("not_released", 0, bucket_of("invite", 42))


@given(listed=st.sets(uids, max_size=50), asked=uids)
def test_members_are_those_listed(listed: set[int], asked: int) -> None:
    members = Members(listed)

    assert (asked in members) == (asked in listed)
    assert all(uid in members for uid in listed)
    assert len(members) == len(listed)
