"""What must never happen, looked for after every step.

R: no read is older than any read or acknowledged write that ended before it began. What the database itself lost is excused:
    `steps_database` takes it out of `shown` and `must_see` when it is lost.
L: no acknowledged write is lost, unless the database lost it.
O: no event is applied twice.

That everybody is served in the end (INV 7) is not explored: that takes time, and here there is none.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.model.state import AWAY, Step, user_state


class Violation(NamedTuple):
    promise: str
    sentence: str


def judge(step: Step) -> Violation | None:
    """The promise that this step breaks, or None."""
    ended = step.ended
    if ended is not None and ended.got is not None and ended.got[: len(ended.must_see)] != ended.must_see:
        return Violation("R", f"the read returned {_say(ended.got)}, but {_say(ended.must_see)} was shown or acknowledged before it began")
    state = step.state
    applied = user_state(state.database.commits)
    if len(set(applied)) < len(applied):
        return Violation("O", f"an event was applied twice: {_say(applied)}")
    lost = state.acknowledged.difference(applied)
    # What is out of reach is not lost, as long as nobody writes without it.
    if lost and state.worker.phase != AWAY:
        return Violation("L", f"{_say(tuple(sorted(lost)))} was acknowledged and is lost; the master has {_say(applied)}")
    return None


def _say(events: tuple[str, ...]) -> str:
    return "+".join(events) or "nothing"
