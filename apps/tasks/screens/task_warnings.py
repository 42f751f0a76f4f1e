"""What an operator should notice about a task in a list. Pure: figures and the moment are passed in; what is not known warns of nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

SOON = timedelta(days=7)
QUIET_AFTER = timedelta(days=1)
"""A task that began so long ago and that nobody has touched since is worth a look."""
NEARLY = 0.8

STARTS_SOON, ENDS_SOON, NO_TRAFFIC, CAP_NEAR, CAP_REACHED = "starts_soon", "ends_soon", "no_traffic", "cap_near", "cap_reached"
WARNINGS = (CAP_REACHED, CAP_NEAR, NO_TRAFFIC, ENDS_SOON, STARTS_SOON)
"""What is worse stands first."""


@dataclass(frozen=True)
class Figures:
    """Of the last days: how many users started and completed it; and completions ever, as far as they were counted."""

    started: int
    completed: int
    completed_ever: int


class Row(Protocol):
    """What of a published task it takes to judge it."""

    starts_at: datetime
    ends_at: datetime | None
    switched_off: bool
    archived: bool
    cap_total: int | None
    points_budget: int | None
    points: int


def warnings_of(task: Row, figures: Figures | None, now: datetime) -> list[str]:
    found = set(_of_window(task, now))
    if figures is not None and not task.archived:
        found |= set(_of_figures(task, figures, now))
    return [warning for warning in WARNINGS if warning in found]


def _of_window(task: Row, now: datetime) -> Iterator[str]:
    if task.archived or task.switched_off:
        return
    if now < task.starts_at <= now + SOON:
        yield STARTS_SOON
    if task.starts_at <= now and task.ends_at is not None and now < task.ends_at <= now + SOON:
        yield ENDS_SOON


def _of_figures(task: Row, figures: Figures, now: datetime) -> Iterator[str]:
    is_live = not task.switched_off and task.starts_at <= now and (task.ends_at is None or now < task.ends_at)
    if is_live and now - task.starts_at > QUIET_AFTER and not figures.started and not figures.completed:
        yield NO_TRAFFIC
    for used, cap in ((figures.completed_ever, task.cap_total), (figures.completed_ever * task.points, task.points_budget)):
        if cap and used >= cap:
            yield CAP_REACHED
        elif cap and used >= cap * NEARLY:
            yield CAP_NEAR
