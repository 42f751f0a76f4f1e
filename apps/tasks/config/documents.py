"""The task configuration as documents: what a draft changes, what a revision keeps, what is imported and exported.

Pure: typed values that JSON holds, nothing else. `validate` says whether they make sense together, `compile` makes the bundle of them.
A document is replaced whole; its key (a task's code, an attribute's name) never changes.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

TASK, ATTRIBUTE, EVENT, LIST = "task", "attribute", "event", "list"
KINDS = (TASK, ATTRIBUTE, EVENT, LIST)

ValueType: TypeAlias = Literal["number", "text", "boolean", "date", "version"]
"""`date` is a day or a moment in ISO 8601; `version` is dotted numbers, compared part by part: 1.10 is later than 1.9."""

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "in", "not_in", "between", "contains", "exists", "before", "after"]

_ANY: tuple[Operator, ...] = ("=", "!=", "in", "not_in", "exists")
_ORDERED: tuple[Operator, ...] = ("<", "<=", ">", ">=", "between")
OPERATORS: dict[ValueType, tuple[Operator, ...]] = {
    "number": (*_ANY, *_ORDERED),
    "text": (*_ANY, "contains"),
    "boolean": ("=", "!=", "exists"),
    "date": ("exists", "before", "after", "between"),
    "version": (*_ANY, *_ORDERED),
}
"""Which comparisons a type has. The value: one of the type; a list for in and not_in; [from, to], both included, for between
(for dates `to` is excluded); none for exists. `before` excludes the value, `after` includes it."""

USER_ZONE = "user"
"""As a period's zone: the user's own, from the attribute `zone`; where it is not known, the period's `fallback_zone`."""

WHOLE = 10_000
"""Basis points: all users."""


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all documents have in common: an unknown field is a fault, a default is not written."""

    def __post_init__(self) -> None:
        # msgspec leaves out a default only if it is the very same object; 86,400 read from a form is another one. Without this,
        # equal documents would give different bytes, and a field that was only saved again would look changed.
        for field, default in _defaults_of(type(self)):
            value = getattr(self, field)
            if value is not default and value == default and type(value) is type(default):
                msgspec.structs.force_setattr(self, field, default)


@cache
def _defaults_of(struct: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    fields = msgspec.structs.fields(struct)
    return tuple((field.name, field.default) for field in fields if field.default not in (msgspec.NODEFAULT, None, ()))


def _is_same_json(one: Any, other: Any) -> bool:
    """Python takes true for 1 and 1 for 1.0; who asks for the one does not mean the other."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same_json, one, other))
    return type(one) is type(other) and bool(one == other)


class Condition(_Document, frozen=True, kw_only=True, eq=False):
    """One row: what is asked of one attribute of the user (or, in a feed, of the event)."""

    attribute: str
    operator: Operator
    value: Any = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Condition):
            return NotImplemented
        return self.attribute == other.attribute and self.operator == other.operator and _is_same_json(self.value, other.value)

    def __ne__(self, other: object) -> bool:
        return not self == other  # msgspec has a != of its own, by identity, which would win

    def __hash__(self) -> int:
        return hash((self.attribute, self.operator))


class Text(_Document, frozen=True, kw_only=True):
    """What users read, in one language. `link` opens what is to be done."""

    name: str
    description: str = ""
    button: str = ""
    link: str = ""


class Feed(_Document, frozen=True, kw_only=True):
    """Which events count: those of this type whose attributes satisfy every row of `where`."""

    event: str
    where: tuple[Condition, ...] = ()


class Period(_Document, frozen=True, kw_only=True):
    """How often. The key of a period is computed from the event's time.

    `once`: never again. `window`: once from `starts_at` to `ends_at` of the task. The others begin anew at `resets_at` ("HH:MM",
    local time): every day; on `week_starts_on` (1 Monday … 7 Sunday); on `month_day` (in shorter months on their last day);
    every `every_days` days, counted from `anchor` (1 January 1970).
    """

    kind: Literal["once", "daily", "weekly", "monthly", "every_days", "window"] = "once"
    zone: str = "UTC"
    fallback_zone: str = "UTC"
    resets_at: str = "00:00"
    week_starts_on: int = 1
    month_day: int = 1
    every_days: int = 1
    anchor: date | None = None


class Prerequisite(_Document, frozen=True, kw_only=True):
    """Another task that must be completed (or claimed) first, in its own present period."""

    task: str
    state: Literal["completed", "claimed"] = "completed"


class Tier(_Document, frozen=True, kw_only=True):
    """One step of a task with several: what it takes and gives. Points are those of this tier alone."""

    target: int
    points: int = 0


class Streak(_Document, frozen=True, kw_only=True):
    """`length` periods in a row; up to `grace` missed ones between two do not break it."""

    length: int
    grace: int = 0


class Claim(_Document, frozen=True, kw_only=True):
    """How the reward comes: by itself; when the user claims it (up to `grace_s` seconds after the period's end); `accept_first`:
    progress counts only from the moment at which the user has accepted the task, then the reward comes by itself."""

    mode: Literal["automatic", "by_claim", "accept_first"] = "automatic"
    grace_s: int = 0


class Caps(_Document, frozen=True, kw_only=True):
    """None: no cap. Completions by one user in a period; by all users, ever; by all users in a period; points given out in all."""

    per_user: int | None = None
    total: int | None = None
    per_period: int | None = None
    points_budget: int | None = None


