"""What no configuration may be is refused, with the place, and with words that say the way out."""

from __future__ import annotations

import re
import time
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation

from apps.tasks.config import limits
from apps.tasks.config.documents import (
    USER_ZONE,
    Attribute,
    Caps,
    Claim,
    Configuration,
    EventType,
    Feed,
    Period,
    Prerequisite,
    Release,
    Streak,
    Text,
    Tier,
    UserList,
)
from apps.tasks.config.faults import FAULT, WARNING, WARNINGS, Fault, refusals
from apps.tasks.config.labels import say_place
from apps.tasks.config.reading import _CODES, read_document
from apps.tasks.config.validate import validate
from apps.tasks.config.words import SENTENCES, say_fault
from apps.tasks.models.live import CODE_PATTERN
from tasksys_site.configuration import PROJECT
from tests.unit.task_documents import BETA, END, LEVEL, MATCH, START, a_configuration, a_task, only_if
from tests.unit.wording import has_unfilled_place

DAILY = Period(kind="daily", zone="Asia/Shanghai")
TEXTS = {"en": Text(name="Log in today"), "zh-hans": Text(name="今日登录")}
PLAY = (Feed(event="match_finished"),)


def texts(**english: Any) -> dict[str, Text]:
    return TEXTS | {"en": Text(**({"name": "Log in today"} | english))}


