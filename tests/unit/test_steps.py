from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.changes import apply_changes, clear, decode_results, encode_results
from workers.grants import Grant, GrantsNeeded
from workers.protocol import CLAIMED, COMPLETED, IN_PROGRESS, Change, ChangeResult, OldRules
from workers.quotas import QuotasNeeded
from workers.steps import MOST_MEMBERS
from workers.users import Record, User

NOW = 1_800_000_000_000
KEY = (1, "once")
TIERS = ((3, 10), (6, 20), (9, 30))


def change(op: str, value: int = 0, **more: Any) -> Change:
    return Change(task=1, period="once", op=op, value=value, **more)


def do(user: User, *changes: Change, quotas: dict[tuple[int, str], int] | None = None, given: Sequence[Grant] | None = ()) -> ChangeResult:
    """Apply them as one event; what became of the last."""
    return apply_changes(user, list(changes), NOW, quotas, given)[-1]


def ids(user: User) -> list[str]:
    return [grant.grant_id for grant in user.grants]


# -- counting


def test_a_member_counts_once_however_often_it_comes() -> None:
    user = User(7)

    progress = [do(user, change("distinct", member=name, target=2)).progress for name in ("ann", "bob", "ann", "朋友")]

    assert progress == [1, 2, 2, 3]
    assert user.tasks[KEY].state == COMPLETED


def test_members_are_bounded_and_what_is_above_is_not_counted() -> None:
    user = User(7)

    do(user, *[change("distinct", member=str(number)) for number in range(MOST_MEMBERS + 5)])

    assert user.tasks[KEY].progress == MOST_MEMBERS
    assert len(user.tasks[KEY].members or b"") == 8 * MOST_MEMBERS


def test_a_reverted_member_can_be_counted_again() -> None:
    user = User(7)
    do(user, *[change("distinct", member=name) for name in ("ann", "bob", "eve")])

    assert do(user, change("revert", mode="distinct", member="bob")).progress == 2
    assert do(user, change("revert", mode="distinct", member="bob")).progress == 2
    assert do(user, change("distinct", member="ann")).progress == 2
    assert do(user, change("distinct", member="bob")).progress == 3


def test_an_accepted_task_has_a_record_without_progress_and_then_counts() -> None:
    user = User(7)
    step = change("add", 1, needs_record=True)

    refused = do(user, step)
    assert (refused.refused, user.tasks, user.version) == ("not_accepted", {}, 1)
    accepted = do(user, change("accept"), change("accept"))
    counted = do(user, step)

    assert (accepted.progress, accepted.refused, counted.progress, counted.refused) == (0, "", 1, "")


def test_a_begun_task_excludes_the_others_of_its_group_but_not_itself() -> None:
    user = User(7, tasks={(1, "once"): Record(progress=1), (3, "once"): Record()})
    other = Change(task=2, period="once", op="add", value=1, excludes=((3, "once"), (1, "once")))

    result = do(user, other)

    assert (result.refused, result.about, result.progress) == ("excluded", "1", 0)
    assert (2, "once") not in user.tasks
    assert do(user, change("add", 1, excludes=((2, "once"),))).progress == 2
    user.tasks[2, "once"] = Record(progress=1)
    assert do(user, other).refused == "", "who began both goes on with both"


def test_of_two_in_a_group_that_one_event_feeds_the_first_is_begun() -> None:
    user = User(7)

    result = do(user, change("add", 1, excludes=((2, "once"),)), Change(task=2, period="once", op="add", value=1, excludes=(KEY,)))

    assert (result.refused, result.about) == ("excluded", "1")


def test_nothing_of_an_event_is_done_by_rules_that_are_older_than_a_record() -> None:
    user = User(7, version=4, tasks={(2, "once"): Record(progress=1, revision=9)})
    before = copy.deepcopy(user)

    with pytest.raises(OldRules) as caught:
        do(user, change("add", 1, revision=8), Change(task=2, period="once", op="add", value=1, revision=8))

    assert (caught.value.revision, user) == (9, before)
    assert do(user, change("add", 1, revision=9)).progress == 1


# -- tiers


def test_each_tier_is_granted_once_when_it_is_reached_and_the_last_completes() -> None:
    user = User(7)
    step = change("add", 4, target=9, tiers=TIERS)

    results = [do(user, step) for _ in range(4)]

    assert [(each.points, each.granted, each.completed_now) for each in results] == [
        (10, 1, False),
        (20, 1, False),
        (30, 1, True),
        (0, 0, False),
    ]
    assert ids(user) == ["7:1:once:1", "7:1:once:2", "7:1:once:3"]
    assert [grant.total for grant in user.grants] == [10, 30, 60]
    assert user.points == 60


