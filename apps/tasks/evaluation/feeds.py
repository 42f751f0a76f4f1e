"""Which tasks an event feeds: the rows of their feeds, compiled as conditions over the event's attributes.

Pure. The feeds of one event type in one task are groups, of which one must hold, as groups of conditions do: each event counts once. An
attribute that is missing, or not of the type that the event type says, is unknown, and no row is ever met by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apps.tasks.config.bundle_document import PublishedTask
from apps.tasks.config.documents import Attribute, Condition, EventType
from apps.tasks.evaluation.attributes import Registry
from apps.tasks.evaluation.conditions import Groups, compile_groups

NO_ATTRIBUTES = EventType(name="")


def registries_of(events: Mapping[str, EventType], tasks: Iterable[PublishedTask]) -> dict[str, Registry]:
    """By event type, registered or not: how the attributes of such an event are read, all those that a filter asks for included."""
    asked: dict[str, set[str]] = {name: set() for name in events}
    for task in tasks:
        for feed in task.feeds:
            asked.setdefault(feed.event, set()).update(row.attribute for row in feed.where)
    return {name: _registry(events.get(name, NO_ATTRIBUTES), rows) for name, rows in asked.items()}


def compile_feeds(task: PublishedTask, registries: Mapping[str, Registry]) -> dict[str, Groups]:
    """By event type: the filters, of which one must hold. Raises BadCondition."""
    filters: dict[str, list[tuple[Condition, ...]]] = {}
    for feed in task.feeds:
        filters.setdefault(feed.event, []).append(feed.where)
    return {event: compile_groups(groups, registries[event]) for event, groups in filters.items()}


def _registry(event: EventType, asked: Iterable[str]) -> Registry:
    return Registry({name: Attribute(name=name, type=type_) for name, type_ in event.attributes.items()}, asked)