def test_a_sound_configuration_has_no_fault() -> None:
    task = a_task(
        kind="tiers",
        points=0,
        tiers=(Tier(target=3, points=10), Tier(target=7, points=30)),
        ends_at=END,
        period=DAILY,
        feeds=(Feed(event="match_finished", where=(only_if("mode", "=", "ranked"),)),),
        conditions=((only_if("level", ">=", 30), only_if("region", "in", ["CN", "US"])), (only_if("vip", "=", True),)),
        claim=Claim(mode="by_claim", grace_s=86_400),
        caps=Caps(total=1000, points_budget=40_000),
        release=Release(percentage_bp=2_500, allow=("beta",)),
    )

    assert validate(a_configuration(task, a_task("weekly", prerequisites=(Prerequisite(task="daily-login"),)))) == []


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    # field at fault, the task's changes, code
    ("code", {"code": "Daily Login"}, "code_pattern"),
    ("code", {"code": "daily-login\n"}, "code_pattern"),
    ("code", {"code": "x" * 65}, "code_pattern"),
    ("texts", {"texts": {}}, "texts_missing"),
    ("texts", {"texts": {"fr": Text(name="Connexion")}}, "texts_missing"),
    ("texts/EN", {"texts": TEXTS | {"EN": Text(name="x")}}, "language_pattern"),
    ("texts", {"texts": TEXTS | {f"{a}{b}": Text(name="x") for a in "fghijklm" for b in "abcdefgh"}}, "languages_too_many"),
    ("texts/en/name", {"texts": texts(name="  ")}, "name_empty"),
    ("texts/en/name", {"texts": texts(name="x" * 201)}, "too_long"),
    ("texts/en/description", {"texts": texts(description="x" * 2001)}, "too_long"),
    ("texts/en/button", {"texts": texts(button="x" * 61)}, "too_long"),
    ("texts/en/link", {"texts": texts(link="example.com/shop")}, "link"),
    ("texts/en/link", {"texts": texts(link="javascript:alert(1)")}, "link"),
    ("texts/en/link", {"texts": texts(link="JavaScript://x/%0aalert(1)")}, "link"),
    ("texts/en/link", {"texts": texts(link="data://text/html,x")}, "link"),
    ("texts/en/link", {"texts": texts(link="https://x.y/a b")}, "link"),
    ("texts/en/link", {"texts": texts(link="https://x.y/\n")}, "link"),
    ("texts/en/link", {"texts": texts(link="https://x.y/" + "z" * 500)}, "too_long"),
    ("category", {"category": "x" * 65}, "too_long"),
    ("icon", {"icon": "x" * 201}, "too_long"),
    ("weight", {"weight": 2**31}, "out_of_range"),
    ("tags/1", {"tags": ("a", "a")}, "tag_twice"),
    ("tags/0", {"tags": (" ",)}, "tag_empty"),
    ("tags", {"tags": tuple(map(str, range(21)))}, "tags_too_many"),
    ("ends_at", {"ends_at": START}, "ends_before_start"),
    ("ends_at", {"ends_at": START - timedelta(days=1)}, "ends_before_start"),
    ("starts_at", {"starts_at": datetime(2026, 12, 1)}, "moment_without_zone"),
    ("ends_at", {"ends_at": datetime(2027, 12, 1)}, "moment_without_zone"),
    ("ends_at", {"ends_at": END.replace(year=9999)}, "year"),
    ("ends_at", {"period": Period(kind="window")}, "window_without_end"),
    ("period/zone", {"period": Period(kind="daily", zone="Asia/Shangai")}, "zone_unknown"),
    ("period/zone", {"period": Period(kind="daily", zone="")}, "zone_unknown"),
    ("period/fallback_zone", {"period": Period(kind="daily", fallback_zone=USER_ZONE)}, "zone_unknown"),
    ("period/resets_at", {"period": Period(kind="daily", resets_at="24:00")}, "time_of_day"),
    ("period/resets_at", {"period": Period(kind="daily", resets_at="4:00")}, "time_of_day"),
    ("period/resets_at", {"period": Period(kind="daily", resets_at="04:00\n")}, "time_of_day"),
    ("period/week_starts_on", {"period": Period(kind="weekly", week_starts_on=0)}, "out_of_range"),
    ("period/week_starts_on", {"period": Period(kind="weekly", week_starts_on=8)}, "out_of_range"),
    ("period/month_day", {"period": Period(kind="monthly", month_day=0)}, "out_of_range"),
    ("period/month_day", {"period": Period(kind="monthly", month_day=32)}, "out_of_range"),
    ("period/every_days", {"period": Period(kind="every_days", every_days=0)}, "out_of_range"),
    ("period/every_days", {"period": Period(kind="every_days", every_days=367)}, "out_of_range"),
    ("period/anchor", {"period": Period(kind="every_days", every_days=3, anchor=date(26, 12, 1))}, "year"),
    ("target", {"kind": "counter", "target": 0}, "out_of_range"),
    ("target", {"kind": "counter", "target": 2**53}, "out_of_range"),
    ("target", {"kind": "single", "target": 2}, "single_target"),
    ("points", {"points": -1}, "out_of_range"),
    ("points", {"points": 2**53}, "out_of_range"),
    ("tiers", {"kind": "tiers", "points": 0}, "tiers_missing"),
    ("tiers", {"tiers": (Tier(target=1),)}, "tiers_unwanted"),
    ("tiers/1/target", {"kind": "tiers", "points": 0, "tiers": (Tier(target=3), Tier(target=3))}, "tiers_not_ascending"),
    ("tiers/1/target", {"kind": "tiers", "points": 0, "tiers": (Tier(target=3), Tier(target=2))}, "tiers_not_ascending"),
    ("tiers/0/target", {"kind": "tiers", "points": 0, "tiers": (Tier(target=0),)}, "out_of_range"),
    ("tiers/0/points", {"kind": "tiers", "points": 0, "tiers": (Tier(target=1, points=-1),)}, "out_of_range"),
    (
        "tiers",
        {"kind": "tiers", "points": 0, "tiers": (Tier(target=1, points=2**53 - 1), Tier(target=2, points=1))},
        "out_of_range",
    ),
    ("tiers", {"kind": "tiers", "points": 0, "tiers": tuple(Tier(target=i + 1) for i in range(51))}, "tiers_too_many"),
    ("streak", {"kind": "streak", "period": DAILY}, "streak_missing"),
    ("streak", {"period": DAILY, "streak": Streak(length=7)}, "streak_unwanted"),
    ("streak/length", {"kind": "streak", "period": DAILY, "streak": Streak(length=1)}, "out_of_range"),
    ("streak/grace", {"kind": "streak", "period": DAILY, "streak": Streak(length=7, grace=-1)}, "out_of_range"),
    ("period/kind", {"kind": "streak", "streak": Streak(length=7)}, "streak_period"),
    ("period/kind", {"kind": "streak", "streak": Streak(length=7), "period": Period(kind="window"), "ends_at": END}, "streak_period"),
    ("distinct_by", {"kind": "counter", "mode": "distinct", "feeds": PLAY}, "distinct_by_missing"),
    ("feeds", {"kind": "counter", "mode": "distinct", "distinct_by": "rival"}, "distinct_without_feed"),
    ("distinct_by", {"kind": "counter", "mode": "distinct", "distinct_by": "friend", "feeds": PLAY}, "distinct_by_unknown"),
    ("target", {"kind": "counter", "mode": "distinct", "distinct_by": "rival", "feeds": PLAY, "target": 1001}, "out_of_range"),
    ("late_window_s", {"late_window_s": -1}, "span_out_of_range"),
    ("late_window_s", {"late_window_s": 31 * 86_400}, "late_window"),
    ("claim/grace_s", {"claim": Claim(mode="by_claim", grace_s=-1)}, "span_out_of_range"),
    ("caps/per_user", {"caps": Caps(per_user=0)}, "cap_zero"),
    ("caps/total", {"caps": Caps(total=0)}, "cap_zero"),
    ("caps/per_period", {"caps": Caps(per_period=0)}, "cap_zero"),
    ("caps/points_budget", {"caps": Caps(points_budget=0)}, "cap_zero"),
    ("caps/total", {"caps": Caps(total=-5)}, "out_of_range"),
    ("caps/points_budget", {"points": 5, "caps": Caps(points_budget=4)}, "budget_below_points"),
    ("release/percentage_bp", {"release": Release(percentage_bp=10_001)}, "share_out_of_range"),
    ("release/percentage_bp", {"release": Release(percentage_bp=-1)}, "share_out_of_range"),
    ("release/salt", {"release": Release(salt="x" * 65)}, "too_long"),
    ("release/allow/0", {"release": Release(allow=("betta",))}, "list_unknown"),
    ("release/deny/0", {"release": Release(deny=("staff",))}, "list_unknown"),
    ("release/deny/1", {"release": Release(deny=("beta", "beta"))}, "release_list_twice"),
    ("feeds/0/event", {"feeds": (Feed(event="match_finish"),)}, "event_unknown"),
    (
        "feeds/0/where/0/attribute",
        {"feeds": (Feed(event="match_finished", where=(only_if("moed", "=", "ranked"),)),)},
        "event_attribute_unknown",
    ),
    (
        "feeds/0/where/0/value",
        {"feeds": (Feed(event="match_finished", where=(only_if("score", ">", "ten"),)),)},
        "value_wrong_type",
    ),
    ("prerequisites/0/task", {"prerequisites": (Prerequisite(task="nothing"),)}, "prerequisite_unknown"),
    ("prerequisites/0/task", {"prerequisites": (Prerequisite(task="daily-login"),)}, "prerequisite_itself"),
    ("conditions/0", {"conditions": ((),)}, "group_empty"),
    ("conditions", {"conditions": ((only_if("vip", "=", True),),) * 21}, "groups_too_many"),
    ("exclusive_group", {"exclusive_group": "x" * 65}, "too_long"),
    ("sequence", {"sequence": "x" * 65}, "too_long"),
]


