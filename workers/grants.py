"""Points that a user earned once, under an id that is the same for every repetition of what earned them.

Pure. The id names user, task, period and tier. Where these alone would come a second time it says more: `~n`, how often the record's grants
were taken back before, and `~b` with the version at which the user was cleared last. A taking back has the id of the grant, and `~back`.
"""

from __future__ import annotations

from typing import NamedTuple

BACK = "~back"


class Grant(NamedTuple):
    """One row of grant_outbox, before it has gone anywhere. `total`: the user's points after the event."""

    grant_id: str
    uid: int
    version: int
    task: int
    period: str
    tier: int
    points: int
    total: int
    revision: int


class GrantsNeeded(Exception):
    """The event takes grants back: apply it with those that its tasks have given the user. Nothing was done."""


def grant_id(uid: int, task: int, period: str, tier: int, taken_back: int, born_version: int) -> str:
    again = f"~{taken_back}" if taken_back else ""
    born = f"~b{born_version}" if born_version else ""
    return f"{uid}:{task}:{period}:{tier}{again}{born}"
