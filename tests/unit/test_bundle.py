"""The bundle: compiled from a configuration, the same for the same, and loaded without one bad task taking the others away."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.tasks.config.compile import compile_bundle, etag_of
from apps.tasks.config.documents import Claim, Period, Release, Task, Text, Tier
from apps.tasks.evaluation.bundle import BadBundle, load_bundle
from tests.unit.evaluating import DAY, NOW, bundle_bytes, configuration, task, where


def test_equal_configurations_give_equal_bytes() -> None:
    one, other = task("a", tags=("x",)), task("b")

    assert bundle_bytes(one, other) == bundle_bytes(one, other)


def test_every_change_changes_the_etag_also_an_indirect_one() -> None:
    lists = {"staff": [1, 2]}
    before = task(texts={"en": Text(name="Invite")}, release=Release(allow=("staff",)))
    first = bundle_bytes(before, lists=lists)

    others = [
        bundle_bytes(task(texts={"en": Text(name="Invite!")}, release=Release(allow=("staff",))), lists=lists),
        bundle_bytes(before, lists={"staff": [1, 2, 3]}),
        bundle_bytes(before, lists=lists, revision=2),
        bundle_bytes(before, lists=lists).replace(b'"default":0', b'"default":1'),
    ]

    assert etag_of(1, first) == etag_of(1, bundle_bytes(before, lists=lists))
    assert len({etag_of(1, each) for each in (first, *others)}) == 5
    assert etag_of(17, first).startswith('"17-')


def test_archived_tasks_are_not_in_it_and_the_others_are_by_code_with_their_numbers() -> None:
    content = json.loads(compile_bundle(configuration(task("b"), task("gone", archived=True), task("a")), {"a": 4, "gone": 5}, {}, 3, NOW))

    assert [(each["code"], each["number"], each["since"]) for each in content["tasks"]] == [("a", 4, 3), ("b", 0, 3)]
    assert (content["schema"], content["revision"], content["published_at"]) == (1, 3, "2026-11-30T12:00:00Z")


def test_lists_bring_their_uids() -> None:
    live = load_bundle(bundle_bytes(task(release=Release(allow=("staff",))), lists={"staff": [1, 2**63 - 1]}))

    assert 2**63 - 1 in live.lists["staff"]
    assert 3 not in live.lists["staff"]


def test_history_counts_only_where_the_operator_says_so() -> None:
    def counts_from(of: Task, **more: Any) -> Any:
        return json.loads(bundle_bytes(of, **more))["tasks"][0].get("counts_from")

    assert counts_from(task(), history_counts=True) is None
    assert counts_from(task(), history_counts=False) == "2026-11-30T12:00:00Z"
    assert counts_from(task(starts_at=NOW + DAY), history_counts=False) is None
    live = bundle_bytes(task(), history_counts=False)
    later = {"revision": 2, "published_at": NOW + DAY, "previous": live}
    assert counts_from(task(points=11), history_counts=True, **later) == "2026-11-30T12:00:00Z"  # it is not new any more


def kept_of(data: bytes) -> list[Any]:
    found: list[Any] = json.loads(data)["tasks"][0].get("kept", [])
    return found


DAILY = Period(kind="daily")


def test_changed_rules_are_kept_for_users_in_flight_until_their_period_must_be_over() -> None:
    first = bundle_bytes(task(period=DAILY, target=3, late_window_s=3600))
    second = bundle_bytes(task(period=DAILY, target=5, late_window_s=3600), revision=2, previous=first)
    unchanged = bundle_bytes(
        task(period=DAILY, target=5, late_window_s=3600, weight=9), revision=3, published_at=NOW + timedelta(hours=12), previous=second
    )
    next_day = bundle_bytes(
        task(period=DAILY, target=5, late_window_s=3600), revision=4, published_at=NOW + timedelta(hours=13), previous=unchanged
    )

    assert [(each["before"], each["target"], each["until"]) for each in kept_of(second)] == [(2, 3, "2026-12-01T01:00:00Z")]
    assert json.loads(second)["tasks"][0]["since"] == 2
    assert kept_of(unchanged) == kept_of(second)
    assert kept_of(next_day) == []
    assert json.loads(next_day)["tasks"][0]["since"] == 2


def test_rules_applied_at_once_leave_nothing_kept() -> None:
    first = bundle_bytes(task(target=3))
    second = bundle_bytes(task(target=5), revision=2, previous=first)
    third = bundle_bytes(task(target=4), revision=3, previous=second, in_flight="apply")

    assert len(kept_of(second)) == 1
    assert kept_of(third) == []


def test_a_once_task_keeps_its_older_rules_for_ever_in_order() -> None:
    data = bundle_bytes(task(target=1))
    for revision in (2, 3, 4):
        data = bundle_bytes(task(target=revision), revision=revision, published_at=NOW + revision * 100 * DAY, previous=data)

    assert [(each["before"], each.get("target", 1)) for each in kept_of(data)] == [(2, 1), (3, 2), (4, 3)]
    assert all("until" not in each or each["until"] is None for each in kept_of(data))


def test_a_claim_with_grace_keeps_the_rules_as_long_as_it_may_be_made() -> None:
    week = Claim(mode="by_claim", grace_s=7 * 86_400)
    second = bundle_bytes(task(period=DAILY, points=20, claim=week), revision=2, previous=bundle_bytes(task(period=DAILY, claim=week)))

    assert kept_of(second)[0]["until"] == "2026-12-08T00:00:00Z"


@pytest.mark.parametrize(
    "field", [{"weight": 5}, {"texts": {"en": Text(name="x")}}, {"switched_off": True}, {"conditions": ((where("level", ">", 1),),)}]
)
def test_what_is_no_rule_keeps_nothing(field: dict[str, Any]) -> None:
    assert kept_of(bundle_bytes(task(**field), revision=2, previous=bundle_bytes(task()))) == []


def test_a_task_that_this_host_cannot_use_is_left_out_alone() -> None:
    data = bundle_bytes(
        task("good"),
        task("zone", period=Period(kind="daily", zone="Mars/Olympus")),
        task("fallback", period=Period(kind="daily", zone="user", fallback_zone="Mars/Olympus")),
        task("row", conditions=((where("level", "contains", "x"),),)),
        task("list", release=Release(allow=("nobody",))),
    )

    live = load_bundle(data)

    assert list(live.by_code) == ["good"]
    assert set(live.left_out) == {"zone", "fallback", "row", "list"}
    assert "Mars/Olympus" in live.left_out["zone"]


@pytest.mark.parametrize(
    "fields",
    [
        {"period": Period(kind="every_days", every_days=0)},
        {"period": Period(kind="monthly", month_day=0)},
        {"period": Period(kind="weekly", week_starts_on=8)},
        {"period": Period(kind="daily", resets_at="25:00")},
        {"period": Period(kind="daily", resets_at="04:00+08:00")},
        {"period": Period(kind="daily", zone="user", resets_at="soon")},
        {"kind": "streak", "streak": {"length": 0}},
        {"starts_at": datetime(2026, 1, 1)},
        {"ends_at": datetime(2027, 1, 1)},
    ],
)
def test_a_task_that_would_fail_for_every_user_is_left_out_before(fields: dict[str, Any]) -> None:
    """Validation refuses these; a bundle may come from elsewhere."""
    data = bundle_bytes(task("good"), task("bad", **fields)) if "streak" not in fields else _with_streak_of_no_length()

    assert list(load_bundle(data).left_out) == ["bad"]


def _with_streak_of_no_length() -> bytes:
    data = bundle_bytes(task("good"), task("bad", kind="streak", streak={"length": 7}))
    return data.replace(b'"length":7', b'"length":0')


NO_BUNDLES = {
    "nothing": b"",
    "null": b"null",
    "a list": b"[]",
    "no UTF-8": b"\xff\xfe",
    "an empty object": b"{}",
    "a part": b'{"schema":1}',
    "a schema to come": bundle_bytes(task()).replace(b'"schema":1', b'"schema":2'),
    "a number as text": bundle_bytes(task()).replace(b'"points":10', b'"points":"ten"'),
    "a default of another type": bundle_bytes(task()).replace(b'"default":0', b'"default":"none"'),
    "a field to come": bundle_bytes(task()).replace(b'"points":10', b'"pints":10'),
    "a uid below nothing": bundle_bytes(task(), lists={"staff": [1]}).replace(b'"uids":[1]', b'"uids":[-1]'),
    "a uid too large": bundle_bytes(task(), lists={"staff": [1]}).replace(b'"uids":[1]', b'"uids":[18446744073709551616]'),
    "cut off": bundle_bytes(task())[:-1],
    "nested without end": b"[" * 100_000,
}


@pytest.mark.parametrize("data", NO_BUNDLES.values(), ids=NO_BUNDLES)
def test_what_is_no_bundle_is_refused_whole(data: bytes) -> None:
    with pytest.raises(BadBundle):
        load_bundle(data)


def test_ten_thousand_tasks_with_tiers_load() -> None:
    tiers = tuple(Tier(target=target, points=target) for target in (1, 2, 3))
    tasks = [task(f"t{number}", kind="tiers", tiers=tiers, period=DAILY) for number in range(10_000)]

    live = load_bundle(bundle_bytes(*tasks))

    assert len(live.tasks) == 10_000
    assert len(live.clocks) == 1  # shared