@pytest.mark.parametrize(("field", "changes", "code"), REFUSED)
def test_what_no_task_may_be_is_refused_with_its_place_and_the_way_out(field: str, changes: dict[str, Any], code: str) -> None:
    task = a_task(**changes)

    faults = refusals(validate(a_configuration(task)))

    assert [(fault.pointer, fault.code) for fault in faults] == [(f"/tasks/{task.code}/{field}", code)]
    assert_said(faults[0])


ROWS: list[tuple[tuple[Any, ...], str, str]] = [
    (("level", "contains", 3), "operator", "operator_unfit"),
    (("region", ">", "CN"), "operator", "operator_unfit"),
    (("vip", "in", [True]), "operator", "operator_unfit"),
    (("registered_on", "=", "2026-01-01"), "operator", "operator_unfit"),
    (("client", "contains", "1"), "operator", "operator_unfit"),
    (("level", ">=", "30"), "value", "value_wrong_type"),
    (("level", ">=", True), "value", "value_wrong_type"),
    (("level", ">=", float("inf")), "value", "value_wrong_type"),
    (("level", ">=", 2**60), "value", "out_of_range"),
    (("level", ">="), "value", "value_missing"),
    (("region", "=", ""), "value", "value_missing"),
    (("region", "=", 3), "value", "value_wrong_type"),
    (("region", "=", "x" * 201), "value", "value_wrong_type"),
    (("vip", "=", 1), "value", "value_wrong_type"),
    (("vip", "=", "yes"), "value", "value_wrong_type"),
    (("registered_on", "before", "1.12.2026"), "value", "value_wrong_type"),
    (("registered_on", "before", "2026-02-30"), "value", "value_wrong_type"),
    (("registered_on", "after", 20261201), "value", "value_wrong_type"),
    (("client", ">=", 1.1), "value", "value_wrong_type"),
    (("client", ">=", "1.x"), "value", "value_wrong_type"),
    (("client", ">=", "v1"), "value", "value_wrong_type"),
    (("vip", "exists", True), "value", "value_unwanted"),
    (("region", "in", "CN"), "value", "value_no_list"),
    (("region", "in", []), "value", "choices_empty"),
    (("region", "in", ["CN", 3]), "value/1", "value_wrong_type"),
    (("region", "in", ["CN", "CN"]), "value/1", "choice_twice"),
    (("level", "not_in", list(range(1001))), "value", "choices_too_many"),
    (("level", "between", 3), "value", "range_needs_two"),
    (("level", "between", [3]), "value", "range_needs_two"),
    (("level", "between", [3, "x"]), "value/1", "value_wrong_type"),
    (("level", "between", [4, 3]), "value", "range_reversed"),
    (("client", "between", ["1.10", "1.9"]), "value", "range_reversed"),
    (("registered_on", "between", ["2026-01-01", "2026-01-01"]), "value", "range_reversed"),
    (("levle", ">=", 3), "attribute", "attribute_unknown"),
    (("mood", "=", "good"), "attribute", "attribute_unknown"),
]


