"""When a DBSvr gives no answer: is it gone, or are we blind?

Pure. Silence alone says nothing about it: the way to it may be cut. It is called gone when nobody listens on its port, or when its
tick in the database stands still as well, which its own beat would move ten times a second.
"""

from __future__ import annotations

from apps.dbsvr.findings import FAULT, UNKNOWN, Fact, Finding
from apps.dbsvr.thresholds import Thresholds
from apps.dbsvr.window import Window

DOWN, BLIND = "dbsvr.down", "console.blind"


def look(window: Window, previous: dict[tuple[str, str], Finding], limits: Thresholds) -> Finding | None:
    """The finding about this DBSvr's silence, if there is one."""
    subject = window.instance
    was = previous.get((DOWN, subject)) or previous.get((BLIND, subject))
    if not window.samples:
        return was
    silent_since = window.last_at if window.last_at is not None else window.samples[0].at
    silent = window.samples[-1].figures is None
    if silent and window.now - silent_since >= limits.blind_after_s:
        case = gone(window, silent_since, limits)
        code = DOWN if case else BLIND
        since = was.since if was and was.code == code else silent_since
        facts: dict[str, Fact] = {"dbsvr": subject, "since_at": since, "why": window.samples[-1].why_not}
        return Finding(code, FAULT if case else UNKNOWN, subject, since, case, facts)
    if was is None:
        return None
    newest = window.samples[-limits.blind_clear_for :]
    if len(newest) == limits.blind_clear_for and all(sample.figures is not None for sample in newest):
        return None
    return Finding(was.code, was.level, subject, was.since, "back", was.facts) if not silent else was


def gone(window: Window, silent_since: float, limits: Thresholds) -> str:
    """`refused`, `still`, or empty: then it may be well."""
    silence = [sample for sample in window.samples if sample.at > silent_since or sample.figures is None]
    # The first miss of a killed process is a cut connection; only those after it are refused.
    newest = silence[1:][-round(limits.blind_after_s) :] or silence
    if newest and all(sample.why_not == "refused" for sample in newest):
        return "refused"
    looks = [(sample.at, sample.master_tick) for sample in silence if sample.master_tick is not None]
    stood = [at for at, tick in looks if tick == looks[-1][1]] if looks else []
    return "still" if stood and stood[-1] - stood[0] >= limits.blind_after_s - 0.5 else ""
