"""Builders of valid documents: a test changes the one thing it is about."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from apps.tasks.config.documents import (
    KINDS,
    Attribute,
    Condition,
    Configuration,
    Document,
    EventType,
    Task,
    Text,
    UserList,
    key_of,
)
from apps.tasks.config.documents import TYPES as TYPES_OF_KINDS

START = datetime(2026, 12, 1, tzinfo=timezone.utc)
END = datetime(2027, 1, 1, tzinfo=timezone.utc)

LEVEL = Attribute(name="level", type="number")
REGION = Attribute(name="region", type="text")
VIP = Attribute(name="vip", type="boolean")
REGISTERED = Attribute(name="registered_on", type="date")
CLIENT = Attribute(name="client", type="version")
MATCH = EventType(name="match_finished", attributes={"mode": "text", "score": "number", "rival": "text"})
BETA = UserList(name="beta", sha256="0" * 64, count=3)


def a_task(code: str = "daily-login", **changes: Any) -> Task:
    fields: dict[str, Any] = {
        "code": code,
        "texts": {"en": Text(name="Log in today"), "zh-hans": Text(name="今日登录")},
        "starts_at": START,
        "points": 5,
    }
    return Task(**(fields | changes))


def a_configuration(*documents: Document) -> Configuration:
    """With the attributes, the event and the list above besides."""
    everything = (LEVEL, REGION, VIP, REGISTERED, CLIENT, MATCH, BETA, *documents)
    kinds = {TYPES_OF_KINDS[kind]: kind for kind in KINDS}
    return Configuration().changed({(kinds[type(document)], key_of(document)): document for document in everything})


def only_if(attribute: str, operator: Any, value: Any = None) -> Condition:
    return Condition(attribute=attribute, operator=operator, value=value)
