"""Rows of a form that come and go: one more, one less, on the posted data itself.

Pure. The buttons "Add a row" and "Remove" submit the form like any other; the page comes back with what was typed and the rows
changed, so that no script is needed. The names are those of Django's formsets: `tiers-0-target`, `tiers-TOTAL_FORMS`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Posted = dict[str, list[str]]

TOTAL, INITIAL = "TOTAL_FORMS", "INITIAL_FORMS"
MOST_ROWS = 200


def count_of(posted: Mapping[str, list[str]], prefix: str) -> int:
    text = posted.get(f"{prefix}-{TOTAL}", ["0"])[-1]
    return min(int(text), MOST_ROWS) if text.isdecimal() else 0


def with_row(posted: Posted, prefix: str, **values: str) -> Posted:
    """One more row at the end. Past MOST_ROWS nothing happens."""
    count = count_of(posted, prefix)
    if count >= MOST_ROWS:
        return dict(posted)
    row = {f"{prefix}-{count}-{name}": [value] for name, value in values.items()}
    return {**posted, **row, f"{prefix}-{TOTAL}": [str(count + 1)], f"{prefix}-{INITIAL}": ["0"]}


def without_rows(posted: Posted, prefix: str, gone: set[int]) -> Posted:
    """The others move up."""
    count = count_of(posted, prefix)
    places = {old: new for new, old in enumerate(each for each in range(count) if each not in gone)}
    pattern = re.compile(rf"{re.escape(prefix)}-(\d+)-(.+)\Z")
    left: Posted = {}
    for name, values in posted.items():
        found = pattern.match(name)
        if found is None:
            left[name] = values
        elif int(found[1]) in places:
            left[f"{prefix}-{places[int(found[1])]}-{found[2]}"] = values
    return {**left, f"{prefix}-{TOTAL}": [str(len(places))], f"{prefix}-{INITIAL}": ["0"]}


def without_feed(posted: Posted, feeds: str, where: str, gone: int) -> Posted:
    """A feed goes with the rows of its filter; those of later feeds follow their feeds."""
    groups = {index: _group(posted, where, index) for index in range(count_of(posted, where))}
    posted = without_rows(posted, where, {index for index, group in groups.items() if group == gone})
    for index in range(count_of(posted, where)):
        group = _group(posted, where, index)
        if group > gone:
            posted = {**posted, f"{where}-{index}-group": [str(group - 1)]}
    return without_rows(posted, feeds, {gone})


def next_group(posted: Posted, prefix: str) -> int:
    return 1 + max((_group(posted, prefix, index) for index in range(count_of(posted, prefix))), default=-1)


def _group(posted: Posted, prefix: str, index: int) -> int:
    text = posted.get(f"{prefix}-{index}-group", ["0"])[-1]
    return int(text) if text.isdecimal() else 0
