"""Where a task stands in the calendar: whole days in the operator's zone, no bar over another."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.screens.calendar_layout import Days, Span, clashes_of, lay_out, months_of, running, weeks_of

UTC = timezone.utc
MONDAY = date(2026, 11, 30)
FOUR_WEEKS = Days(MONDAY, 28, UTC)


def at(day: int, hour: int = 0) -> datetime:
    """Hours of a day that is counted from the first one shown."""
    return datetime(2026, 11, 30, tzinfo=UTC) + timedelta(days=day, hours=hour)


TWO, FIVE = at(2), at(5)


def span(code: str = "a", starts_at: datetime = TWO, ends_at: datetime | None = FIVE, category: str = "", group: str = "") -> Span:
    return Span(code, f"Task {code}", category, "UTC", starts_at, ends_at, "live", exclusive_group=group)


def test_a_window_that_ends_at_midnight_does_not_touch_the_next_day() -> None:
    assert FOUR_WEEKS.columns_of(span(starts_at=at(2), ends_at=at(5))) == (2, 4)
    assert FOUR_WEEKS.columns_of(span(starts_at=at(2), ends_at=at(5, 1))) == (2, 5)


def test_days_are_those_of_the_operators_zone() -> None:
    shanghai = Days(MONDAY, 28, ZoneInfo("Asia/Shanghai"))

    assert shanghai.columns_of(span(starts_at=at(2, 15), ends_at=at(5, 16))) == (2, 5)
    assert shanghai.columns_of(span(starts_at=at(2, 16), ends_at=at(5, 17))) == (3, 6)


def test_overlapping_tasks_stand_in_lanes_of_their_own_and_others_share_one() -> None:
    spans = [span("a", at(0), at(9)), span("b", at(3), at(9)), span("c", at(20), at(28))]

    (group,) = lay_out(spans, FOUR_WEEKS, MONDAY)

    codes = [[cell.bar.span.code for cell in lane if cell.kind == "bar" and cell.bar] for lane in group.lanes]
    assert codes == [["a", "c"], ["b"]]


def test_a_task_that_runs_on_all_days_is_named_and_not_drawn() -> None:
    (group,) = lay_out([span("always", at(-9), None), span("a")], FOUR_WEEKS, MONDAY)

    assert [each.code for each in group.through] == ["always"]
    assert len(group.lanes) == 1


def test_tasks_outside_the_days_are_left_out_and_groups_stand_by_category() -> None:
    spans = [span("past", at(-9), at(0)), span("late", at(28), None), span("b", category="b"), span("none"), span("a", category="a")]

    assert [group.category for group in lay_out(spans, FOUR_WEEKS, MONDAY)] == ["a", "b", ""]


def test_a_name_that_does_not_fit_gets_the_days_beside_its_bar() -> None:
    (early,) = lay_out([span("a", at(1), at(2))], FOUR_WEEKS, MONDAY - timedelta(days=3))
    (late,) = lay_out([span("a", at(26), at(27))], FOUR_WEEKS, MONDAY)

    assert [cell.kind for cell in early.lanes[0]][:3] == ["gap", "bar", "label"]
    assert [cell.kind for cell in late.lanes[0]][-3:] == ["label", "bar", "gap"]


def test_today_and_the_weeks_are_seen_where_nothing_runs() -> None:
    (group,) = lay_out([span("a", at(0), at(1))], FOUR_WEEKS, MONDAY + timedelta(days=9))

    assert sum(cell.days for cell in group.lanes[0] if cell.is_today) == 1
    assert sum(cell.begins_week for cell in group.lanes[0]) == 3


def test_how_many_run_together_is_counted_for_each_day() -> None:
    counts = running([span("a", at(0), at(3)), span("b", at(2), None), span("c", at(-5), at(1))], FOUR_WEEKS)

    assert counts[:4] == [2, 1, 2, 1]
    assert counts[27] == 1


def test_weeks_and_months_cover_all_days() -> None:
    days = Days(date(2026, 12, 30), 28, UTC)

    assert sum(size for _first, size in weeks_of(days)) == sum(size for _first, size in months_of(days)) == 28
    assert [size for _first, size in weeks_of(days)] == [5, 7, 7, 7, 2]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [((0, 5), (4, None), (4, 5)), ((0, 5), (5, 9), None), ((0, None), (3, None), (3, None))],
    ids=["overlap", "one after the other", "no end"],
)
def test_tasks_of_one_exclusive_group_that_run_together_are_told(one: tuple, other: tuple, together: tuple | None) -> None:
    def made(code: str, days: tuple) -> Span:
        return span(code, at(days[0]), None if days[1] is None else at(days[1]), group="g")

    clashes = clashes_of([made("a", one), made("b", other), span("c", at(0), None)])

    found = [(clash.starts_at, clash.ends_at) for clash in clashes]
    assert found == ([(at(together[0]), None if together[1] is None else at(together[1]))] if together else [])


@given(
    st.lists(st.tuples(st.integers(-200, 2_000), st.integers(1, 900)), max_size=40),
    st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
    st.sampled_from([4, 8, 13, 26]),
)
def test_every_lane_fills_exactly_the_days_and_shows_every_task_once(windows: list[tuple[int, int]], zone: str, weeks: int) -> None:
    days = Days(MONDAY, weeks * 7, ZoneInfo(zone))
    spans = [span(f"t{number}", at(0, start), at(0, start + length)) for number, (start, length) in enumerate(windows)]

    groups = lay_out(spans, days, MONDAY)

    lanes = [lane for group in groups for lane in group.lanes]
    assert all(sum(cell.days for cell in lane) == days.count and all(cell.days > 0 for cell in lane) for lane in lanes)
    drawn = [cell.bar.span.code for lane in lanes for cell in lane if cell.kind == "bar" and cell.bar]
    through = [each.code for group in groups for each in group.through]
    shown = {each.code for each in spans if days.columns_of(each)[1] >= 0 and days.columns_of(each)[0] < days.count}
    assert sorted(drawn + through) == sorted(shown)