@pytest.mark.parametrize(("row", "field", "code"), ROWS)
def test_a_condition_row_that_does_not_fit_its_attribute_is_refused(row: tuple[Any, ...], field: str, code: str) -> None:
    task = a_task(conditions=((only_if("vip", "=", True),), (only_if("level", ">", 1), only_if(*row))))

    faults = refusals(validate(a_configuration(task)))

    assert [(fault.pointer, fault.code) for fault in faults] == [(f"/tasks/daily-login/conditions/1/1/{field}", code)]
    assert_said(faults[0])


@pytest.mark.parametrize(
    "row",
    [
        ("level", "in", [1, 2.5]),
        ("level", "between", [3, 3]),
        ("region", "contains", "C"),
        ("region", "exists"),
        ("vip", "!=", False),
        ("registered_on", "after", "2026-12-01T08:00:00+08:00"),
        ("registered_on", "between", ["2026-01-01", "2026-12-31"]),
        ("client", "between", ["1.9", "1.10"]),
        ("client", ">=", "3"),
    ],
)
def test_a_row_that_fits_is_no_fault(row: tuple[Any, ...]) -> None:
    assert validate(a_configuration(a_task(conditions=((only_if(*row),),)))) == []


WARNED: list[tuple[str, dict[str, Any], str]] = [
    ("texts", {"texts": {"en": Text(name="x")}}, "text_missing"),
    ("texts", {"texts": {"zh-hans": Text(name="x")}}, "text_missing"),
    ("period/week_starts_on", {"period": Period(kind="daily", week_starts_on=2)}, "period_field_unused"),
    ("period/resets_at", {"period": Period(resets_at="04:00")}, "period_field_unused"),
    ("period/zone", {"period": Period(kind="daily", zone=USER_ZONE, fallback_zone="Asia/Shanghai")}, "fallback_zone_always"),
    ("period/anchor", {"period": Period(kind="every_days", every_days=3)}, "anchor_missing"),
    ("target", {"kind": "tiers", "points": 0, "target": 3, "tiers": (Tier(target=1),)}, "tiers_field_unused"),
    ("points", {"kind": "tiers", "points": 3, "tiers": (Tier(target=1),)}, "tiers_field_unused"),
    ("distinct_by", {"distinct_by": "rival"}, "distinct_by_unused"),
    ("claim/grace_s", {"claim": Claim(grace_s=60)}, "claim_grace_unused"),
    ("caps/per_period", {"caps": Caps(total=5, per_period=6)}, "cap_never_reached"),
    ("caps/points_budget", {"points": 5, "caps": Caps(total=100, points_budget=400)}, "budget_below_total_cap"),
    ("release/percentage_bp", {"release": Release(percentage_bp=0)}, "released_to_nobody"),
    ("release/allow/0", {"release": Release(allow=("beta",), deny=("beta",))}, "list_allowed_and_denied"),
    ("conditions/0/1", {"conditions": ((only_if("vip", "=", True), only_if("vip", "=", True)),)}, "row_twice"),
    ("feeds/1", {"feeds": PLAY * 2}, "feed_twice"),
    ("position", {"position": 3}, "position_unused"),
    ("sequence", {"sequence": "story", "position": 3}, "sequence_alone"),
    ("exclusive_group", {"exclusive_group": "choice"}, "exclusive_group_alone"),
]


