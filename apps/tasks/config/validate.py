"""Whether a configuration makes sense as a whole: every fault at once, with its place.

Pure. Types were checked when the documents were read (`reading`); this is about values and about what fits together.
"""

from __future__ import annotations

from apps.tasks.config import limits
from apps.tasks.config.condition_rows import note_wrong_type
from apps.tasks.config.documents import ATTRIBUTE, EVENT, LIST, TASK, Attribute, Configuration, EventType, UserList
from apps.tasks.config.faults import PARTS, Fault, Inspection
from apps.tasks.config.references import Known, inspect_order, inspect_references
from apps.tasks.config.task_rules import check_length, check_range, check_span, inspect_task
from apps.tasks.config.values import is_of_type

_MOST = {TASK: limits.MAX_TASKS, ATTRIBUTE: limits.MAX_ATTRIBUTES, EVENT: limits.MAX_EVENTS, LIST: limits.MAX_LISTS}


def validate(
    configuration: Configuration,
    live: Configuration | None = None,
    *,
    event_retention_s: int = limits.EVENT_RETENTION_S,
) -> list[Fault]:
    """All faults and warnings. With `live` (what is published now) also those of the change itself."""
    found: list[Fault] = []
    for kind, most in _MOST.items():
        count = len(configuration.of_kind(kind))
        if count > most:
            Inspection(found, PARTS[kind]).note("documents_too_many", kind=kind, limit=most, count=count)
    for name, attribute in configuration.attributes.items():
        _inspect_attribute(name, attribute, Inspection(found, PARTS[ATTRIBUTE], name))
    for name, event in configuration.events.items():
        _inspect_event(name, event, Inspection(found, PARTS[EVENT], name))
    for name, user_list in configuration.lists.items():
        _inspect_list(name, user_list, Inspection(found, PARTS[LIST], name))
    known = Known(configuration)
    for code, task in configuration.tasks.items():
        at = Inspection(found, PARTS[TASK], code)
        if code != task.code:
            at.note("key_differs", "code", key=code, name=task.code)
        inspect_task(task, at, event_retention_s)
        if not task.archived:
            inspect_references(task, known, at)
    inspect_order(configuration.tasks, live.tasks if live is not None else {}, found)
    if live is not None:
        _inspect_change(live, configuration, found)
    return found


def _check_name(key: str, name: str, at: Inspection) -> None:
    if key != name:
        at.note("key_differs", "name", key=key, name=name)
    if not limits.NAME.fullmatch(name):
        at.note("name_pattern", "name", name=name[:80])


def _inspect_attribute(key: str, attribute: Attribute, at: Inspection) -> None:
    _check_name(key, attribute.name, at)
    check_length(at, attribute.description, limits.MAX_CHARACTERS["description"], "description")
    check_span(at, attribute.ttl_s, 1, limits.MAX_TTL_S, "ttl_s")
    if attribute.default is not None and not is_of_type(attribute.default, attribute.type):
        note_wrong_type(at.inside("default"), attribute.name, attribute.type, attribute.default)


def _inspect_event(key: str, event: EventType, at: Inspection) -> None:
    _check_name(key, event.name, at)
    check_length(at, event.description, limits.MAX_CHARACTERS["description"], "description")
    if len(event.attributes) > limits.MAX_EVENT_ATTRIBUTES:
        at.note("event_attributes_too_many", "attributes", limit=limits.MAX_EVENT_ATTRIBUTES, count=len(event.attributes))
    for name in event.attributes:
        if not limits.NAME.fullmatch(name):
            at.note("name_pattern", "attributes", name, name=name[:80])


def _inspect_list(key: str, user_list: UserList, at: Inspection) -> None:
    if key != user_list.name:
        at.note("key_differs", "name", key=key, name=user_list.name)
    if not limits.CODE.fullmatch(user_list.name):
        at.note("code_pattern", "name", code=user_list.name[:80])
    check_length(at, user_list.description, limits.MAX_CHARACTERS["description"], "description")
    if not limits.SHA256.fullmatch(user_list.sha256):
        at.note("sha256", "sha256")
    check_range(at, user_list.count, 0, limits.MAX_UIDS_IN_A_LIST, "count")


def _inspect_change(live: Configuration, configuration: Configuration, found: list[Fault]) -> None:
    for code in sorted(live.tasks.keys() - configuration.tasks.keys()):
        Inspection(found, PARTS[TASK], code).note("task_removed")
    for name, before in live.attributes.items():
        after = configuration.attributes.get(name)
        if after is None or after.type == before.type:
            continue
        users = sorted(
            code
            for code, task in configuration.tasks.items()
            if not task.archived and any(row.attribute == name for rows in task.conditions for row in rows)
        )
        if users:
            at = Inspection(found, PARTS[ATTRIBUTE], name)
            at.note("attribute_type_changed", "type", old=before.type, new=after.type, tasks=users[:5], count=len(users))