def test_completing_at_once_grants_all_tiers_that_are_left() -> None:
    user = User(7)
    do(user, change("add", 3, target=9, tiers=TIERS))

    result = do(user, change("complete", target=9, tiers=TIERS))

    assert (result.points, result.granted, result.progress, result.completed_now) == (50, 2, 9, True)


def test_a_claim_gives_the_reached_tiers_and_the_last_ends_the_task() -> None:
    user = User(7)
    rules: dict[str, Any] = {"target": 9, "tiers": TIERS, "by_claim": True}
    assert do(user, change("claim", **rules)).refused == "not_completed", "there is no record"
    assert do(user, change("add", 6, **rules)).points == 0

    first = do(user, change("claim", **rules))
    again = do(user, change("claim", **rules))
    completed = do(user, change("add", 6, **rules))
    last = do(user, change("claim", **rules))

    assert (first.points, first.granted, first.claimed_now, first.state) == (30, 2, True, IN_PROGRESS)
    assert (again.points, again.refused, again.claimed_now) == (0, "already_claimed", False)
    assert (completed.completed_now, completed.points) == (True, 0)
    assert (last.points, last.state) == (30, CLAIMED)
    assert do(user, change("claim", **rules)).refused == "already_claimed"
    assert user.tasks[KEY].claimed_at == NOW


# -- claims


def test_a_claim_gives_the_points_once() -> None:
    user = User(7)
    rules: dict[str, Any] = {"target": 2, "points": 50, "by_claim": True}
    assert do(user, change("add", 1, **rules)) == ChangeResult(1, "once", 1, IN_PROGRESS, False, 0)
    assert do(user, change("claim", **rules)).refused == "not_completed"
    completed = do(user, change("add", 1, **rules))

    results = [do(user, change("claim", **rules)) for _ in range(3)]

    assert (completed.completed_now, completed.points) == (True, 0)
    assert [(each.points, each.claimed_now, each.refused) for each in results] == [
        (50, True, ""),
        (0, False, "already_claimed"),
        (0, False, "already_claimed"),
    ]
    assert (user.points, ids(user), user.tasks[KEY].state) == (50, ["7:1:once:0"], CLAIMED)


def test_what_was_granted_at_completion_is_not_granted_by_a_claim_as_well() -> None:
    user = User(7)
    do(user, change("complete", points=5))

    result = do(user, change("claim", points=5, by_claim=True))

    assert (result.points, result.state, user.points) == (0, CLAIMED, 5)


# -- caps


def test_a_cap_lets_so_many_completions_through_as_it_says() -> None:
    quotas = {(1, "total"): 0}
    step = change("complete", target=1, points=5, caps={"total": 3})

    results = [do(User(uid), step, quotas=quotas) for uid in range(1, 6)]

    assert [each.refused for each in results] == ["", "", "", "capped", "capped"]
    assert results[4].about == "total"
    assert results[4].progress == 0
    assert quotas == {(1, "total"): 3}


def test_a_reached_cap_keeps_the_progress_but_completes_nothing() -> None:
    user, quotas = User(7), {(1, "total"): 3}
    step = change("add", 2, target=2, points=5, caps={"total": 3})

    result = do(user, step, quotas=quotas)
    assert (result.progress, result.state, result.points, result.refused) == (2, IN_PROGRESS, 0, "capped")
    refused = do(User(8), change("complete", target=2, caps={"total": 3}), quotas=quotas)
    assert (refused.progress, refused.state) == (0, IN_PROGRESS)

    quotas[1, "total"] = 2
    assert do(user, step, quotas=quotas).completed_now, "there is room again"


def test_a_refused_complete_begins_no_record() -> None:
    user = User(7)
    do(user, change("complete", target=2, caps={"total": 0}), quotas={(1, "total"): 0})
    assert user.tasks == {}


def test_a_budget_is_of_points_and_is_taken_whole_or_not() -> None:
    quotas = {(1, "points"): 0}
    step = change("complete", points=40, caps={"points": 100})

    results = [do(User(uid), step, quotas=quotas) for uid in range(1, 5)]

    assert [(each.points, each.about) for each in results] == [(40, ""), (40, ""), (0, "points"), (0, "points")]
    assert quotas[1, "points"] == 80


def test_a_budget_gives_the_tiers_for_which_it_has_room() -> None:
    user, quotas = User(7), {(1, "points"): 0, (1, "total"): 0}
    rules: dict[str, Any] = {"target": 9, "tiers": TIERS, "caps": {"points": 35, "total": 9}}

    result = do(user, change("add", 9, **rules), quotas=quotas)

    assert (result.points, result.granted, result.refused, result.state) == (30, 2, "capped", IN_PROGRESS)
    assert quotas == {(1, "points"): 30, (1, "total"): 0}