@pytest.mark.parametrize(("field", "changes", "code"), WARNED)
def test_what_an_operator_probably_did_not_mean_is_a_warning_and_may_be_published(field: str, changes: dict[str, Any], code: str) -> None:
    faults = validate(a_configuration(a_task(**changes)))

    assert [(fault.pointer, fault.code, fault.level) for fault in faults] == [(f"/tasks/daily-login/{field}", code, WARNING)]
    assert refusals(faults) == []
    assert_said(faults[0])


def needs(code: str, *others: str, **changes: Any) -> Any:
    return a_task(code, prerequisites=tuple(Prerequisite(task=other) for other in others), **changes)


NEVER: list[tuple[tuple[Any, ...], ...]] = [
    (("level", ">=", 30), ("level", "<", 30)),
    (("level", ">", 30), ("level", "<=", 30)),
    (("level", "=", 3), ("level", "=", 4)),
    (("level", "in", [1, 2]), ("level", ">", 2)),
    (("level", "in", [1, 2]), ("level", "not_in", [2, 1, 3])),
    (("level", "between", [1, 5]), ("level", "between", [6, 9])),
    (("vip", "=", True), ("vip", "!=", True)),
    (("region", "=", "CN"), ("region", "in", ["US", "JP"])),
    (("client", ">=", "1.10"), ("client", "<", "1.9")),
    (("registered_on", "after", "2026-12-01"), ("registered_on", "before", "2026-12-01")),
]
SOMETIMES: list[tuple[tuple[Any, ...], ...]] = [
    (("level", ">=", 30), ("level", "<=", 30)),
    (("level", "in", [1, 2]), ("level", ">=", 2)),
    (("level", "!=", 1), ("level", "!=", 2)),
    (("level", "between", [1, 5]), ("level", "between", [5, 9])),
    (("region", "contains", "C"), ("region", "contains", "D")),
    (("client", ">=", "1.9"), ("client", "<", "1.10")),
    (("client", "=", "1.0"), ("client", "in", ["1"])),
    (("level", ">=", 30), ("client", "<", "1")),
]


@pytest.mark.parametrize(("rows", "is_never"), [*((rows, True) for rows in NEVER), *((rows, False) for rows in SOMETIMES)])
def test_rows_that_no_value_fulfils_together_are_a_warning(rows: tuple[tuple[Any, ...], ...], is_never: bool) -> None:
    faults = validate(a_configuration(a_task(conditions=(tuple(only_if(*row) for row in rows),))))

    assert [(fault.pointer, fault.code, fault.level) for fault in faults] == [
        ("/tasks/daily-login/conditions/0", "group_never_holds", WARNING)
    ] * is_never
    for fault in faults:
        assert_said(fault)


