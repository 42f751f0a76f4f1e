"""What the console says of segments (not at home, on the way, without an owner that answers), and of the ways between DBSvrs.

Pure. Segments belong to no one DBSvr, so their findings are made from all of them together; their subject is `/segment`. A way's
subject is `from/to`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from apps.dbsvr.figures import Figures
from apps.dbsvr.findings import ATTENTION, FAULT, NOTICE, Fact, Finding
from apps.dbsvr.segments import AWAY, NOBODY, TAKING, SegmentNow, put_together
from apps.dbsvr.thresholds import Thresholds
from apps.dbsvr.window import Answer, Window

LEVELS = {"segment.away": ATTENTION, "segment.taking": NOTICE, "segment.none": FAULT, "peer.away": ATTENTION}
_CODES = {AWAY: "segment.away", TAKING: "segment.taking", NOBODY: "segment.none"}
_CASES = {"taken over": "taken", "given": "given"}


def look(
    windows: Sequence[Window], limits: Thresholds, gone: Collection[str], before: Mapping[tuple[str, str], Finding], now: float
) -> list[Finding]:
    """`gone`: the DBSvrs that are known to be gone. Of one that we only cannot see nothing is claimed."""
    figures = {window.instance: window.last for window in windows if window.last is not None}
    answering = {window.instance for window in windows if window.last_at is not None and now - window.last_at < limits.blind_after_s}
    findings = []
    for segment in put_together(figures, answering):
        code = _CODES.get(segment.state)
        if code is None or (code == "segment.none" and segment.row.owner not in gone):
            continue
        was = before.get((code, f"/{segment.name}"))
        findings.append(_finding(code, segment, was.since if was else now))
    return findings + [it for window in windows if window.instance in answering for it in _ways(window, limits, answering, before)]


def _ways(window: Window, limits: Thresholds, answering: Collection[str], before: Mapping[tuple[str, str], Finding]) -> Iterator[Finding]:
    """From this DBSvr to each other one that answers us: to one that is gone there is no way, and that is said already."""
    for peer in sorted(window.last.peers if window.last else ()):

        def is_cut(figures: Figures, peer: str = peer) -> Answer:
            way = figures.peers.get(peer)
            return None if way is None else way.state != "up"

        subject = f"{window.instance}/{peer}"
        was = before.get(("peer.away", subject))
        cut_since = window.held(is_cut, limits.peer_for)
        stays = was is not None and window.held(lambda figures: is_cut(figures) is False, limits.peer_clear_for) is None
        if peer not in answering or (cut_since is None and not stays):
            continue
        case = "now" if window.held(is_cut, 1) is not None else "back"
        since = was.since if was is not None else cut_since if cut_since is not None else window.now
        yield Finding("peer.away", LEVELS["peer.away"], subject, since, case, {"dbsvr": window.instance, "owner": peer})


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
