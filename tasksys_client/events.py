"""What is told of users: events, each with an id that it keeps however often it is sent."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec


def new_event_id() -> str:
    return uuid.uuid4().hex


class Event(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One event of a batch. Its id is made with it: keep the event, and send it again as it is."""

    uid: int
    type: str
    event_id: str = msgspec.field(default_factory=new_event_id)
    value: int = 1
    at: datetime | None = None
    """When it happened, with an offset; without it, when the server hears of it."""
    attributes: Mapping[str, Any] = {}
    profile: Mapping[str, Any] = {}
    """What you know of the user."""


class UserQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One user of a batch, and what you know of him."""

    uid: int
    attributes: Mapping[str, Any] = {}