def test_a_cycle_of_prerequisites_is_named_once() -> None:
    tasks = [needs("a", "b"), needs("b", "x", "c"), needs("c", "a"), a_task("x"), needs("y", "a")]

    (fault,) = validate(a_configuration(*tasks))

    assert (fault.pointer, fault.code) == ("/tasks/a/prerequisites", "cycle")
    assert fault.params == {"cycle": ["a", "b", "c", "a"]}
    assert "a → b → c → a" in say_fault(fault)


def test_what_lies_between_tasks_is_told_where_somebody_changed_something() -> None:
    live = a_configuration(a_task("a"), needs("b", "a"), needs("c", "b"), a_task("x", sequence="s", position=1), a_task("y", sequence="s"))
    draft = live.changed({("task", "a"): needs("a", "c"), ("task", "x"): a_task("x", sequence="s")})
    other = live.changed({("task", "a"): needs("a", "c")})

    faults = refusals(validate(draft, live))
    # Somebody else published the first half of the circle meanwhile: then the second half is the change.
    (turned,) = refusals(validate(other, other.changed({("task", "c"): a_task("c")})))

    assert [(fault.pointer, fault.code) for fault in faults] == [
        ("/tasks/x/position", "position_twice"),
        ("/tasks/a/prerequisites", "cycle"),
    ]
    assert (faults[0].params["task"], faults[1].params["cycle"]) == ("y", ["a", "c", "b", "a"])
    assert (turned.pointer, turned.params["cycle"]) == ("/tasks/c/prerequisites", ["c", "b", "a", "c"])


def test_two_separate_cycles_are_two_faults() -> None:
    faults = validate(a_configuration(needs("a", "b"), needs("b", "a"), needs("c", "d"), needs("d", "c")))

    assert [fault.params["cycle"] for fault in faults] == [["a", "b", "a"], ["c", "d", "c"]]


def test_a_sequence_and_a_prerequisite_against_it_are_a_cycle() -> None:
    first = needs("first", "second", sequence="story", position=1)
    second = a_task("second", sequence="story", position=2)

    (fault,) = validate(a_configuration(first, second))

    assert (fault.code, fault.params["cycle"]) == ("cycle", ["first", "second", "first"])


def test_a_chain_of_thousands_of_tasks_is_no_cycle_and_no_recursion() -> None:
    chain = [needs(f"t{i}", f"t{i + 1}") for i in range(5_000)]

    assert validate(a_configuration(*chain, a_task("t5000"))) == []


def test_a_position_twice_in_a_sequence_is_refused() -> None:
    tasks = [a_task(code, sequence="story", position=position) for code, position in (("a", 1), ("b", 2), ("c", 2))]

    (fault,) = validate(a_configuration(*tasks))

    assert (fault.pointer, fault.code) == ("/tasks/c/position", "position_twice")
    assert_said(fault)


def test_what_is_archived_cannot_be_needed_and_what_it_needed_may_go() -> None:
    archived = needs("old", "gone", archived=True, conditions=((only_if("gone", "=", "x"),),), sequence="story", position=1)

    (fault,) = validate(a_configuration(archived, needs("new", "old")))

    assert (fault.pointer, fault.code) == ("/tasks/new/prerequisites/0/task", "prerequisite_archived")
    assert_said(fault)


def test_a_prerequisite_that_will_not_be_fulfilled_is_a_warning() -> None:
    tasks = [
        a_task("off", switched_off=True),
        needs("a", "off"),
        a_task("auto"),
        a_task("b", prerequisites=(Prerequisite(task="auto", state="claimed"),)),
    ]

    faults = validate(a_configuration(*tasks))

    assert [(fault.code, fault.level) for fault in faults] == [
        ("prerequisite_switched_off", WARNING),
        ("prerequisite_never_claimed", WARNING),
    ]
    for fault in faults:
        assert_said(fault)


def test_the_users_own_zone_must_be_a_text() -> None:
    task = a_task(period=Period(kind="daily", zone=USER_ZONE))

    assert validate(a_configuration(task, Attribute(name="zone", type="text"))) == []
    (fault,) = validate(a_configuration(task, Attribute(name="zone", type="number")))
    assert (fault.pointer, fault.code) == ("/tasks/daily-login/period/zone", "zone_attribute_type")
    assert_said(fault)


