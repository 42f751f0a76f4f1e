"""A task's document through its form and back."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import msgspec
import pytest

from apps.tasks.config.documents import (
    Attribute,
    Caps,
    Claim,
    Condition,
    Configuration,
    EventType,
    Feed,
    Period,
    Prerequisite,
    Release,
    Streak,
    Task,
    Text,
    Tier,
)
from apps.tasks.screens.row_sets import Posted, with_row, without_feed, without_rows
from apps.tasks.screens.task_conversion import Rows, fields_of, rows_of, task_with
from apps.tasks.screens.task_editor import TaskEditor, changed_by_button
from apps.tasks.screens.value_text import BadValue, text_of_value, value_from_text

START = datetime(2026, 12, 1, 8, 30, 15, 123456, tzinfo=timezone.utc)


def full_task() -> Task:
    return Task(
        code="play",
        kind="tiers",
        texts={"en": Text(name="Play", description="a\nb", button="Go", link="app://x"), "fr": Text(name="Jouer")},
        category="social",
        icon="star",
        weight=-3,
        tags=("new", "hot"),
        starts_at=START,
        ends_at=START + timedelta(days=30),
        period=Period(
            kind="every_days", zone="user", fallback_zone="Asia/Shanghai", resets_at="04:30", every_days=3, anchor=date(2026, 1, 5)
        ),
        mode="distinct",
        distinct_by="friend",
        feeds=(
            Feed(event="match", where=(Condition(attribute="mode", operator="in", value=["a", "b,c"]),)),
            Feed(event="visit"),
            Feed(event="match", where=(Condition(attribute="won", operator="=", value=True),)),
        ),
        late_window_s=5_400,
        revert_takes_back=True,
        tiers=(Tier(target=3, points=10), Tier(target=9)),
        conditions=(
            (Condition(attribute="level", operator=">=", value=30), Condition(attribute="level", operator="between", value=[1, 2.5])),
            (Condition(attribute="vip", operator="exists"), Condition(attribute="client", operator="<", value="1.10")),
        ),
        prerequisites=(Prerequisite(task="other", state="claimed"),),
        exclusive_group="g",
        sequence="s",
        position=4,
        claim=Claim(mode="by_claim", grace_s=172_800),
        caps=Caps(per_user=1, total=2, per_period=3, points_budget=4),
        release=Release(percentage_bp=1_234, salt="x", allow=("staff",), deny=("bots",)),
        switched_off=True,
    )


CONFIGURATION = Configuration(
    attributes={
        "level": Attribute(name="level", type="number"),
        "vip": Attribute(name="vip", type="boolean"),
        "client": Attribute(name="client", type="version"),
    },
    events={"match": EventType(name="match", attributes={"mode": "text", "won": "boolean"}), "visit": EventType(name="visit")},
)


def posted_by(editor: TaskEditor) -> Posted:
    """What a browser sends for the form as it is shown."""
    posted: Posted = {}
    forms = [editor.form, *([editor.code] if editor.code else [])]
    for row_set in (editor.texts, editor.feeds, editor.where, editor.tiers, editor.conditions, editor.prerequisites):
        forms += [row_set.management_form, *row_set.forms]
    for form in forms:
        for bound in form:
            widget = bound.field.widget
            shown = widget.get_context(bound.html_name, bound.value(), {})["widget"]
            for part in shown.get("subwidgets") or [shown]:
                value = part["value"]
                if shown.get("type") == "checkbox":
                    if part["attrs"].get("checked"):
                        posted[part["name"]] = ["on"]
                elif isinstance(value, list):
                    posted[part["name"]] = [str(each) for each in value]
                elif value is not None:
                    posted[part["name"]] = [str(value)]
    return posted


def test_a_task_that_is_shown_and_saved_unchanged_is_the_same_to_the_microsecond() -> None:
    task = full_task()

    again = TaskEditor(task, CONFIGURATION, posted_by(TaskEditor(task, CONFIGURATION)))

    assert again.is_valid(), [again.form.errors, *(rows.errors for rows in again._row_sets)]
    assert again.edited() == task


@pytest.mark.parametrize("kind", ["single", "counter", "streak"])
def test_a_plain_task_of_every_kind_comes_back_the_same(kind: str) -> None:
    task = msgspec.convert({"code": "x", "kind": kind, "starts_at": START, "texts": {"en": {"name": "X"}}}, Task)
    task = msgspec.structs.replace(task, streak=Streak(length=7, grace=1) if kind == "streak" else None)

    again = TaskEditor(task, CONFIGURATION, posted_by(TaskEditor(task, CONFIGURATION)))

    assert again.is_valid()
    assert again.edited() == task


def test_what_a_form_does_not_show_stays_as_it_was() -> None:
    task = full_task()

    edited = task_with(task, {"weight": 7, "period_zone": "UTC"}, Rows())

    assert edited == msgspec.structs.replace(task, weight=7, period=msgspec.structs.replace(task.period, zone="UTC"))


def test_fields_and_rows_are_the_whole_task_but_its_code() -> None:
    other = Task(code="play", kind="tiers", mode="distinct", period=Period(kind="every_days"), starts_at=START)

    assert task_with(other, fields_of(full_task()), rows_of(full_task())) == full_task()


def test_another_kind_leaves_nothing_of_the_old_one_behind() -> None:
    edited = task_with(full_task(), {"kind": "single", "period_kind": "daily"}, Rows())

    assert (edited.tiers, edited.target, edited.period.every_days, edited.period.anchor) == ((), 1, 1, None)


def test_a_removed_feed_takes_its_filter_along_and_the_others_keep_theirs() -> None:
    task = full_task()
    posted = posted_by(TaskEditor(task, CONFIGURATION))

    editor = TaskEditor(task, CONFIGURATION, without_feed(posted, "feeds", "where", 0))

    assert editor.is_valid()
    assert editor.edited().feeds == task.feeds[1:]


def test_buttons_add_a_row_to_a_group_and_a_group() -> None:
    posted = posted_by(TaskEditor(full_task(), CONFIGURATION))

    to_the_first = changed_by_button({**posted, "add": ["conditions:0"]})
    anew = changed_by_button({**posted, "add": ["conditions:new"]})

    assert to_the_first
    assert anew
    assert [len(group["rows"]) for group in TaskEditor(full_task(), CONFIGURATION, to_the_first).groups] == [3, 2]
    assert [len(group["rows"]) for group in TaskEditor(full_task(), CONFIGURATION, anew).groups] == [2, 2, 1]
    assert changed_by_button(posted) is None


def test_empty_rows_are_no_rows() -> None:
    posted = posted_by(TaskEditor(full_task(), CONFIGURATION))
    for prefix in ("tiers", "prerequisites", "feeds", "texts"):
        posted = with_row(posted, prefix)
    posted = with_row(posted, "conditions", group="7")

    editor = TaskEditor(full_task(), CONFIGURATION, posted)

    assert editor.is_valid()
    assert editor.edited() == full_task()


def test_rows_move_up_when_one_goes() -> None:
    rows = {"t-TOTAL_FORMS": ["3"], "t-INITIAL_FORMS": ["3"], "t-0-a": ["x"], "t-1-a": ["y"], "t-2-a": ["z"], "other": ["1"]}

    assert without_rows(rows, "t", {1}) == {
        "t-TOTAL_FORMS": ["2"], "t-INITIAL_FORMS": ["0"], "t-0-a": ["x"], "t-1-a": ["z"], "other": ["1"],
    }  # fmt: skip


def test_a_value_that_does_not_fit_its_attribute_is_told_at_the_row() -> None:
    posted = posted_by(TaskEditor(full_task(), CONFIGURATION))
    posted["conditions-0-value"] = ["thirty"]

    editor = TaskEditor(full_task(), CONFIGURATION, posted)

    assert not editor.is_valid()
    assert "thirty" in str(editor.conditions.forms[0].errors["value"])


def test_an_operator_of_another_type_is_refused() -> None:
    posted = posted_by(TaskEditor(full_task(), CONFIGURATION))
    posted["conditions-0-operator"] = ["contains"]

    assert not TaskEditor(full_task(), CONFIGURATION, posted).is_valid()


@pytest.mark.parametrize(
    ("expected", "operator", "value"),
    [
        ("number", "=", 3),
        ("number", "<", -2.5),
        ("number", "between", [1, 9]),
        ("text", "in", ["a", "b, c", 'say "hi"']),
        ("text", "=", "x"),
        ("boolean", "=", False),
        ("date", "before", "2026-12-01"),
        ("date", "between", ["2026-12-01", "2026-12-24T18:00:00+08:00"]),
        ("version", ">=", "1.10.2"),
        ("number", "exists", None),
    ],
)
def test_a_value_is_the_same_after_text_and_back(expected: str, operator: str, value: object) -> None:
    assert value_from_text(expected, operator, *text_of_value(operator, value)) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expected", "text"), [("number", "x"), ("number", "inf"), ("boolean", "maybe"), ("date", "1.12.2026"), ("version", "1.x")]
)
def test_a_text_that_is_no_value_of_the_type_is_refused(expected: str, text: str) -> None:
    with pytest.raises(BadValue):
        value_from_text(expected, "=", text)  # type: ignore[arg-type]
