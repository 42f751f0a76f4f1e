"""The states of a grant on its way out, as `grant_outbox.state` keeps them, and the row as the relay sees it. Pure.

                   ┌──────── 5xx, 429, unreachable ────────┐
                   ▼                                       │
(written) ──► PENDING ──► SENT ──► CONFIRMED               │
                   │        ├────► REJECTED                │
                   │        ├──────────────────────────────┘
                   │        └────► INDETERMINATE ──► SENT …       no answer, or the relay ended: asked again under the same id
                   ├────► SUPERSEDED                              a newer total stands for it (sends = "totals")
                   └────► DEAD ──► PENDING                        failed for too long; an operator sends it again
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class State(enum.IntEnum):
    PENDING = 0
    SENT = 1
    CONFIRMED = 2
    REJECTED = 3
    INDETERMINATE = 4
    DEAD = 5
    SUPERSEDED = 6

    @property
    def word(self) -> str:
        """In addresses, logs and JSON."""
        return self.name.lower()


OPEN = (State.PENDING, State.SENT, State.INDETERMINATE)
"""It is not known yet whether the points system has it: a user's later grants wait for it."""
MAY_BE_SENT_AGAIN = (State.DEAD, State.REJECTED)


def state_of(word: str) -> State | None:
    return State.__members__.get(word.upper())


class Grant(NamedTuple):
    """A row of `grant_outbox`, without what only people read."""

    grant_id: str
    uid: int
    version: int
    task_id: int
    period_key: str
    tier: int
    points: int
    total: int
    created_ms: int
    state: State
    attempts: int
    due_ms: int

    @property
    def place(self) -> tuple[int, int, str]:
        """A user's grants are delivered in this order."""
        return (self.version, self.tier, self.grant_id)