def test_the_late_window_is_measured_against_the_event_retention_that_is_passed_in() -> None:
    configuration = a_configuration(a_task(late_window_s=6 * 86_400))

    assert validate(configuration) == []
    (fault,) = validate(configuration, event_retention_s=5 * 86_400)
    assert say_fault(fault).startswith("6 days is not possible: it must be shorter than 5 days")


@pytest.mark.parametrize(
    ("document", "field", "code"),
    [
        (Attribute(name="the level", type="number"), "name", "name_pattern"),
        (Attribute(name="x", type="number", default="7"), "default", "value_wrong_type"),
        (Attribute(name="x", type="boolean", default=0), "default", "value_wrong_type"),
        (Attribute(name="x", type="number", ttl_s=0), "ttl_s", "span_out_of_range"),
        (Attribute(name="x", type="number", description="x" * 2_001), "description", "too_long"),
        (EventType(name="9lives"), "name", "name_pattern"),
        (EventType(name="x", attributes={"a b": "text"}), "attributes/a b", "name_pattern"),
        (EventType(name="x", attributes={f"a{i}": "text" for i in range(101)}), "attributes", "event_attributes_too_many"),
        (UserList(name="Beta", sha256="0" * 64, count=1), "name", "code_pattern"),
        (UserList(name="x", sha256="", count=1), "sha256", "sha256"),
        (UserList(name="x", sha256="0" * 64, count=200_001), "count", "out_of_range"),
    ],
)
def test_attributes_events_and_lists_are_looked_at_as_well(document: Any, field: str, code: str) -> None:
    (fault,) = validate(a_configuration(document))

    assert (fault.key, fault.pointer.split("/", 3)[3], fault.code, fault.level) == (document.name, field, code, FAULT)
    assert_said(fault)


def test_a_document_under_another_key_is_refused() -> None:
    faults = validate(Configuration(tasks={"x": a_task()}, attributes={"y": LEVEL}, events={"z": MATCH}, lists={"u": BETA}))

    assert [(fault.pointer, fault.code) for fault in faults] == [
        ("/attributes/y/name", "key_differs"),
        ("/events/z/name", "key_differs"),
        ("/lists/u/name", "key_differs"),
        ("/tasks/x/code", "key_differs"),
    ]


def test_too_many_documents_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.tasks.config.validate._MOST", {"task": 1, "attribute": 0, "event": 0, "list": 0})

    faults = validate(a_configuration(a_task("a"), a_task("b")))

    assert [fault.pointer for fault in faults] == ["/tasks", "/attributes", "/events", "/lists"]
    for fault in faults:
        assert_said(fault)
    assert limits.MAX_TASKS == 20_000


def test_an_attribute_that_goes_away_or_changes_its_type_under_conditions_is_found_in_the_tasks_that_use_it() -> None:
    live = a_configuration(a_task(conditions=((only_if("level", ">=", 30),),)))

    (removed,) = validate(live.changed({("attribute", "level"): None}), live)
    kept_type_of_value = live.changed({("attribute", "level"): Attribute(name="level", type="text")})
    changed = validate(kept_type_of_value, live)

    assert (removed.pointer, removed.code) == ("/tasks/daily-login/conditions/0/0/attribute", "attribute_unknown")
    assert [(fault.pointer, fault.code) for fault in changed] == [
        ("/tasks/daily-login/conditions/0/0/operator", "operator_unfit"),
        ("/attributes/level/type", "attribute_type_changed"),
    ]
    for fault in (removed, *changed):
        assert_said(fault)


def test_a_published_task_that_goes_away_is_a_warning() -> None:
    live = a_configuration(a_task())

    (fault,) = validate(live.changed({("task", "daily-login"): None}), live)

    assert (fault.pointer, fault.code, fault.level) == ("/tasks/daily-login", "task_removed", WARNING)
    assert_said(fault)


