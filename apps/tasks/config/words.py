"""From a fault to its words: what is wrong, then the way out.

Every case has a template of its own with named places; nothing is glued from parts. How a place is written depends on its name
alone: see `_WRITERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.tasks.config import written
from apps.tasks.config.faults import Fault
from apps.tasks.config.labels import choice

SENTENCES = {
    # Reading
    "type_wrong": _("This must be of type “%(expected)s” and is of type “%(got)s”."),
    "field_missing": _("The field “%(field)s” is missing. Add it."),
    "field_unknown": _("There is no field “%(field)s” here. Correct its name or remove it."),
    "choice_unknown": _("“%(value)s” is none of the choices. Pick one from the list."),
    "moment_pattern": _("This is no moment. Write it like 2026-12-01T00:00:00Z."),
    "day_pattern": _("This is no day. Write it like 2026-12-01."),
    "not_storable": _("It holds numbers or characters that cannot be stored. Write it anew."),
    # Names
    "code_pattern": _(
        "“%(code)s” cannot be a code. Use small letters, digits, - and _, at most 64 of them, and begin with a letter or a digit."
    ),
    "name_pattern": _("“%(name)s” cannot be a name. Use letters, digits, and . _ -, at most 64 of them, and begin with a letter or _."),
    "key_differs": _("It stands under “%(key)s” but calls itself “%(name)s”. A name never changes: make a copy with the new name instead."),
    "documents_too_many/task": _("There are %(count)s tasks, and at most %(limit)s are allowed. Remove old ones for good."),
    "documents_too_many/attribute": _("There are %(count)s attributes, and at most %(limit)s are allowed. Remove those without use."),
    "documents_too_many/event": _("There are %(count)s event types, and at most %(limit)s are allowed. Remove those without use."),
    "documents_too_many/list": _("There are %(count)s lists, and at most %(limit)s are allowed. Remove those without use."),
    # Words for users
    "texts_missing": _("Users would read nothing. Write at least a name in %(languages)s."),
    "text_missing": _("There is no text in %(language)s. Users of that language read another one."),
    "languages_too_many": _("There are texts in %(count)s languages, and at most %(limit)s are allowed."),
    "language_pattern": _("“%(typed)s” is no language code. Use one like en, zh-hans or pt-br."),
    "name_empty": _("The name in %(language)s is empty. Write one, or remove that language."),
    "too_long": _("It has %(length)s characters, and at most %(limit)s are allowed. Shorten it."),
    "link": _("“%(link)s” is no link that can be opened. Use https://… or your app's own scheme, like mygame://shop."),
    "tags_too_many": _("There are %(count)s tags, and at most %(limit)s are allowed."),
    "tag_empty": _("This tag is empty. Remove it."),
    "tag_twice": _("The tag “%(tag)s” is there twice. Remove one."),
    # Moments and periods
    "moment_without_zone": _("%(moment)s could be any zone's. Add the zone, for example Z for UTC."),
    "year": _("The year %(year)s is a slip of the hand. Use one from %(first)s to %(last)s."),
    "ends_before_start": _("It ends (%(ends_at)s) before it has started (%(starts_at)s). Choose a later end, or none."),
    "window_without_end": _("“Once between start and end” needs an end. Choose one, or choose “once”."),
    "zone_unknown": _("“%(zone)s” is no time zone. Use a name like Asia/Shanghai, Europe/Berlin or UTC."),
    "zone_attribute_type": _(
        "Users' zones are read from the attribute `zone`, which must be of type text, not %(type)s. Choose a fixed zone."
    ),
    "fallback_zone_always": _("No attribute is called `zone`, so all users get the zone %(zone)s. Add the attribute, or choose that zone."),
    "time_of_day": _("“%(time)s” is no time of day. Write it like 04:00."),
    "period_field_unused": _("It has no effect with a period of “%(period)s”."),
    "anchor_missing": _("Periods of several days are counted from 1 January 1970. Choose the day on which one begins."),
    "late_window": _("%(late_window_s)s is not possible: it must be shorter than %(retention_s)s, the time for which events are known."),
    # Amounts
    "out_of_range": _("%(value)s is not possible. Use a number from %(low)s to %(high)s."),
    "span_out_of_range": _("%(value_s)s is not possible. Use a time from %(low_s)s to %(high_s)s."),
    "share_out_of_range": _("%(percentage_bp)s is not possible. Use a share from 0 %% to 100 %%."),
    "single_target": _("A task of one step has the target 1, not %(target)s. Choose “count to a target” for more."),
    "tiers_missing": _("A task with several targets needs at least one tier. Add tiers, or choose another kind."),
    "tiers_unwanted": _("Tiers belong to “several targets”, not to “%(kind)s”. Remove them, or change the kind."),
    "tiers_too_many": _("There are %(count)s tiers, and at most %(limit)s are allowed."),
    "tiers_not_ascending": _("Tier %(tier)s has the target %(target)s, but the tier before it has %(below)s. Put them in ascending order."),
    "tiers_field_unused": _("It has no effect in a task with tiers: each tier has its own."),
    "streak_missing": _("Say how many periods in a row it takes."),
    "streak_unwanted": _("A streak belongs to “periods in a row”, not to “%(kind)s”. Remove it, or change the kind."),
    "streak_period": _("“%(period)s” does not come again, so there is no streak. Choose every day, week or month, or every few days."),
    "distinct_by_missing": _("Say which attribute of the event must differ, for example the friend's uid."),
    "distinct_by_unknown": _("The event `%(event)s` has no attribute `%(attribute)s`. Add it there, or choose another one."),
    "distinct_by_unused": _("It has no effect while progress is not counted by different values."),
    "distinct_without_feed": _("Different values come from events. Say which events count."),
    # Reward and caps
    "claim_grace_unused": _("It has no effect: only rewards that users claim can be claimed late."),
    "cap_zero": _("A cap of 0 lets nobody complete the task. Leave it empty for no cap, or switch the task off."),
    "cap_never_reached": _("%(per_period)s per period is more than %(total)s in all, so it is never reached."),
    "budget_below_points": _("%(budget)s points are less than one reward of %(points)s. Raise the budget or lower the reward."),
    "budget_below_total_cap": _("The budget lasts for %(enough_for)s of the %(total)s rewards that the cap allows."),
    # Gray release
    "list_unknown": _("There is no list `%(list)s`. Upload it, or choose another one."),
    "list_unknown/nearest": _("There is no list `%(list)s`. Did you mean `%(nearest)s`?"),
    "list_empty_used": _("The list `%(list)s` is empty and the share is 0 %%, so nobody has the task because of it."),
    "list_allowed_and_denied": _("The list `%(list)s` stands on both sides. Who is denied never has the task."),
    "release_list_twice": _("The list `%(list)s` is there twice. Remove one."),
    "release_lists_too_many": _("There are %(count)s lists, and at most %(limit)s are allowed. Join some of them."),
    "released_to_nobody": _("With 0 %% and no list nobody has the task."),
    # Conditions and events
    "groups_too_many": _("There are %(count)s groups, and at most %(limit)s are allowed."),
    "group_empty": _("A group without rows would hold for everybody. Add a row, or remove the group."),
    "group_never_holds": _("No value of `%(attribute)s` fulfils all rows of this group, so nobody gets the task by it."),
    "rows_too_many": _("There are %(count)s rows, and at most %(limit)s are allowed."),
    "row_twice": _("The same row about `%(attribute)s` is there twice."),
    "attribute_unknown": _("There is no attribute `%(attribute)s`. Add it to the attributes, or choose another one."),
    "attribute_unknown/nearest": _("There is no attribute `%(attribute)s`. Did you mean `%(nearest)s`?"),
    "attribute_type_changed": _(
        "Its type changes from %(old)s to %(new)s, and %(count)s tasks ask for it: %(tasks)s. Look whether they still mean the same."
    ),
    "event_attribute_unknown": _("The event `%(event)s` has no attribute `%(attribute)s`. Add it there, or choose another one."),
    "event_attribute_unknown/nearest": _("The event `%(event)s` has no attribute `%(attribute)s`. Did you mean `%(nearest)s`?"),
    "event_unknown": _("There is no event `%(event)s`. Add it to the event types, or choose another one."),
    "event_unknown/nearest": _("There is no event `%(event)s`. Did you mean `%(nearest)s`?"),
    "event_attributes_too_many": _("There are %(count)s attributes, and at most %(limit)s are allowed."),
    "feeds_too_many": _("There are %(count)s feeds, and at most %(limit)s are allowed."),
    "feed_twice": _("The same feed of `%(event)s` is there twice. Each event counts once."),
    "operator_unfit": _("`%(attribute)s` is of type %(type)s, so “%(operator)s” cannot be asked of it. Possible: %(fit)s."),
    "value_missing": _("The value to compare `%(attribute)s` with is missing. Type one."),
    "value_unwanted": _("“Is known” has no value. Remove it."),
    "value_no_list": _("`%(attribute)s` is compared with a list here, and “%(value)s” is none. Type values, separated by commas."),
    "value_wrong_type/number": _("`%(attribute)s` is a number, and “%(value)s” is none. Type one like 30 or 2.5."),
    "value_wrong_type/text": _("`%(attribute)s` is a text, and “%(value)s” is none that fits. Type 1 to 200 characters."),
    "value_wrong_type/boolean": _("`%(attribute)s` is yes or no, and “%(value)s” is neither. Choose one."),
    "value_wrong_type/date": _("`%(attribute)s` is a date, and “%(value)s” is none. Type one like 2026-12-01 or 2026-12-01T08:00:00Z."),
    "value_wrong_type/version": _("`%(attribute)s` is a version, and “%(value)s” is none. Type one like 1.10.2."),
    "choices_empty": _("The list of values for `%(attribute)s` is empty. Type at least one."),
    "choices_too_many": _(
        "There are %(count)s values for `%(attribute)s`, and at most %(limit)s are allowed. Use a list of users instead."
    ),
    "choice_twice": _("“%(value)s” is there twice. Remove one."),
    "range_needs_two": _("“Is between” needs exactly two values for `%(attribute)s`."),
    "range_reversed": _("From %(low)s to %(high)s holds for no `%(attribute)s`. Put the smaller value first."),
    # Other tasks
    "prerequisite_unknown": _("There is no task `%(task)s`. Choose another one."),
    "prerequisite_unknown/nearest": _("There is no task `%(task)s`. Did you mean `%(nearest)s`?"),
    "prerequisite_archived": _("`%(task)s` is archived, so nobody can complete it any more. Choose another task, or remove this row."),
    "prerequisite_itself": _("The task would wait for itself. Choose another one."),
    "prerequisite_twice": _("`%(task)s` is there twice. Remove one."),
    "prerequisites_too_many": _("There are %(count)s prerequisites, and at most %(limit)s are allowed."),
    "prerequisite_switched_off": _("`%(task)s` is switched off: who has not completed it yet must wait."),
    "prerequisite_exclusive": _("`%(task)s` is in the same exclusive group “%(group)s”: a user may do only one of them in a period."),
    "prerequisite_never_claimed": _("The reward of `%(task)s` comes by itself; ask for “completed” instead of “claimed”."),
    "cycle": _("These tasks wait for each other, so nobody can begin: %(cycle)s. Remove one prerequisite or change a position."),
    "position_twice": _("`%(task)s` has the position %(position)s in “%(sequence)s” as well. Give each task its own."),
    "position_unused": _("A position has no effect without a sequence."),
    "sequence_alone": _("It is the only task in the sequence “%(sequence)s”. Check the spelling."),
    "exclusive_group_alone": _("It is the only task in the exclusive group “%(group)s”. Check the spelling."),
    "task_removed": _("The task goes away with its history in lists. Archive it instead, unless it was never meant to be."),
    # Files
    "file_no_text": _("This is no text file. Choose a JSON file that was exported here."),
    "file_not_ours": _("This file does not say “schema”: %(schema)s. Choose one that was exported here."),
    "json_syntax": _("The JSON cannot be read from here on. Look for a missing comma, quote or bracket."),
    "field_twice": _("The field “%(name)s” is there twice in one object. Remove one."),
    "number_unknown": _("%(name)s is no number that JSON has. Write a number, or null."),
    "part_unknown": _("There is no part “%(name)s” in a configuration. Correct its name or remove it."),
    "document_twice": _("“%(name)s” stands in the file a second time. Remove one."),
    "table_encoding": _("The table is not in UTF-8. Save it again as “CSV UTF-8”."),
    "table_syntax": _("The table cannot be read from here on. Look for a quote that is not closed."),
    "column_unknown": _("There is no column “%(name)s”. Correct its heading or remove the column."),
    "column_twice": _("The column “%(name)s” is there twice. Remove one."),
    "column_code_missing": _("The column “code” is missing: it says which task a row is about."),
    "code_missing": _("The row has no code. Write the task's code in the column “code”."),
    "cells_too_many": _("The row has %(count)s cells, and there are %(limit)s columns. Look for a comma outside quotes."),
    "cell_number": _("“%(value)s” is no whole number. Type one like 30."),
    "cell_boolean": _("“%(value)s” is neither true nor false. Type one of them."),
    "cell_json": _("“%(value)s” is no JSON. Export a task to see how it is written."),
    # Lists
    "list_no_text": _("This is no text file. Save the list as text or CSV, one uid a line."),
    "uid": _("“%(value)s” is no uid. A uid is a whole number from 1 to 9223372036854775807."),
    "list_too_long": _("The list has %(count)s users, and at most %(limit)s are allowed. Use a share of users instead, or several lists."),
    "sha256": _("The users of this list are not stored here. Upload the list."),
}
"""By code, and by code and case."""


def say_fault(fault: Fault) -> str:
    """One or two sentences. A code without words is shown as it is: a newer publisher's fault may meet an older page."""
    template = SENTENCES.get(_case_of(fault)) or SENTENCES.get(fault.code)
    if template is None:
        return fault.code
    places = {name: _write(name, value) for name, value in fault.params.items()}
    try:
        return gettext(template) % places
    except KeyError:
        return fault.code


