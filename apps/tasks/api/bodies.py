"""The bodies of requests, as typed values. A field that nobody knows is a fault of the caller."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec

from workers.protocol import MAX_VALUE

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Value = Annotated[int, msgspec.Meta(ge=0, le=MAX_VALUE)]


class StepBody(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `complete` and `accept`. `at` is when it happened, with its offset; without it, now. `attributes` are the user's."""

    event_id: str
    at: Moment | None = None
    attributes: dict[str, Any] = {}


class ClaimBody(StepBody, forbid_unknown_fields=True):
    """`period`: the key of an earlier period; without it, the present one."""

    period: str | None = None


class RevertBody(ClaimBody, forbid_unknown_fields=True):
    """`member`: of mode distinct, the value that is not to count any more; `value`: of the others."""

    value: Value = 1
    member: str | int | float | bool | None = None


class EventBody(msgspec.Struct, forbid_unknown_fields=True):
    """`attributes` are the event's; `profile` says what the caller knows of the user."""

    event_id: str
    type: str
    value: Value = 1
    at: Moment | None = None
    attributes: dict[str, Any] = {}
    profile: dict[str, Any] = {}


class EventItem(EventBody, forbid_unknown_fields=True, kw_only=True):
    uid: int | str


class EventsBody(msgspec.Struct, forbid_unknown_fields=True):
    items: list[EventItem]


class UserItem(msgspec.Struct, forbid_unknown_fields=True):
    uid: int | str
    attributes: dict[str, Any] = {}


class UsersBody(msgspec.Struct, forbid_unknown_fields=True):
    items: list[UserItem]


class ExplainBody(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `explain`. Without `at`: now; without `tasks` (codes): all; without `draft` (its number): what is live."""

    uid: int | str
    at: Moment | None = None
    attributes: dict[str, Any] = {}
    tasks: list[str] | None = None
    draft: int | None = None
