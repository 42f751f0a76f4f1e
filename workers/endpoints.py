"""Which of a server's endpoints to use: what probes saw there, and when to move to another.

Pure. A master or a replica is a list of endpoints (gateways, or the server's own address), the preferred one first. An
endpoint in use is judged by its use; the others are looked at every second. We leave an endpoint only when it fails, and go
back to one that comes before it in the list only when several looks in a row found it fit: a single look decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from workers.timelines import Found, Known, is_outdated

STEADY_LOOKS = 5
"""Looks in a row that must find an endpoint fit before we move to it without need."""
FAILED_LOOKS = 3
"""Looks in a row that must fail before an endpoint is said to be away."""


class Look(NamedTuple):
    """What one look found. No faults: fit for its role. `found` is None for a replica, or where there is no row yet."""

    endpoint: str
    faults: tuple[str, ...] = ()
    server_id: int = 0
    found: Found | None = None

    @property
    def is_fit(self) -> bool:
        return not self.faults


class Standing:
    """An endpoint over several looks."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.last: Look | None = None
        self.looked_at = float("-inf")
        self._fit_in_a_row = 0
        self._failed_in_a_row = 0

    def note(self, look: Look, now: float) -> None:
        self.last, self.looked_at = look, now
        self._fit_in_a_row = self._fit_in_a_row + 1 if look.is_fit else 0
        self._failed_in_a_row = 0 if look.is_fit else self._failed_in_a_row + 1

    @property
    def is_steady(self) -> bool:
        return self._fit_in_a_row >= STEADY_LOOKS

    @property
    def state(self) -> str:
        """fit, away, or unknown: not looked at yet, or between the two."""
        if self._fit_in_a_row:
            return "fit"
        return "away" if self._failed_in_a_row >= FAILED_LOOKS else "unknown"


def choose_replica(looks: Iterable[Look]) -> Look | None:
    """The first fit one."""
    return next((look for look in looks if look.is_fit), None)


def choose_master(looks: Iterable[Look], known: Known) -> Look | None:
    """Of the fit ones that of the newest generation; then the one that wrote last, as its own rows say; then the first.

    A former master that has come back is fit and writable, and never chosen.
    """
    fit = [look for look in looks if look.is_fit and not is_former_master(look, known)]
    return max(fit, key=_rank, default=None)  # of equals, max takes the first


def _rank(look: Look) -> tuple[int, bool]:
    found = look.found
    if found is None:
        return (0, False)
    return (max(found.generation, found.generation_here), found.recorded_server_id == found.server_id)


def is_former_master(look: Look, known: Known) -> bool:
    return look.found is not None and is_outdated(look.found, known)


def should_move(current: Look, order: Sequence[str], standings: Mapping[str, Standing], is_master: bool) -> str | None:
    """A better endpoint than the one in use: one before it in the list, steady, and for a master the same server behind it."""
    for endpoint in order[: order.index(current.endpoint)]:
        standing = standings[endpoint]
        if standing.is_steady and standing.last is not None and (not is_master or standing.last.server_id == current.server_id):
            return endpoint
    return None


def second_master(current: Look, standings: Iterable[Standing]) -> Look | None:
    """Another server that would take writes as well, while we write to the current one."""
    for standing in standings:
        look = standing.last
        if look is not None and look.endpoint != current.endpoint and look.is_fit and look.server_id != current.server_id:
            return look
    return None
