"""What the console says of segments: not at home, on the way, without an owner that answers.

Pure. Segments belong to no one DBSvr, so their findings are made from all of them together; their subject is `/segment`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from apps.dbsvr.findings import ATTENTION, FAULT, NOTICE, Fact, Finding
from apps.dbsvr.segments import AWAY, NOBODY, TAKING, SegmentNow, put_together
from apps.dbsvr.window import Window

LEVELS = {"segment.away": ATTENTION, "segment.taking": NOTICE, "segment.none": FAULT}
_CODES = {AWAY: "segment.away", TAKING: "segment.taking", NOBODY: "segment.none"}
_CASES = {"taken over": "taken", "given": "given"}


def look(
    windows: Sequence[Window], silent_after_s: float, gone: Collection[str], before: Mapping[tuple[str, str], Finding], now: float
) -> list[Finding]:
    """`gone`: the DBSvrs that are known to be gone. Of one that we only cannot see nothing is claimed."""
    figures = {window.instance: window.last for window in windows if window.last is not None}
    answering = {window.instance for window in windows if window.last_at is not None and now - window.last_at < silent_after_s}
    findings = []
    for segment in put_together(figures, answering):
        code = _CODES.get(segment.state)
        if code is None or (code == "segment.none" and segment.row.owner not in gone):
            continue
        was = before.get((code, f"/{segment.name}"))
        findings.append(_finding(code, segment, was.since if was else now))
    return findings


def _finding(code: str, segment: SegmentNow, since: float) -> Finding:
    row, last = segment.row, segment.last
    facts: dict[str, Fact] = {"segment": segment.name, "owner": row.owner, "home": row.home}
    if code != "segment.away":
        return Finding(code, LEVELS[code], f"/{segment.name}", since, "now", facts)
    # A change of owner that is newer than all we were told of is not the cause of this one.
    is_known = last is not None and last.epoch == row.epoch and last.at is not None
    if is_known and last is not None and last.at is not None:
        since = last.at
    case = _CASES.get(last.cause, "unclear") if is_known and last is not None else "unclear"
    return Finding(code, LEVELS[code], f"/{segment.name}", since, case, {**facts, "since_at": since})
