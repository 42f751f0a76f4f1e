"""One user while writes are applied to him: what is read, changed and written back.

Pure values. `changes` and `steps` change them, `store` reads and writes them, `KnownUsers` keeps them for his next write.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from workers.grants import Grant
from workers.protocol import CLAIMED, COMPLETED, IN_PROGRESS

STATES = (IN_PROGRESS, COMPLETED, CLAIMED)
"""A state's number in column `user_task.state` is its place here."""
RecordKey: TypeAlias = tuple[int, str]
"""(task, period key)"""


@dataclass(slots=True)
class Record:
    """One row of user_task. Moments in milliseconds since 1970."""

    progress: int = 0
    state: str = IN_PROGRESS
    completed_at: int | None = None
    claimed_at: int | None = None
    revision: int = 0
    granted: int = 0
    taken_back: int = 0
    members: bytes | None = None
    """Of mode distinct: the hash of each member that was counted, one after the other."""
    json: str = field(default="", compare=False, repr=False)
    """How a snapshot shows it, once one did: it does not change after that, since a change makes another record of it."""

    @property
    def has_begun(self) -> bool:
        """Who has only accepted a task has not."""
        return self.progress > 0 or self.state != IN_PROGRESS


@dataclass(slots=True)
class User:
    """`touched` and `grants` are to be written; so is, of who is `cleared`, that nothing else is left."""

    uid: int
    version: int = 0
    points: int = 0
    tasks: dict[RecordKey, Record] = field(default_factory=dict)
    touched: set[RecordKey] = field(default_factory=set)
    cleared: bool = False
    born_version: int = 0
    """At which he was cleared last."""
    grants: list[Grant] = field(default_factory=list)
    member_bytes: int = 0
    """Of all his records, about: what he takes in memory."""

    def forget_changes(self) -> None:
        """They are written."""
        self.touched.clear()
        self.grants.clear()
        self.cleared = False
