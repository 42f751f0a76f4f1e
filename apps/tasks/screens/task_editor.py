"""A task's whole form: its single fields and all its rows, shown from a document or read back into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import msgspec
from django.conf import settings
from django.utils.datastructures import MultiValueDict

from apps.tasks.config.documents import Configuration, Task, Text, ValueType
from apps.tasks.screens import row_forms
from apps.tasks.screens.row_sets import Posted, next_group, with_row, without_feed, without_rows
from apps.tasks.screens.task_conversion import Rows, fields_of, rows_of, task_with
from apps.tasks.screens.task_form import TaskCode, TaskForm

ADD, DROP, FIT = "add", "drop", "fit"
"""Names of the buttons that change the form and save nothing. Values: `tiers`, `conditions:2`, `conditions:new`; `tiers-3`."""


def languages() -> list[str]:
    return [code for code, _name in settings.LANGUAGES]


def changed_by_button(posted: Posted) -> Posted | None:
    """What was posted, with the rows that a button adds or takes away; None when it was no such button."""
    pressed = {name: posted[name][-1] for name in (ADD, DROP, FIT) if name in posted}
    if not pressed:
        return None
    rest = {name: values for name, values in posted.items() if name not in pressed}
    if ADD in pressed:
        prefix, _colon, group = pressed[ADD].partition(":")
        if prefix in ("conditions", "where"):
            return with_row(rest, prefix, group=group if group.isdecimal() else str(next_group(rest, prefix)))
        return with_row(rest, prefix) if prefix in ("texts", "feeds", "tiers", "prerequisites") else rest
    if DROP in pressed:
        prefix, _dash, index = pressed[DROP].rpartition("-")
        if not index.isdecimal():
            return rest
        return without_feed(rest, "feeds", "where", int(index)) if prefix == "feeds" else without_rows(rest, prefix, {int(index)})
    return rest


class TaskEditor:
    """`posted` None: the form shows the task. `judged`: whether it says what is wrong with what was typed."""

    def __init__(
        self,
        task: Task,
        configuration: Configuration,
        posted: Posted | None = None,
        is_new: bool = False,
        judged: bool = True,
        taken: Iterable[str] = (),
    ) -> None:
        self.task, self.configuration, self.judged, self.is_new = task, configuration, judged, is_new
        data = None if posted is None else MultiValueDict(posted)
        rows = rows_of(task)
        self.code = TaskCode(data, taken=taken, initial={"code": task.code}) if is_new else None
        self.form = TaskForm(data, initial=fields_of(task), lists=tuple(configuration.lists))
        self.texts = row_forms.TextRows(data, prefix="texts", initial=row_forms.initial_texts(rows.texts or {}, languages()))
        self.feeds = row_forms.FeedRows(
            data,
            prefix="feeds",
            initial=[{"event": event} for event in rows.events or ()],
            form_kwargs={"events": tuple(configuration.events)},
        )
        self.tiers = row_forms.TierRows(
            data, prefix="tiers", initial=[{"target": tier.target, "points": tier.points} for tier in rows.tiers or ()]
        )
        self.where = row_forms.ConditionRows(
            data,
            prefix="where",
            initial=row_forms.initial_conditions(rows.where),
            form_kwargs={"types": {}, "by_group": self._types_of_feed},
        )
        self.conditions = row_forms.ConditionRows(
            data,
            prefix="conditions",
            initial=row_forms.initial_conditions(rows.conditions or ()),
            form_kwargs={
                "types": {name: each.type for name, each in configuration.attributes.items()},
                "about": {name: each.description for name, each in configuration.attributes.items()},
            },
        )
        self.prerequisites = row_forms.PrerequisiteRows(
            data, prefix="prerequisites", initial=row_forms.initial_prerequisites(rows.prerequisites or ())
        )

    def _types_of_feed(self, number: int) -> Mapping[str, ValueType]:
        """The attributes of the event that the feed listens to; before it is chosen, those of all events."""
        feeds = self.feeds.forms
        chosen = str(feeds[number]["event"].value() or "") if number < len(feeds) else ""
        event = self.configuration.events.get(chosen)
        if event is not None:
            return event.attributes
        return {name: kind for each in self.configuration.events.values() for name, kind in each.attributes.items()} if not chosen else {}

    @property
    def _row_sets(self) -> tuple[Any, ...]:
        return (self.texts, self.feeds, self.where, self.tiers, self.conditions, self.prerequisites)

    def is_valid(self) -> bool:
        """Whether a document can be made of it; whether that document makes sense is the validation's to say."""
        parts = (*([self.code] if self.code else []), self.form, *self._row_sets)
        return len([part for part in parts if not part.is_valid()]) == 0  # each judges its own, also after the first fault

    def edited(self) -> Task:
        """The task as the form has it. Only after `is_valid`."""
        task = self.task if self.code is None else msgspec.structs.replace(self.task, code=self.code.cleaned_data["code"])
        rows = Rows(
            texts={row["language"]: Text(**{name: row[name] for name in row if name != "language"}) for row in _filled(self.texts)},
            events=tuple(row["event"] for row in _filled(self.feeds)),
            where=self._where_rows(),
            tiers=tuple(form.tier() for form in self.tiers if form.cleaned_data),
            conditions=tuple(form.row() for form in self.conditions if form.cleaned_data),
            prerequisites=tuple(row_forms.Prerequisite(**row) for row in _filled(self.prerequisites)),
        )
        return task_with(task, self.form.cleaned_data, rows)

    def _where_rows(self) -> tuple[Any, ...]:
        """Empty feeds are left out, so that the groups of the filters' rows must be counted anew."""
        filled = [index for index, form in enumerate(self.feeds) if form.cleaned_data]
        places = {old: new for new, old in enumerate(filled)}
        rows = [form.row() for form in self.where if form.cleaned_data]
        return tuple(row_forms.Row(places[row.group], row.condition) for row in rows if row.group in places)

    # For the template

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The condition rows by their groups."""
        in_groups = groupby(sorted(self.conditions.forms, key=_group_of), key=_group_of)
        return [{"number": number, "rows": list(rows)} for number, rows in in_groups]

    @property
    def feed_rows(self) -> list[dict[str, Any]]:
        return [
            {"number": number, "form": form, "where": [row for row in self.where.forms if _group_of(row) == number]}
            for number, form in enumerate(self.feeds.forms)
        ]


def _filled(row_set: Any) -> list[dict[str, Any]]:
    return [form.cleaned_data for form in row_set if form.cleaned_data]


def _group_of(form: Any) -> int:
    text = str(form["group"].value() or 0)
    return int(text) if text.isdecimal() else 0
