"""What time it is, as everybody sees it who dates rows or asks how old they are."""

from __future__ import annotations

import time
from typing import Any

RECENT_S = 7 * 86_400
"""A DBSvr that has committed nothing for longer than the other has is away; before that its clock may be behind."""


def clocks(cursor: Any) -> list[float]:
    """Epoch seconds: ours, the master's, and that of the DBSvr that is behind, which dates its rows. `cursor`: of `userdata`."""
    cursor.execute(
        "SELECT UNIX_TIMESTAMP(SYSDATE(3)),"
        " (SELECT MIN(wall_us) / 1000000 FROM db_info WHERE wall_us > (SELECT MAX(wall_us) FROM db_info) - %s)",
        [RECENT_S * 1_000_000],
    )
    return [time.time(), *(float(clock) for clock in cursor.fetchone() if clock)]
