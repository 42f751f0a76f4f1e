"""What the write says of a change, in the words of decisions: why it did nothing, or less than it could."""

from __future__ import annotations

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.bundle import Bundle, LiveTask, RulesInUse
from apps.tasks.evaluation.reasons import Reason
from apps.tasks.evaluation.standing import POINTS, TOTAL
from workers.protocol import ChangeResult

CAPS = {TOTAL: "total", POINTS: "points_budget"}
"""By quota key; every other key is a period's."""


def reasons_of(bundle: Bundle, task: LiveTask | None, result: ChangeResult) -> tuple[Reason, ...]:
    """None of a change that was done whole."""
    match result.refused:
        case "":
            return ()
        case "capped":
            return (Reason(why.CAP_REACHED, CAPS.get(result.about, "per_period")),)
        case "excluded":
            other = bundle.by_number.get(int(result.about)) if result.about.isdigit() else None
            group = "" if task is None else task.document.exclusive_group
            return (Reason(why.EXCLUSIVE_GROUP, group, "", None, result.about if other is None else other.code),)
        case code:
            return (Reason(code),)


def rules_of(task: LiveTask, key: str) -> RulesInUse:
    """The rules whose periods have this key; those in use where none has."""
    for rules in (task.in_use, *task.kept):
        if rules.rules.period.kind == "once" or rules.period_named(key).starts_at is not None:
            return rules
    return task.in_use
