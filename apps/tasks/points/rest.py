"""When to leave a points system alone that fails whatever it is sent. Pure: moments are passed in.

After a few failures in a row nothing is sent for a while; then one grant, and the while doubles or ends with it. So an outage of an hour
costs the grants that waited through it no attempt.
"""

from __future__ import annotations

from dataclasses import dataclass

FAILURES = 5
FIRST_REST_S = 1.0
LONGEST_REST_S = 30.0


@dataclass
class Rest:
    """One of a relay's process, used under a lock."""

    failures: int = 0
    rest_s: float = 0.0
    until: float = 0.0
    began: float = 0.0
    succeeded: float = 0.0
    """When the youngest request was sent that was answered."""

    def allowed(self, now: float, wanted: int, in_flight: int) -> int:
        """How many may be sent now: all, none, or the one that tries."""
        if not self.rest_s:
            return wanted
        if now < self.until or in_flight:
            return 0
        return min(1, wanted)

    def note(self, failed: bool, sent_at: float, now: float) -> None:
        """How it ended, of what was sent at `sent_at`."""
        if not failed:
            self.failures, self.rest_s, self.succeeded = 0, 0.0, max(self.succeeded, sent_at)
            return
        if sent_at <= self.succeeded:
            return  # what times out is known last: others that were sent with it have been answered
        self.failures += 1
        if self.failures < FAILURES or (self.rest_s and sent_at < self.began):
            return  # few failures yet, or one of those that had been sent before the rest began
        self.rest_s = min(2 * self.rest_s or FIRST_REST_S, LONGEST_REST_S)
        self.began, self.until = now, now + self.rest_s
