"""Which grant of a user goes next. Pure.

A user's grants go one after the other, by (version, tier, id): the next one only when the one before is confirmed, rejected, dead or
superseded. While one is on its way, or waits, the later ones wait behind it. A grant that nobody has tried may go as soon as it is
first, whatever its `due_ms`: that was only set to keep it out of the relays' sight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apps.tasks.points.states import Grant, State

LOOK_AGAIN_MS = 1_000
"""Behind a grant that another relay is sending."""


class Step(NamedTuple):
    """`send` it now; or nothing of this user before `until_ms`, because of `first`."""

    send: Grant | None
    first: Grant | None = None
    until_ms: int = 0


def next_step(unsettled: Sequence[Grant], now_ms: int) -> Step:
    """Of one user's unsettled grants, in any order."""
    if not unsettled:
        return Step(None)
    first = min(unsettled, key=lambda grant: grant.place)
    untried = first.state is State.PENDING and first.attempts == 0
    if untried or (first.state is not State.SENT and first.due_ms <= now_ms):
        return Step(first, first)
    return Step(None, first, max(now_ms + LOOK_AGAIN_MS, first.due_ms if first.state is not State.SENT else 0))


def replaced_by_newest(unsettled: Sequence[Grant]) -> list[Grant]:
    """With `sends = "totals"`: the pending grants that need not be sent, because a newer one carries a newer total.

    One that may have been received (sent, indeterminate) is asked again all the same: its outcome is to be known.
    """
    rows = sorted(unsettled, key=lambda grant: grant.place)
    return [grant for grant in rows[:-1] if grant.state is State.PENDING]
