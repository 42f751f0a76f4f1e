"""Every check that the evaluator makes has its sentence; what depends on the user's records is left open without them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from apps.tasks.config.compile import compile_bundle
from apps.tasks.config.documents import (
    OPERATORS,
    Attribute,
    Caps,
    Claim,
    Condition,
    Configuration,
    Prerequisite,
    Release,
    Task,
    Text,
    UserList,
)
from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.bundle import Bundle, load_bundle
from apps.tasks.evaluation.explanation import CHECKS, explain_task
from apps.tasks.evaluation.standing import User
from apps.tasks.screens.explain_form import read_question, value_of
from apps.tasks.screens.explain_words import OF_RECORDS, UNKNOWN, say_checks
from workers.protocol import Snapshot

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
SHA = "0" * 64
VALUES: dict[str, Any] = {"number": 30, "text": "CN", "boolean": True, "date": "2026-12-01", "version": "1.10"}


def bundle_of(*tasks: Task, attributes: tuple[Attribute, ...] = ()) -> Bundle:
    listed = {name: UserList(name=name, sha256=SHA, count=1) for name in ("in", "out")}
    configuration = Configuration(
        tasks={task.code: task for task in tasks}, attributes={each.name: each for each in attributes}, lists=listed
    )
    return load_bundle(compile_bundle(configuration, {}, {SHA: [7]}, 1, NOW, history_counts=True))


def task(code: str = "a", **fields: Any) -> Task:
    return Task(**{"code": code, "texts": {"en": Text(name="A")}, "starts_at": NOW - timedelta(days=1), **fields})


def say(
    bundle: Bundle, code: str = "a", uid: int = 42, attributes: dict[str, object] | None = None, knows_records: bool = True
) -> list[Any]:
    profile = Profile(uid, attributes or {}, frozenset(attributes or {}))
    user = User(bundle, profile, Snapshot(uid=uid, generation=0, version=0, points=0, tasks=[]), NOW, None)
    return say_checks(explain_task(bundle.by_code[code], user), knows_records)


EVERYTHING = task(
    ends_at=NOW + timedelta(days=1),
    release=Release(percentage_bp=5_000, allow=("in",), deny=("out",)),
    conditions=((Condition(attribute="level", operator=">=", value=30),), (Condition(attribute="vip", operator="=", value=True),)),
    prerequisites=(Prerequisite(task="b"), Prerequisite(task="c", state="claimed")),
    sequence="s",
    position=1,
    exclusive_group="g",
    caps=Caps(total=5, per_period=4, points_budget=100),
    claim=Claim(mode="accept_first"),
    points=10,
)
OTHERS = (task("b", sequence="s"), task("c", exclusive_group="g", claim=Claim(mode="by_claim")))
REGISTRY = (Attribute(name="level", type="number"), Attribute(name="vip", type="boolean", default=False))


def test_every_check_has_a_sentence_in_the_fixed_order() -> None:
    bundle = bundle_of(EVERYTHING, *OTHERS, attributes=REGISTRY)
    user = User(bundle, Profile(42), Snapshot(uid=42, generation=0, version=0, points=0, tasks=[]), NOW, None)
    made = [check.check for check in explain_task(bundle.by_code["a"], user).checks]

    said = say(bundle)

    assert set(made) == set(CHECKS), "the task above asks for all of them"
    assert made == sorted(made, key=CHECKS.index)
    assert len(said) == len(made)
    assert all(each.sentence and "%" not in each.sentence.replace("50 %", "") for each in said)
    assert all(each.shape in "✓✗?" for each in said)


def test_without_the_users_records_what_depends_on_them_is_unknown_and_decides_nothing() -> None:
    bundle = bundle_of(EVERYTHING, *OTHERS, attributes=REGISTRY)
    user = User(bundle, Profile(42), Snapshot(uid=42, generation=0, version=0, points=0, tasks=[]), NOW, None)
    checks = explain_task(bundle.by_code["a"], user).checks

    said = say(bundle, knows_records=False)

    of_records = [each for each, check in zip(said, checks, strict=True) if check.check in OF_RECORDS]
    assert len(of_records) == 5
    assert {(each.outcome, each.decides) for each in of_records} == {(UNKNOWN, False)}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"switched_off": True}, "It is switched off"),
        ({"starts_at": NOW + timedelta(hours=1)}, "It has not begun: it begins at 2026-11-30 13:00:00, the moment is 2026-11-30 12:00:00"),
        ({"ends_at": NOW}, "It has ended: at 2026-11-30 12:00:00, the moment is 2026-11-30 12:00:00"),
        ({"release": Release(deny=("in",))}, "On the list `in`, which shuts users out"),
        ({"prerequisites": (Prerequisite(task="b"),)}, "`b` must be completed first: it is not begun"),
    ],
    ids=["switched off", "not begun", "ended", "denied", "prerequisite"],
)
def test_what_stands_against_a_task_is_said_with_its_values(fields: dict[str, Any], sentence: str) -> None:
    (failing,) = [each for each in say(bundle_of(task(**fields), task("b")), uid=7) if each.decides]

    assert failing.sentence == sentence


def test_the_gray_release_is_said_with_the_users_bucket() -> None:
    bundle = bundle_of(task(release=Release(percentage_bp=0)))

    (failing,) = [each for each in say(bundle) if each.decides]

    bucket = User(bundle, Profile(42), Snapshot(uid=42, generation=0, version=0, points=0, tasks=[]), NOW, None).bucket("a")
    assert failing.sentence == f"Gray release: bucket {bucket:,} of 10,000, and only those below 0 have it (0 %)"


@pytest.mark.parametrize(("type_", "operator"), [(type_, operator) for type_, operators in OPERATORS.items() for operator in operators])
def test_every_operator_of_every_type_is_said(type_: Any, operator: Any) -> None:
    value = VALUES[type_]
    wanted = [value, value] if operator in ("in", "not_in", "between") else None if operator == "exists" else value
    row = Condition(attribute="x", operator=operator, value=wanted)
    bundle = bundle_of(task(conditions=((row,),)), attributes=(Attribute(name="x", type=type_),))

    for attributes in ({"x": value}, {}, {"x": ["wrong"]}):
        (said,) = [each for each in say(bundle, attributes=attributes) if "x" in each.sentence.split(":")[0]]
        assert said.sentence.startswith("x: ")
        if not attributes and operator != "exists":
            assert said.outcome == UNKNOWN
            assert "Unknown never counts as met." in said.sentence


def test_a_value_is_read_as_its_type_says_it() -> None:
    assert value_of(Attribute(name="x", type="number"), "30") == 30
    assert value_of(Attribute(name="x", type="number"), "1.5") == 1.5
    assert value_of(Attribute(name="x", type="boolean"), "false") is False
    for type_, typed in (("number", "many"), ("number", "nan"), ("boolean", "perhaps"), ("date", "today"), ("version", "v1")):
        with pytest.raises(ValueError):
            value_of(Attribute(name="x", type=type_), typed)  # type: ignore[arg-type]


@pytest.mark.parametrize("typed", ["0", "-1", "abc", "9223372036854775808", "1" * 60, "１２"])
def test_what_is_no_uid_is_told(typed: str) -> None:
    asked = read_question({"uid": typed}, None, NOW)

    assert not asked.is_complete
    assert "uid" in asked.faults


def test_only_what_the_asked_tasks_ask_for_is_to_be_typed_in() -> None:
    bundle = bundle_of(EVERYTHING, *OTHERS, attributes=(*REGISTRY, Attribute(name="spare", type="text")))

    asked = read_question({"uid": "42", "task": "a", "a.level": "x"}, bundle, NOW)

    assert [field.attribute.name for field in asked.fields] == ["level", "vip"]
    assert [field.attribute.name for field in asked.other_fields] == ["spare"]
    assert asked.faults.keys() == {"a.level"}
