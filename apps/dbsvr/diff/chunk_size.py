"""How many rows the next chunk takes, so that it costs each server about its time budget. Pure."""

from __future__ import annotations

LEAST_ROWS, MOST_ROWS = 100, 2_000_000
MOST_GROWTH = 4.0
"""In one step: the first chunks are read from a cold disk, or from memory, and say little about the next."""


def next_rows(rows: int, took_s: float, budget_s: float) -> int:
    """After a chunk of so many rows that took so long."""
    if rows <= 0 or took_s <= 0:
        return max(LEAST_ROWS, min(MOST_ROWS, rows or LEAST_ROWS))
    wanted = rows * min(MOST_GROWTH, budget_s / took_s)
    return int(max(LEAST_ROWS, min(MOST_ROWS, wanted)))