class Release(_Document, frozen=True, kw_only=True):
    """Who of the users has the task at all: nobody on a list of `deny`; everybody on a list of `allow`; of the rest the share
    `percentage_bp` (basis points), by murmur3 of salt and uid. A larger share keeps everybody who had the task. An empty salt means
    the task's code."""

    percentage_bp: int = WHOLE
    salt: str = ""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Task(_Document, frozen=True, kw_only=True):
    """One thing that users may do. The window is half open: `starts_at` belongs to it, `ends_at` does not (both in UTC).

    `conditions` are groups of rows: all rows of a group must hold, and one group must; no group: everybody.
    `target` and `points` are those of kinds single (target 1), counter and streak (points for each full streak); `tiers` has its own.
    `late_window_s`: how long after its time an event still counts.
    `archived`: it is over for good and stands in no list; its code stays taken. `switched_off`: nobody can do it for now.
    """

    code: str
    kind: Literal["single", "counter", "tiers", "streak"] = "single"
    texts: dict[str, Text] = {}
    category: str = ""
    icon: str = ""
    weight: int = 0
    tags: tuple[str, ...] = ()
    starts_at: datetime
    ends_at: datetime | None = None
    period: Period = Period()
    mode: Literal["add", "max", "set", "distinct"] = "add"
    distinct_by: str = ""
    """For mode distinct: the event's attribute of which different values are counted."""
    feeds: tuple[Feed, ...] = ()
    late_window_s: int = 86_400
    revert_takes_back: bool = False
    """Whether a revert also takes back what was granted."""
    target: int = 1
    points: int = 0
    tiers: tuple[Tier, ...] = ()
    streak: Streak | None = None
    conditions: tuple[tuple[Condition, ...], ...] = ()
    prerequisites: tuple[Prerequisite, ...] = ()
    exclusive_group: str = ""
    """Of the tasks with the same name here a user may do only one in a period: the first one that he makes progress in."""
    sequence: str = ""
    position: int = 0
    """In the sequence of this name, those with lower positions must be completed first."""
    claim: Claim = Claim()
    caps: Caps = Caps()
    release: Release = Release()
    switched_off: bool = False
    archived: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("starts_at", "ends_at"):
            moment: datetime | None = getattr(self, field)
            # The same moment in another zone is the same document. A year that has no UTC is left for `validate` to refuse.
            if moment is not None and moment.tzinfo not in (None, timezone.utc) and 1 < moment.year < 9999:
                msgspec.structs.force_setattr(self, field, moment.astimezone(timezone.utc))


class Attribute(_Document, frozen=True, kw_only=True, eq=False):
    """One property of users that conditions may ask for. `source`: the profile system, or the caller, who passes it with a request.

    `default`: what counts when it is missing; none: it is unknown, and unknown never satisfies. `ttl_s`: how long a value of the
    profile system is kept.
    """

    name: str
    type: ValueType
    source: Literal["profile", "request"] = "profile"
    description: str = ""
    default: Any = None
    ttl_s: int = 300

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attribute):
            return NotImplemented
        fields = msgspec.structs.astuple
        return fields(self) == fields(other) and _is_same_json(self.default, other.default)

    def __ne__(self, other: object) -> bool:
        return not self == other  # as in Condition

    def __hash__(self) -> int:
        return hash((self.name, self.type))


class EventType(_Document, frozen=True, kw_only=True):
    """One kind of event that logic servers send, and the types of its attributes."""

    name: str
    description: str = ""
    attributes: dict[str, ValueType] = {}


class UserList(_Document, frozen=True, kw_only=True):
    """A list of users for gray releases. The uids stand elsewhere, under the SHA-256 of their text: one a line, ascending, each once,
    every line ended by a line feed."""

    name: str
    description: str = ""
    sha256: str
    count: int


Document: TypeAlias = Task | Attribute | EventType | UserList
TYPES: dict[str, type[Document]] = {TASK: Task, ATTRIBUTE: Attribute, EVENT: EventType, LIST: UserList}


class Configuration(_Document, frozen=True, kw_only=True):
    """Everything of one revision. Keys are the documents' own codes and names."""

    tasks: dict[str, Task] = {}
    attributes: dict[str, Attribute] = {}
    events: dict[str, EventType] = {}
    lists: dict[str, UserList] = {}

    def of_kind(self, kind: str) -> dict[str, Any]:
        """The documents of one kind by key."""
        documents: dict[str, dict[str, Any]] = {
            TASK: self.tasks,
            ATTRIBUTE: self.attributes,
            EVENT: self.events,
            LIST: self.lists,
        }
        return documents[kind]

    def changed(self, changes: dict[tuple[str, str], Document | None]) -> Configuration:
        """A configuration with these documents (by kind and key) in place of its own; None takes one away."""
        parts = {kind: dict(self.of_kind(kind)) for kind in KINDS}
        for (kind, key), document in changes.items():
            if document is None:
                parts[kind].pop(key, None)
            else:
                parts[kind][key] = document
        return Configuration(tasks=parts[TASK], attributes=parts[ATTRIBUTE], events=parts[EVENT], lists=parts[LIST])


def key_of(document: Document) -> str:
    return document.code if isinstance(document, Task) else document.name


encode = msgspec.json.Encoder(order="deterministic").encode
"""The document as JSON; equal documents give equal bytes."""

decode_configuration = msgspec.json.Decoder(Configuration).decode


def to_plain(document: Document) -> dict[str, Any]:
    """As JSON holds it: what a draft's item stores."""
    plain: dict[str, Any] = msgspec.json.decode(encode(document))  # to_builtins would leave tuples, which equal no list
    return plain


def from_plain(kind: str, plain: object) -> Document:
    """Raises msgspec.ValidationError, whose text names the place."""
    return msgspec.convert(plain, TYPES[kind])
