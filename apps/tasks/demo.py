"""The demo tasks: one of each kind that operators meet. Moments are relative to the day they are loaded."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

DEMO_TASKS: tuple[dict[str, Any], ...] = (
    {"code": "log-in-today", "name": "Log in today", "description": "Open the app once a day.", "period": "daily", "points": 5},
    {
        "code": "log-in-shanghai",
        "name": "Good morning, Shanghai",
        "description": "Open the app once a day; the day begins at midnight in Shanghai.",
        "period": "daily",
        "time_zone": "Asia/Shanghai",
        "points": 5,
    },
    {
        "code": "log-in-new-york",
        "name": "Good morning, New York",
        "description": "Open the app once a day; the day begins at midnight in New York.",
        "period": "daily",
        "time_zone": "America/New_York",
        "points": 5,
    },
    {"code": "complete-profile", "name": "Complete your profile", "description": "Add a picture and your birthday.", "points": 20},
    {"code": "verify-email", "name": "Verify your e-mail address", "description": "Follow the link in our message.", "points": 10},
    {
        "code": "invite-3-friends",
        "name": "Invite 3 friends",
        "description": "They must open the app once.",
        "target": 3,
        "points": 50,
    },
    {
        "code": "play-5-matches",
        "name": "Play 5 matches",
        "description": "Any mode counts.",
        "period": "daily",
        "target": 5,
        "points": 15,
    },
    {"code": "first-purchase", "name": "Buy something in the shop", "description": "Whatever you like.", "points": 100},
    {
        "code": "collect-100-shards",
        "name": "Collect 100 shards",
        "description": "They lie in the dungeons.",
        "target": 100,
        "points": 200,
    },
    {
        "code": "winter-festival",
        "name": "Winter festival",
        "description": "Light the lantern on the main square.",
        "ends_in_days": 30,
        "points": 30,
    },
    {
        "code": "new-year",
        "name": "New year's greeting",
        "description": "Send a card to a friend.",
        "starts_in_days": 21,
        "ends_in_days": 45,
        "points": 25,
    },
    {
        "code": "autumn-harvest",
        "name": "Autumn harvest",
        "description": "It is over: shown so that an ended task can be seen.",
        "starts_in_days": -60,
        "ends_in_days": -20,
        "points": 40,
    },
    {
        "code": "beta-survey",
        "name": "Answer the beta survey",
        "description": "Switched off: shown so that a switched-off task can be seen.",
        "active": False,
        "points": 10,
    },
)


def task_fields(demo: dict[str, Any], midnight: datetime) -> dict[str, Any]:
    """The model's fields for one demo task; what is not said starts 30 days before `midnight` and has no end."""
    fields = dict(demo)
    starts_in = fields.pop("starts_in_days", -30)
    ends_in = fields.pop("ends_in_days", None)
    fields["starts_at"] = midnight + timedelta(days=starts_in)
    fields["ends_at"] = None if ends_in is None else midnight + timedelta(days=ends_in)
    return fields