def test_a_task_by_claim_has_its_points_set_aside_when_it_completes() -> None:
    quotas = {(1, "points"): 0}
    rules: dict[str, Any] = {"target": 1, "points": 60, "by_claim": True, "caps": {"points": 100}}
    first, second = User(7), User(8)

    do(first, change("complete", **rules), quotas=quotas)
    assert do(second, change("complete", **rules), quotas=quotas).refused == "capped"
    assert do(first, change("claim", **rules)).points == 60, "the claim asks no quota"
    assert quotas == {(1, "points"): 60}


def test_quotas_are_asked_for_only_where_they_decide_and_nothing_is_done_without() -> None:
    user = User(7)
    step = change("add", 1, target=2, caps={"total": 1})
    do(user, step)
    before = copy.deepcopy(user)

    with pytest.raises(QuotasNeeded):
        do(user, change("add", 1), step)

    assert user == before


def test_a_refused_event_uses_no_quota() -> None:
    user, quotas = User(7, tasks={(2, "once"): Record(revision=5)}), {(1, "total"): 0}

    with pytest.raises(OldRules):
        do(user, change("complete", caps={"total": 3}), Change(task=2, period="once", op="add"), quotas=quotas)

    assert quotas == {(1, "total"): 0}


# -- revert


@pytest.mark.parametrize(("mode", "value", "after"), [("add", 2, 3), ("add", 9, 0), ("max", 1, 1), ("set", 4, 4)])
def test_a_revert_takes_progress_back_as_its_mode_says(mode: str, value: int, after: int) -> None:
    user = User(7, tasks={KEY: Record(progress=5)})
    assert do(user, change("revert", value, mode=mode)).progress == after


def test_a_revert_of_nothing_begins_nothing() -> None:
    user = User(7)
    result = do(user, change("revert", 1, mode="add", target=1, takes_back=True))
    assert (result.refused, result.points, user.tasks) == ("", 0, {})


def test_a_revert_never_takes_back_what_was_granted_unless_the_change_says_so() -> None:
    user = User(7)
    do(user, change("add", 3, target=3, points=50))

    result = do(user, change("revert", 1, mode="add", target=3, points=50))

    assert (result.progress, result.state, result.points, user.points) == (2, COMPLETED, 0, 50)
    assert not do(user, change("add", 1, target=3, points=50)).completed_now


def test_a_completion_that_has_given_nothing_yet_is_undone_and_its_quotas_are_free_again() -> None:
    user, quotas = User(7), {(1, "total"): 0, (1, "points"): 0}
    rules: dict[str, Any] = {"target": 3, "points": 50, "by_claim": True, "caps": {"total": 1, "points": 99}}
    do(user, change("add", 3, **rules), quotas=quotas)
    assert quotas == {(1, "total"): 1, (1, "points"): 50}

    result = do(user, change("revert", 1, mode="add", **rules), quotas=quotas)

    assert (result.state, user.tasks[KEY].completed_at) == (IN_PROGRESS, None)
    assert quotas == {(1, "total"): 0, (1, "points"): 0}
    assert do(user, change("claim", **rules)).refused == "not_completed"


def test_what_is_taken_back_leaves_by_an_id_of_its_own_and_can_be_earned_again() -> None:
    user, quotas = User(7), {(1, "total"): 0}
    rules: dict[str, Any] = {"target": 3, "points": 50, "caps": {"total": 1}}
    do(user, change("add", 3, **rules), quotas=quotas)

    back = do(user, change("revert", 1, mode="add", takes_back=True, **rules), quotas=quotas)
    assert (back.points, back.granted, back.state, user.points, quotas) == (-50, -1, IN_PROGRESS, 0, {(1, "total"): 0})
    again = do(user, change("add", 1, **rules), quotas=quotas)

    assert (again.points, again.completed_now) == (50, True)
    assert ids(user) == ["7:1:once:0", "7:1:once:0~back", "7:1:once:0~1"]
    assert [(grant.points, grant.total) for grant in user.grants] == [(50, 50), (-50, 0), (50, 50)]


def test_tiers_that_are_still_reached_are_not_taken_back() -> None:
    user = User(7)
    rules: dict[str, Any] = {"target": 9, "tiers": TIERS}
    do(user, change("add", 9, **rules))

    kept = do(user, change("revert", 2, mode="add", **rules))
    assert (kept.points, kept.state) == (0, COMPLETED)
    back = do(user, change("revert", 3, mode="add", takes_back=True, **rules))

    assert (back.progress, back.points, back.granted, back.state) == (4, -50, -2, IN_PROGRESS)
    assert ids(user)[3:] == ["7:1:once:3~back", "7:1:once:2~back"]
    assert do(user, change("add", 5, **rules)).granted == 2
    assert ids(user)[5:] == ["7:1:once:2~1", "7:1:once:3~1"]


