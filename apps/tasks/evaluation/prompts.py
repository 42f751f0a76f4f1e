"""What to show a user now: what waits for him, then what he has nearly completed, then what else he may do; each by weight.

Pure: chooses among decisions.
"""

from __future__ import annotations

from collections.abc import Iterable

from apps.tasks.evaluation.decisions import Decision
from apps.tasks.evaluation.reasons import AVAILABLE, CLAIMABLE, IN_PROGRESS

NEARLY = 0.5
"""From this share of the target on a task is nearly complete; one that lacks a single step is too, once it has begun."""


def choose_prompts(decisions: Iterable[Decision], limit: int) -> list[Decision]:
    shown = [each for each in decisions if each.status in (AVAILABLE, IN_PROGRESS, CLAIMABLE) or each.still_claimable]
    return sorted(shown, key=_rank)[:limit]


def _rank(decision: Decision) -> tuple[int, int, float, str]:
    share = min(1.0, decision.progress / decision.target) if decision.target else 0.0
    if decision.status == CLAIMABLE or decision.still_claimable:
        order = 0
    else:
        order = 1 if share >= NEARLY or (decision.progress and decision.progress + 1 >= decision.target) else 2
    return order, -decision.task.document.weight, -share, decision.task.code