@pytest.mark.parametrize(
    ("plain", "pointer", "code"),
    [
        ({"points": "five"}, "/points", "type_wrong"),
        ({"points": True}, "/points", "type_wrong"),
        ({"points": 5.5}, "/points", "type_wrong"),
        ({"kind": "raffle"}, "/kind", "choice_unknown"),
        ({"colour": "red"}, "/colour", "field_unknown"),
        ({"starts_at": "tomorrow"}, "/starts_at", "moment_pattern"),
        ({"period": {"anchor": "2026-02-30"}}, "/period/anchor", "day_pattern"),
        ({"streak": {}}, "/streak/length", "field_missing"),
        ({"texts": {"en": {"name": "x"}, "fr": {"name": 3}}}, "/texts/fr/name", "type_wrong"),
        ({"conditions": [[{"attribute": "level", "operator": "~"}]]}, "/conditions/0/0/operator", "choice_unknown"),
        ({"tiers": [{"target": 1}, {"target": None}]}, "/tiers/1/target", "type_wrong"),
        ({"category": "\ud800"}, "", "not_storable"),
    ],
)
def test_what_has_the_wrong_shape_is_told_like_every_other_fault(plain: dict[str, Any], pointer: str, code: str) -> None:
    document, (fault,) = read_document("task", "x", {"code": "x", "starts_at": "2026-12-01T00:00:00Z"} | plain)

    assert document is None
    assert (fault.pointer, fault.code) == (f"/tasks/x{pointer}", code)
    assert_said(fault)


@pytest.mark.parametrize("plain", [None, [], "x", 3, {}, {1: 2}, {"code": ["x"]}])
def test_anything_that_json_holds_is_answered_with_a_fault(plain: object) -> None:
    document, faults = read_document("task", "x", plain)

    assert document is None
    assert [fault.level for fault in faults] == [FAULT]
    assert_said(faults[0])


def test_a_number_beyond_all_limits_is_refused_one_way_or_the_other() -> None:
    plain = {"code": "x", "starts_at": "2026-12-01T00:00:00Z", "texts": {"en": {"name": "x"}}, "points": 10**30}
    document, faults = read_document("task", "x", plain)

    assert faults or [fault.code for fault in refusals(validate(a_configuration(document)))] == ["out_of_range"]


def test_the_patterns_are_those_of_the_database() -> None:
    assert re.compile(CODE_PATTERN).pattern == rf"^{limits.CODE.pattern}\Z"


def test_every_code_has_words_and_no_words_are_left_over() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in Path(PROJECT / "apps/tasks/config").glob("*.py"))
    noted = set(re.findall(r'(?:note|Fault)\(\s*(?:"", |pointer_to\([^)]*\), )?"(\w+)"', source)) | {
        "attribute_unknown",
        "event_attribute_unknown",
    }
    elsewhere = set(_CODES.values()) | {
        "attribute_unknown",
        "event_attribute_unknown",
        "type_wrong",
        "field_twice",
        "number_unknown",
        "cell_number",
        "cell_boolean",
        "cell_json",
    }

    assert {case.partition("/")[0] for case in SENTENCES} == noted | elsewhere
    assert noted >= WARNINGS


def test_a_code_without_words_is_shown_as_it_is() -> None:
    assert say_fault(Fault("/tasks/x/y", "from_the_future", {"a": 1})) == "from_the_future"
    assert say_fault(Fault("", "too_long")) == "too_long"
    assert say_place(Fault("", "too_long")) == "the configuration as a whole"


def test_ten_thousand_tasks_are_validated_within_a_second() -> None:
    rows = tuple(only_if("level", ">=", level) for level in range(5))
    common: dict[str, Any] = {"kind": "counter", "target": 5, "period": DAILY, "feeds": PLAY, "conditions": (rows,)}
    tasks = [a_task("t0", **common), *(needs(f"t{i}", f"t{i - 1}", **common) for i in range(1, 10_000))]
    configuration = a_configuration(*tasks)

    began = time.process_time()
    faults = validate(configuration, configuration)
    took_s = time.process_time() - began

    assert faults == []
    assert took_s < 1


def assert_said(fault: Fault) -> None:
    """In words, with every place filled, and saying where."""
    with translation.override("en"):
        said = say_fault(fault)
        assert said != fault.code
        assert said.endswith((".", "?"))
        assert not has_unfilled_place(said, fault)
        assert len(say_place(fault)) > 3
