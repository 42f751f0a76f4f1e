"""What is asked on the explain page, read from the address: the user, the moment, and attributes as the registry says they are.

An address can be sent to a colleague; so everything stands in it, and what cannot be understood is told at its field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.tasks.config.documents import Attribute
from apps.tasks.evaluation.attributes import READERS, NotOfType
from apps.tasks.evaluation.bundle import Bundle, LiveTask
from apps.tasks.evaluation.standing import ZONE_ATTRIBUTE
from apps.tasks.screens.explain_words import say_value
from tasksys_site.configuration import MAX_UID

PREFIX = "a."
"""Before an attribute's name in the address."""
USERS_ZONE = Attribute(name=ZONE_ATTRIBUTE, type="text")
LONGEST_VALUE = 200


@dataclass(frozen=True, slots=True)
class AttributeField:
    """One attribute, to be typed in. `typed` as it was sent."""

    attribute: Attribute
    typed: str
    fault: str = ""

    @property
    def name(self) -> str:
        return PREFIX + self.attribute.name

    @property
    def default(self) -> str:
        return "" if self.attribute.default is None else say_value(self.attribute.default)


@dataclass(slots=True)
class Asked:
    uid: int | None
    uid_typed: str
    at: datetime
    at_typed: str
    is_now: bool
    code: str
    attributes: dict[str, object] = field(default_factory=dict)
    fields: list[AttributeField] = field(default_factory=list)
    """Those that conditions ask for."""
    other_fields: list[AttributeField] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    """By the name of the field."""

    @property
    def is_complete(self) -> bool:
        return self.uid is not None and not self.faults


def read_question(given: Mapping[str, str], bundle: Bundle | None, now: datetime) -> Asked:
    """`bundle` None: there is none, so there are no attributes to type in."""
    uid_typed, at_typed = given.get("uid", "").strip(), given.get("at", "").strip()
    asked = Asked(None, uid_typed, now, at_typed, is_now=True, code=given.get("task", "").strip())
    if uid_typed:
        if uid_typed.isascii() and uid_typed.isdecimal() and 1 <= int(uid_typed[:20]) <= MAX_UID:
            asked.uid = int(uid_typed[:20])
        else:
            asked.faults["uid"] = _("A uid is a whole number from 1 to %(most)d.") % {"most": MAX_UID}
    if at_typed:
        try:
            moment = datetime.fromisoformat(at_typed)
            asked.at = moment if moment.tzinfo else timezone.make_aware(moment)
            asked.at.astimezone(timezone.get_default_timezone())
            asked.is_now = False
        except (ValueError, OverflowError):
            asked.faults["at"] = _("This is no moment. Write it like 2026-12-01T08:00.")
    if bundle is not None:
        _read_attributes(asked, given, bundle)
    return asked


def _read_attributes(asked: Asked, given: Mapping[str, str], bundle: Bundle) -> None:
    tasks = [bundle.by_code[asked.code]] if asked.code in bundle.by_code else bundle.tasks
    wanted = attributes_asked_for(tasks)
    registry = dict(bundle.registry.attributes)
    if any(rules.clock is None for task in tasks for rules in (task.in_use, *task.kept)):
        wanted.add(ZONE_ATTRIBUTE)
        registry.setdefault(ZONE_ATTRIBUTE, USERS_ZONE)
    for name, attribute in sorted(registry.items()):
        typed = given.get(PREFIX + name, "").strip()[:LONGEST_VALUE]
        fault = ""
        if typed:
            try:
                asked.attributes[name] = value_of(attribute, typed)
            except NotOfType:
                fault = asked.faults[PREFIX + name] = say_wrong_type(attribute)
        (asked.fields if name in wanted or typed else asked.other_fields).append(AttributeField(attribute, typed, fault))


def attributes_asked_for(tasks: Iterable[LiveTask]) -> set[str]:
    return {row.attribute for task in tasks for group in task.document.conditions for row in group}


def value_of(attribute: Attribute, typed: str) -> object:
    """As JSON would hold it. Raises NotOfType."""
    value: object = typed
    if attribute.type == "number":
        try:
            value = int(typed)
        except ValueError:
            try:
                value = float(typed)
            except ValueError:
                raise NotOfType(typed) from None
    elif attribute.type == "boolean":
        value = {"true": True, "false": False}.get(typed, typed)
    READERS[attribute.type](value)
    return value


def say_wrong_type(attribute: Attribute) -> str:
    return {
        "number": _("This must be a number."),
        "boolean": _("This must be yes or no."),
        "date": _("This must be a day like 2026-12-01, or a moment with its zone like 2026-12-01T08:00:00Z."),
        "version": _("This must be a version like 1.10.2."),
        "text": _("This must be a text."),
    }[attribute.type]
