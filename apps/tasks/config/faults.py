"""What is wrong with a configuration: where, what, and how bad.

Pure. A fault carries a stable code and plain values; `words` says it. The pointer is a JSON pointer into the configuration, such as
`/tasks/daily-login/ends_at`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from apps.tasks.config.documents import ATTRIBUTE, EVENT, LIST, TASK

FAULT, WARNING = "fault", "warning"

PARTS = {TASK: "tasks", ATTRIBUTE: "attributes", EVENT: "events", LIST: "lists"}
"""The part of the configuration in which documents of a kind stand."""
KIND_OF_PART = {part: kind for kind, part in PARTS.items()}

WARNINGS = frozenset(
    {
        "anchor_missing",
        "attribute_type_changed",
        "budget_below_total_cap",
        "cap_never_reached",
        "distinct_by_unused",
        "exclusive_group_alone",
        "fallback_zone_always",
        "feed_twice",
        "group_never_holds",
        "list_allowed_and_denied",
        "list_empty_used",
        "period_field_unused",
        "position_unused",
        "prerequisite_exclusive",
        "prerequisite_never_claimed",
        "prerequisite_switched_off",
        "released_to_nobody",
        "row_twice",
        "claim_grace_unused",
        "sequence_alone",
        "task_removed",
        "text_missing",
        "tiers_field_unused",
    }
)
"""Codes of what may be published all the same."""


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong, or that the operator probably did not mean (a warning). The values of `params` are as JSON holds them."""

    pointer: str
    code: str
    params: dict[str, Any] = {}

    @property
    def level(self) -> str:
        return WARNING if self.code in WARNINGS else FAULT

    @property
    def place(self) -> tuple[str, ...]:
        """The pointer's parts; the first two are the document's part of the configuration and its key."""
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in self.pointer.split("/")[1:])

    @property
    def kind(self) -> str:
        """Of the document; empty where the fault lies in none."""
        return KIND_OF_PART.get(self.place[0], "") if self.pointer else ""

    @property
    def key(self) -> str:
        """The document's code or name; empty where the fault lies in none."""
        return self.place[1] if len(self.place) > 1 else ""


def pointer_to(*parts: object) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def refusals(faults: Iterable[Fault]) -> list[Fault]:
    """Those that keep a configuration from being published."""
    return [fault for fault in faults if fault.level == FAULT]


class Inspection:
    """Collects the faults of one place; `inside` goes deeper. Pointers are built only for what is wrong."""

    __slots__ = ("found", "parts")

    def __init__(self, found: list[Fault], *parts: object) -> None:
        self.found = found
        self.parts = parts

    def note(self, code: str, /, *place: object, **params: Any) -> None:
        self.found.append(Fault(pointer_to(*self.parts, *place), code, params))

    def inside(self, *place: object) -> Inspection:
        return Inspection(self.found, *self.parts, *place)