def _case_of(fault: Fault) -> str:
    if fault.code == "value_wrong_type":
        return f"{fault.code}/{fault.params.get('type', '')}"
    if fault.code == "documents_too_many":
        return f"{fault.code}/{fault.params.get('kind', '')}"
    return f"{fault.code}/nearest" if fault.params.get("nearest") else fault.code


def _write(name: str, value: Any) -> str:
    writer = _WRITERS.get(name)
    if writer is not None:
        return writer(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value) if name in ("year", "first", "last") else written.number(value)
    return str(value)


def _as_code(text: str) -> str:
    return f"`{text}`"


_WRITERS: dict[str, Callable[[Any], str]] = {
    "late_window_s": written.span,
    "retention_s": written.span,
    "value_s": written.span,
    "low_s": written.span,
    "high_s": written.span,
    "percentage_bp": written.percent,
    "starts_at": written.iso_moment,
    "ends_at": written.iso_moment,
    "language": written.language_name,
    "languages": lambda codes: written.one_of(written.language_name(code) for code in codes),
    "type": lambda word: choice("type", word),
    "old": lambda word: choice("type", word),
    "new": lambda word: choice("type", word),
    "kind": lambda word: choice("kind", word),
    "period": lambda word: choice("period/kind", word),
    "operator": lambda word: choice("operator", word),
    "fit": lambda operators: written.one_of(f"“{choice('operator', operator)}”" for operator in operators),
    "cycle": " → ".join,
    "tasks": lambda codes: written.all_of(map(_as_code, codes)),
}
