"""How many periods in a row a user has completed, from the records of earlier periods.

Pure. A period that runs is not missed yet. Missed ones, up to `grace` of them between two completed ones, do not break the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.tasks.config.documents import Streak
from apps.tasks.evaluation.periods import Clock, PeriodOfTime, Repeating
from apps.tasks.evaluation.user_periods import period_from_key

SKIPPED_IN_A_ROW = 1
"""No zone has skipped more than one day at once."""


@dataclass(frozen=True, slots=True)
class StreakStanding:
    """`in_row`: of `length`, what the present streak has, with the present period where it is completed; a full one stays until the next
    begins. `fills`: whether completing the present period makes, or made, a streak full.
    """

    run: int
    in_row: int
    length: int
    grace: int
    fills: bool


def streak_standing(streak: Streak, run_before: int, completed: bool) -> StreakStanding:
    """`run_before`: completed in a row up to the present period, without it."""
    run = run_before + completed
    in_row = (run - 1) % streak.length + 1 if completed else run % streak.length
    return StreakStanding(run, in_row, streak.length, streak.grace, (run_before + 1) % streak.length == 0)


def run_before(clock: Clock, period: PeriodOfTime, keys: Iterable[str], grace: int) -> int:
    """`keys`: of the completed records; `clock`: of the task's zone, which has `period`."""
    present = clock.number_of(period.key) if isinstance(clock, Repeating) else None
    if not isinstance(clock, Repeating) or present is None:
        return 0  # once, and a window, have no earlier period
    earlier = sorted({number for key in keys if (number := clock.number_of(key)) is not None and number < present}, reverse=True)
    run, later = 0, present
    for number in earlier:
        missed = later - number - 1
        if missed > grace + SKIPPED_IN_A_ROW:
            break
        if missed > grace and missed - sum(clock.never_was(each) for each in range(number + 1, later)) > grace:
            break
        run, later = run + 1, number
    return run


def run_before_in_users_zone(clock: Clock, period: PeriodOfTime, keys: Iterable[str], grace: int) -> int:
    """The same where keys say when their periods began and ended; `clock`: of the zone that the user has now."""
    begins_at = period.starts_at
    spans = ((each.resets_at, each.starts_at) for key in keys if (each := period_from_key(key)) is not None)
    run = 0
    for ended_at, started_at in sorted(((end, start) for end, start in spans if end and start), reverse=True):
        if begins_at is None or ended_at > begins_at:
            continue  # the present one, or a later one
        missed, cursor = 0, ended_at
        while cursor < begins_at and missed <= grace:
            missed += 1
            cursor = clock.period_at(cursor).resets_at or begins_at
        if missed > grace:
            break
        run, begins_at = run + 1, started_at
    return run
