"""From a grant and the meaning of its answer to the row that it becomes. Pure."""

from __future__ import annotations

from typing import NamedTuple

from apps.tasks.points.answers import Meaning, Outcome
from apps.tasks.points.states import Grant, State
from apps.tasks.points.waits import failed_for_ms, wait_ms

ERROR_LENGTH = 255


class Move(NamedTuple):
    """The columns that change."""

    state: State
    due_ms: int
    settled_ms: int | None
    error: str

    @property
    def is_settled(self) -> bool:
        """The user's next grant may go."""
        return self.settled_ms is not None


def move_after(grant: Grant, meaning: Meaning, now_ms: int, give_up_after_s: int, drawn: float) -> Move:
    """`grant` as it was claimed, its present attempt counted in."""
    error = meaning.error[:ERROR_LENGTH]
    if meaning.outcome is Outcome.CONFIRMED:
        return Move(State.CONFIRMED, 0, now_ms, "")
    if meaning.outcome is Outcome.REJECTED:
        return Move(State.REJECTED, 0, now_ms, error)
    if failed_for_ms(grant.attempts) >= give_up_after_s * 1000:
        return Move(State.DEAD, 0, now_ms, error)
    state = State.INDETERMINATE if meaning.outcome is Outcome.UNKNOWN else State.PENDING
    wait = max(wait_ms(grant.attempts, drawn), round(meaning.hold_s * 1000))
    return Move(state, now_ms + wait, None, error)
