"""Who owns which users, put together from what the DBSvrs say of it.

Pure. Each DBSvr tells all segments as it sees them; the highest epoch is the newest, and of one epoch the owner itself knows best.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from apps.dbsvr.figures import Figures
from apps.dbsvr.stats import Segment, Takeover

HOME, AWAY, TAKING, NOBODY, UNKNOWN = "home", "away", "taking", "nobody", "unknown"


class SegmentNow(NamedTuple):
    """`state`: its home owns it, another does, its owner is taking it over, its owner does not answer, or nobody answers us.

    `last`: the newest change of owner that any DBSvr has seen.
    """

    name: str
    row: Segment
    state: str
    last: Takeover | None


def put_together(figures: Mapping[str, Figures], answering: Collection[str]) -> list[SegmentNow]:
    """The segments in the order of their users. `figures`: the newest of every DBSvr, also of those that are not `answering` now."""
    told: dict[str, dict[str, Segment]] = {}
    for instance in [*(it for it in figures if it in answering), *([] if answering else figures)]:
        for name, row in figures[instance].segments.items():
            told.setdefault(name, {})[instance] = row
    found = []
    for name, rows in told.items():
        newest = max(row.epoch for row in rows.values())
        instance, row = max(rows.items(), key=lambda it: (it[1].epoch, it[0] == it[1].owner))
        changes = [change for it in figures.values() for change in it.takeovers if change.segment == name and change.epoch <= newest]
        last = max(changes, key=lambda it: (it.epoch, it.cause != "taken over"), default=None)  # that it was given, only the giver knows
        found.append(SegmentNow(name, row, _state(row, instance, figures, answering), last))
    return sorted(found, key=lambda it: it.row.first)


def _state(row: Segment, told_by: str, figures: Mapping[str, Figures], answering: Collection[str]) -> str:
    if not answering:
        return UNKNOWN
    if row.owner in figures and row.owner not in answering:
        return NOBODY
    if told_by == row.owner and row.state == "taking":
        return TAKING
    return HOME if row.owner == row.home else AWAY
