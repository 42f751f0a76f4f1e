"""A replica's lag: made by the database itself, and looked at, because it is not quite what was asked for.

MariaDB delays by whole seconds, counted from a transaction's second, on a clock difference that it takes in whole seconds too. A delay of
1 s is a lag that swings by a second, around anything between half a second and one and a half.
"""

from __future__ import annotations

import statistics
import time

from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import ServerFailed

SWING_S = 1.0
LOOK_EVERY_S = 0.05
SHORT_S = 3
"""Up to here the swing matters."""
TRIES = 8
OFF_BY = 0.3


def make_lag(stack: PrivateStack, lag_s: int) -> None:
    """Let the replica be late by about so much. A short lag is there on return; a long one only builds up then."""
    stack.replica.delay(lag_s)
    if lag_s > SHORT_S:
        return
    if lag_s == 0:
        stack.wait_until_serving()
        return
    for _ in range(TRIES):
        time.sleep(lag_s + SWING_S)
        if is_near(median_lag_s(stack, SWING_S), lag_s):
            return
        stack.replica.delay(lag_s)  # the clock difference is taken anew
    raise ServerFailed(f"the replica's lag would not come near {lag_s} s in {TRIES} tries")


def is_near(measured_s: float | None, wanted_s: float) -> bool:
    return measured_s is not None and abs(measured_s - wanted_s) <= OFF_BY * wanted_s


def median_lag_s(stack: PrivateStack, seconds: float) -> float | None:
    """Over so long; None when it was mostly unknown."""
    seen: list[float] = []
    looks = max(1, round(seconds / LOOK_EVERY_S))
    for _ in range(looks):
        lag_s = lag_s_now(stack)
        if lag_s is not None:
            seen.append(lag_s)
        time.sleep(LOOK_EVERY_S)
    return statistics.median(seen) if len(seen) > looks / 2 else None


def lag_s_now(stack: PrivateStack) -> float | None:
    """As the DBSvr sees it; None is unknown."""
    stats = stack.stats()
    lag_ms = None if stats is None else stats["replicas"]["r1"]["lag_ms"]  # type: ignore[index]
    return None if lag_ms is None else lag_ms / 1000
