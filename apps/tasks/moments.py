"""How pages say a moment: the same for every reader, in his zone, with the zone's name.

11/12 is a day in November here and in December there, so it is year, month, day; and a time without its zone is a guess.
"""

from __future__ import annotations

from datetime import datetime, tzinfo

from django.utils import timezone

PATTERN = "%Y-%m-%d %H:%M"


def zone_name(zone: tzinfo | None = None) -> str:
    """The IANA name of a zone, or of the one that this page is in."""
    zone = zone or timezone.get_current_timezone()
    return getattr(zone, "key", "") or str(zone)


def say_moment(at: datetime | None, zone: tzinfo | None = None, with_zone: bool = True) -> str:
    """`2026-11-30 18:24 Asia/Shanghai`; empty for none. Where a column's heading names the zone, `with_zone` may be False."""
    if at is None:
        return ""
    text = timezone.localtime(at, zone).strftime(PATTERN)
    return f"{text} {zone_name(zone)}" if with_zone else text