def test_what_was_given_is_taken_back_whatever_the_rules_say_now() -> None:
    user = User(7)
    do(user, change("add", 3, target=3, points=5))
    written = list(user.grants)
    user.forget_changes()
    back = change("revert", 3, mode="add", target=4, points=500, takes_back=True)

    with pytest.raises(GrantsNeeded):
        do(user, back, given=None)
    result = do(user, back, given=written)

    assert (result.points, user.points, ids(user)) == (-5, 0, ["7:1:once:0~back"])
    again = do(user, change("add", 4, target=4, points=500), given=None)
    assert (again.points, ids(user)[1:]) == (500, ["7:1:once:0~1"])


def test_each_tier_is_taken_back_by_the_id_by_which_it_was_given() -> None:
    user = User(7)
    rules: dict[str, Any] = {"target": 9, "tiers": TIERS}
    steps = [change("add", 9, **rules), change("revert", 2, mode="add", takes_back=True, **rules), change("add", 2, **rules)]

    result = do(user, *steps, change("revert", 9, mode="add", takes_back=True, **rules))

    assert (result.points, result.granted, user.points) == (-60, -3, 0)
    assert ids(user)[5:] == ["7:1:once:3~1~back", "7:1:once:2~back", "7:1:once:1~back"]


# -- grants


def test_after_a_clear_the_same_is_earned_anew_under_another_id() -> None:
    user = User(7)
    do(user, change("complete", points=5))
    clear(user)
    assert (user.grants, user.born_version) == ([], 2)

    do(user, change("complete", points=5))

    assert ids(user) == ["7:1:once:0~b2"]
    assert (user.grants[0].version, user.grants[0].total) == (3, 5)


def test_all_grants_of_an_event_carry_the_total_after_it() -> None:
    user = User(7, points=3)

    do(user, change("complete", target=9, tiers=TIERS), Change(task=2, period="once", op="complete", points=4))

    assert [(grant.points, grant.total) for grant in user.grants] == [(10, 67), (20, 67), (30, 67), (4, 67)]


def test_what_is_worth_no_points_is_granted_and_goes_nowhere() -> None:
    user = User(7)

    result = do(user, change("complete", target=1))

    assert (result.granted, user.grants, user.tasks[KEY].granted) == (1, [], 1)
    assert do(user, change("revert", 1, mode="add", target=1)).state == COMPLETED


OPS = st.sampled_from(["add", "max", "set", "distinct", "complete", "accept", "claim", "revert"])
STEPS = st.tuples(OPS, st.integers(0, 5), st.sampled_from(["add", "max", "set", "distinct"]), st.sampled_from("abcd"), st.booleans())
RULES = st.sampled_from(
    [
        {"target": 3, "points": 7},
        {"target": 3, "points": 7, "by_claim": True},
        {"target": 4, "tiers": ((2, 5), (4, 6))},
        {"target": 4, "tiers": ((1, 0), (2, 5), (4, 6)), "by_claim": True},
    ]
)


@given(st.lists(st.tuples(RULES, st.lists(STEPS, min_size=1, max_size=12)), min_size=1, max_size=4), st.integers(0, 4), st.integers(0, 40))
def test_points_are_the_sum_of_the_grants_whose_ids_differ_and_every_replay_is_the_same(
    tasks: list[tuple[dict[str, Any], list[tuple[str, int, str, str, bool]]]], most: int, budget: int
) -> None:
    user, other = User(7), User(7)
    quotas = {(number, key): 0 for number in range(1, 5) for key in ("total", "points")}
    others = dict(quotas)
    caps = {"total": most, "points": budget}
    for number, (rules, steps) in enumerate(tasks, 1):
        for op, value, mode, member, takes_back in steps:
            step = Change(
                task=number, period="once", op=op, value=value, mode=mode, member=member, takes_back=takes_back, caps=caps, **rules
            )
            results = apply_changes(user, [step], NOW, quotas, [])
            assert results == apply_changes(other, [step], NOW, others, [])
            assert decode_results(encode_results(results)) == results

    assert (user, quotas) == (other, others)
    assert user.points == sum(grant.points for grant in user.grants) >= 0
    assert len(ids(user)) == len(set(ids(user)))
    assert all(0 <= used <= (most if key == "total" else budget) for (_, key), used in quotas.items())
    for number in range(1, len(tasks) + 1):
        records = [record for (task, _), record in user.tasks.items() if task == number]
        assert quotas[number, "total"] == sum(record.state != IN_PROGRESS for record in records)
        if not tasks[number - 1][0].get("by_claim"):
            assert quotas[number, "points"] == sum(grant.points for grant in user.grants if grant.task == number)
