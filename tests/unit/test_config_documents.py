"""Equal documents are equal bytes, however they were made."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given

from apps.tasks.config.documents import TASK, Attribute, Condition, Task, encode, from_plain, to_plain
from tests.unit.config_strategies import FEW, tasks

START = "2026-12-01T00:00:00Z"


def test_a_default_that_was_typed_in_is_not_written() -> None:
    typed = {
        "code": "x",
        "starts_at": START,
        "kind": "single",
        "target": 1,
        "late_window_s": 86_400,
        "period": {"kind": "once", "zone": "UTC", "resets_at": "00:00"},
        "claim": {},
        "caps": {"total": None},
        "release": {"percentage_bp": 10_000, "allow": []},
        "texts": {},
        "archived": False,
    }

    assert to_plain(from_plain(TASK, typed)) == {"code": "x", "starts_at": START}


def test_the_same_moment_in_another_zone_is_the_same_document() -> None:
    one = from_plain(TASK, {"code": "x", "starts_at": START, "ends_at": "2027-01-01T00:00:00Z"})
    other = from_plain(TASK, {"code": "x", "starts_at": "2026-12-01T08:00:00+08:00", "ends_at": "2026-12-31T19:00:00-05:00"})

    assert encode(one) == encode(other)


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, 1.0), ([1], [True]), ("1", 1), (None, False)])
def test_values_that_python_takes_for_the_same_are_different_ones(one: Any, other: Any) -> None:
    rows = [Condition(attribute="x", operator="=", value=value) for value in (one, other)]
    attributes = [Attribute(name="x", type="number", default=value) for value in (one, other)]

    for left, right in (rows, attributes):
        assert left != right
        assert left == msgspec.structs.replace(left)
        assert len({left, right, msgspec.structs.replace(left)}) == 2


@FEW
@given(tasks())
def test_a_document_that_is_stored_and_read_again_gives_the_same_bytes(task: Task) -> None:
    assert encode(from_plain(TASK, to_plain(task))) == encode(task)
