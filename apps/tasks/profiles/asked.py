"""Which attributes the profile system is asked for: those that conditions ask for and that are registered as its own. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from apps.tasks.evaluation.bundle import Bundle, LiveTask
from apps.tasks.evaluation.standing import ZONE_ATTRIBUTE

Asked: TypeAlias = Mapping[str, int]
"""Attributes, and for how long a value of each is kept, in ms."""

NOTHING: Asked = {}


@lru_cache(maxsize=2)  # what is live, and what somebody explains beside it
def asked_by_all(bundle: Bundle) -> Asked:
    """What its tasks ask for, all together."""
    return _asked(bundle, bundle.tasks)


def asked_by(bundle: Bundle, tasks: Sequence[LiveTask]) -> Asked:
    """What the decisions on these ask for. A relation to others asks for no attribute of its own, but their periods may be in his zone."""
    return asked_by_all(bundle) if any(task.has_relations for task in tasks) else _asked(bundle, tasks)


def _asked(bundle: Bundle, tasks: Iterable[LiveTask]) -> Asked:
    names: set[str] = set()
    for task in tasks:
        names.update(row.attribute for group in task.document.conditions for row in group)
        if any(rules.clock is None for rules in (task.in_use, *task.kept)):
            names.add(ZONE_ATTRIBUTE)
    known = bundle.registry.attributes
    return {name: 1000 * known[name].ttl_s for name in sorted(names) if name in known and known[name].source == "profile"}
