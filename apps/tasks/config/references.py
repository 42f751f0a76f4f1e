"""What tasks say about other documents: attributes, events, lists, and other tasks. All must exist and fit.

Pure. An archived task is over: what it refers to may go away, and nothing may wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from apps.tasks.config import limits
from apps.tasks.config.condition_rows import inspect_rows
from apps.tasks.config.cycles import find_cycles
from apps.tasks.config.documents import USER_ZONE, Configuration, Task, ValueType
from apps.tasks.config.faults import PARTS, Fault, Inspection
from apps.tasks.config.values import nearest

ZONE_ATTRIBUTE = "zone"
"""The attribute in which a user's own time zone stands."""


class Known:
    """What the rows of a task may ask for, made once for a configuration."""

    __slots__ = ("attribute_types", "configuration", "event_types", "zone_type")

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.attribute_types: Mapping[str, ValueType] = {name: it.type for name, it in configuration.attributes.items()}
        self.event_types: Mapping[str, Mapping[str, ValueType]] = {name: it.attributes for name, it in configuration.events.items()}
        self.zone_type = self.attribute_types.get(ZONE_ATTRIBUTE)


def inspect_references(task: Task, known: Known, at: Inspection) -> None:
    if task.conditions:
        _inspect_conditions(task, known, at)
    if task.feeds:
        _inspect_feeds(task, known, at)
    if task.prerequisites:
        _inspect_prerequisites(task, known.configuration, at)
    for field in ("allow", "deny"):
        for place, name in enumerate(getattr(task.release, field)):
            if name not in known.configuration.lists:
                at.note("list_unknown", "release", field, place, list=name, nearest=nearest(name, known.configuration.lists))
            elif field == "allow" and task.release.percentage_bp == 0 and not known.configuration.lists[name].count:
                at.note("list_empty_used", "release", field, place, list=name)
    if task.period.zone == USER_ZONE:
        if known.zone_type is None:
            at.note("fallback_zone_always", "period", "zone", zone=task.period.fallback_zone)
        elif known.zone_type != "text":
            at.note("zone_attribute_type", "period", "zone", type=known.zone_type)


def _inspect_conditions(task: Task, known: Known, at: Inspection) -> None:
    if len(task.conditions) > limits.MAX_GROUPS:
        at.note("groups_too_many", "conditions", limit=limits.MAX_GROUPS, count=len(task.conditions))
    for group, rows in enumerate(task.conditions):
        if rows:
            inspect_rows(rows, known.attribute_types, "attribute_unknown", at.inside("conditions", group))
        else:
            at.note("group_empty", "conditions", group)


def _inspect_feeds(task: Task, known: Known, at: Inspection) -> None:
    if len(task.feeds) > limits.MAX_FEEDS:
        at.note("feeds_too_many", "feeds", limit=limits.MAX_FEEDS, count=len(task.feeds))
    for place, feed in enumerate(task.feeds):
        types = known.event_types.get(feed.event)
        if types is None:
            at.note("event_unknown", "feeds", place, "event", event=feed.event, nearest=nearest(feed.event, known.event_types))
            continue
        if task.mode == "distinct" and task.distinct_by and task.distinct_by not in types:
            at.note("distinct_by_unknown", "distinct_by", attribute=task.distinct_by, event=feed.event)
        if feed.where:
            inspect_rows(feed.where, types, "event_attribute_unknown", at.inside("feeds", place, "where"), event=feed.event)
        if feed in task.feeds[:place]:
            at.note("feed_twice", "feeds", place, event=feed.event)


def _inspect_prerequisites(task: Task, configuration: Configuration, at: Inspection) -> None:
    if len(task.prerequisites) > limits.MAX_PREREQUISITES:
        at.note("prerequisites_too_many", "prerequisites", limit=limits.MAX_PREREQUISITES, count=len(task.prerequisites))
    seen: set[str] = set()
    for place, prerequisite in enumerate(task.prerequisites):
        code = prerequisite.task
        needed = configuration.tasks.get(code)
        if code == task.code:
            at.note("prerequisite_itself", "prerequisites", place, "task")
        elif needed is None:
            at.note("prerequisite_unknown", "prerequisites", place, "task", task=code, nearest=nearest(code, configuration.tasks))
        elif needed.archived:
            at.note("prerequisite_archived", "prerequisites", place, "task", task=code)
        else:
            if needed.switched_off:
                at.note("prerequisite_switched_off", "prerequisites", place, "task", task=code)
            if task.exclusive_group and needed.exclusive_group == task.exclusive_group:
                at.note("prerequisite_exclusive", "prerequisites", place, "task", task=code, group=task.exclusive_group)
            if prerequisite.state == "claimed" and needed.claim.mode != "by_claim":
                at.note("prerequisite_never_claimed", "prerequisites", place, "state", task=code)
        if code in seen:
            at.note("prerequisite_twice", "prerequisites", place, "task", task=code)
        seen.add(code)


def inspect_order(tasks: Mapping[str, Task], live: Mapping[str, Task], found: list[Fault]) -> None:
    """Across tasks: positions in sequences, groups, and that nobody waits for himself. Archived tasks stand outside.

    What lies between tasks is noted at one that differs from `live`, for there its editor looks.
    """
    needs: dict[str, list[str]] = {}
    sequences: dict[str, list[Task]] = {}
    groups: dict[str, list[Task]] = {}
    for task in tasks.values():
        if task.archived:
            continue
        if task.prerequisites:
            needs[task.code] = [prerequisite.task for prerequisite in task.prerequisites if prerequisite.task != task.code]
        if task.sequence:
            sequences.setdefault(task.sequence, []).append(task)
        elif task.position:
            _at(task.code, found).note("position_unused", "position")
        if task.exclusive_group:
            groups.setdefault(task.exclusive_group, []).append(task)

    def is_changed(code: str) -> bool:
        return tasks.get(code) != live.get(code)

    for name, members in sequences.items():
        members.sort(key=lambda task: (task.position, task.code))
        if len(members) == 1:
            _at(members[0].code, found).note("sequence_alone", "sequence", sequence=name)
        for before, task in pairwise(members):
            if before.position == task.position:
                here, there = (
                    (before.code, task.code) if is_changed(before.code) and not is_changed(task.code) else (task.code, before.code)
                )
                _at(here, found).note("position_twice", "position", sequence=name, position=task.position, task=there)
            else:
                needs.setdefault(task.code, []).append(before.code)
    for name, members in groups.items():
        if len(members) == 1:
            _at(members[0].code, found).note("exclusive_group_alone", "exclusive_group", group=name)
    for cycle in find_cycles(needs):
        first = next((place for place, code in enumerate(cycle) if is_changed(code)), 0)
        turned = [*cycle[first:-1], *cycle[: first + 1]]
        _at(turned[0], found).note("cycle", "prerequisites", cycle=turned)


def _at(code: str, found: list[Fault]) -> Inspection:
    return Inspection(found, PARTS["task"], code)
