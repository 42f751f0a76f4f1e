"""What an audit entry shows of a change, and what of it a spreadsheet is given."""

from __future__ import annotations

import csv
import io

import pytest

from apps.tasks.screens.audit_export import COLUMNS, csv_lines, safe_cell
from apps.tasks.screens.audit_sides import Side, differing, sides


def test_only_the_places_that_differ_are_told_with_the_way_to_them() -> None:
    before = {"points": 10, "texts": {"en": {"name": "A"}}, "tiers": [{"target": 1}, {"target": 5}]}
    after = {"points": 20, "texts": {"en": {"name": "A"}}, "tiers": [{"target": 1}, {"target": 6}], "tags": ["x"]}

    assert differing(before, after) == [Side("points", "10", "20"), Side("tiers.2.target", "5", "6"), Side("tags", None, '["x"]')]


def test_what_is_new_or_gone_stands_on_one_side() -> None:
    assert [side.change for side in sides(None, {"a": 1})] == ["added"]
    assert [side.change for side in sides({"a": 1}, None)] == ["removed"]
    assert [side.change for side in sides({"a": 1, "b": 1}, {"a": 1, "b": 2})] == ["same", "changed"]
    assert sides(None, None) == []


def test_nothing_and_an_empty_text_are_not_the_same() -> None:
    assert differing({"a": None}, {"a": ""}) == [Side("a", "null", "")]
    assert differing({}, {"a": {}}) == [Side("a", None, "{}")]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_no_cell_of_the_export_is_a_formula(text: str) -> None:
    assert safe_cell(text) == "'" + text


def test_the_export_is_read_back_as_it_was_written() -> None:
    row = [1, "2026-11-30T10:00:00+00:00", "wang", "save", "task", "a", None, 3, 'he said "no",\nthen left', "", None, {"名": "每日"}]

    text = "".join(csv_lines([row]))

    header, line = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    assert tuple(header) == COLUMNS
    assert line[8] == 'he said "no",\nthen left'
    assert line[11] == '{"名": "每日"}'
    assert text.startswith("\ufeff")
    assert text.endswith("\r\n")
