"""What a list warns of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

import pytest

from apps.tasks.screens.task_warnings import CAP_NEAR, CAP_REACHED, ENDS_SOON, NO_TRAFFIC, STARTS_SOON, Figures, warnings_of

NOW = datetime(2026, 12, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)


@dataclass
class Row:
    starts_at: datetime = NOW - 30 * DAY
    ends_at: datetime | None = None
    switched_off: bool = False
    archived: bool = False
    cap_total: int | None = None
    points_budget: int | None = None
    points: int = 10


BUSY = Figures(started=5, completed=3, completed_ever=80)
QUIET = Figures(started=0, completed=0, completed_ever=0)


@pytest.mark.parametrize(
    ("row", "figures", "expected"),
    [
        (Row(), BUSY, []),
        (Row(starts_at=NOW + 7 * DAY), QUIET, [STARTS_SOON]),
        (Row(starts_at=NOW + 8 * DAY), QUIET, []),
        (Row(ends_at=NOW + DAY), BUSY, [ENDS_SOON]),
        (Row(ends_at=NOW), BUSY, []),
        (Row(), QUIET, [NO_TRAFFIC]),
        (Row(starts_at=NOW - DAY / 2), QUIET, []),
        (Row(switched_off=True, ends_at=NOW + DAY), QUIET, []),
        (Row(cap_total=100), BUSY, [CAP_NEAR]),
        (Row(cap_total=101), BUSY, []),
        (Row(cap_total=80), BUSY, [CAP_REACHED]),
        (Row(points_budget=1000), BUSY, [CAP_NEAR]),
        (Row(cap_total=100, ends_at=NOW + DAY), BUSY, [CAP_NEAR, ENDS_SOON]),
        (Row(cap_total=80, archived=True), BUSY, []),
    ],
)
def test_a_task_is_warned_of_by_its_window_and_its_figures(row: Row, figures: Figures, expected: list[str]) -> None:
    assert warnings_of(row, figures, NOW) == expected


def test_figures_that_are_not_known_warn_of_nothing() -> None:
    assert warnings_of(replace(Row(), cap_total=1), None, NOW) == []
