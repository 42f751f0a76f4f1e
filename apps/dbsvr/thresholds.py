"""When the light turns, and when it turns back.

Pure values: milliseconds, seconds, shares. "For" counts samples whose figure is known, one a second. Every threshold has another one
for turning back, so that nothing flickers. docs/console.md shows the same table to operators; a test compares the two.
"""

from __future__ import annotations

import msgspec


class Thresholds(msgspec.Struct, frozen=True):
    beat_ms: int = 100
    age_limit_ms: int = 200

    lag_ms: int = 5_000
    lag_for: int = 10
    lag_growing_ms: int = 60_000
    lag_growing_for: int = 120
    lag_growing_share: float = 0.8
    """Of the most reads/s that the master has shown: below it there is room, and lag alone is no harm."""
    lag_growing_clear_ms: int = 30_000
    lag_growing_clear_for: int = 30
    lag_clear_ms: int = 2_000
    lag_clear_for: int = 15

    still_for_s: float = 1.0
    silent_after_ms: int = 3_000
    silent_for: int = 3
    silent_clear_for: int = 5
    refused_for: int = 10
    refused_clear_for: int = 5
    none_for: int = 3
    none_clear_for: int = 15

    share: float = 0.8
    share_for: int = 60
    share_clear: float = 0.9
    share_clear_for: int = 60
    share_min_safe: float = 20.0
    """Reads/s that replicas might have served; with fewer, the share is noise and counts as unknown."""

    peer_for: int = 10
    peer_clear_for: int = 5
    warning_clear_for: int = 5
    lost_for_s: float = 86_400.0
    master_down_s: float = 3.0
    master_up_for: int = 5
    beat_attention: int = 10
    beat_fault: int = 30
    beat_clear: int = 5
    beat_clear_for: int = 10

    age_for: int = 5
    age_clear_for: int = 15
    query_fault_ms: int = 1_000
    finish_ms: int = 100
    finish_fault_ms: int = 1_000
    clear_ms: int = 600_000
    clear_fault_ms: int = 3_600_000
    clear_clear_ms: int = 300_000

    overload_of: int = 5
    overload_in: int = 3
    overload_clear_for: int = 30

    config_for: int = 5
    config_clear_for: int = 5
    config_unseen_ms: int = 10_000
    config_unseen_for: int = 3

    blind_after_s: float = 3.0
    blind_clear_for: int = 5
    all_blind_after_s: float = 10.0
    idle_for_s: float = 60.0
