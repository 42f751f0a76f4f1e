"""How decisions and explanations are answered. Moments are ISO 8601 in UTC."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import msgspec
from django.conf import settings
from django.utils import translation

from apps.tasks.api.reason_words import reason_text
from apps.tasks.config.documents import Task, Text
from apps.tasks.evaluation.decisions import Decision
from apps.tasks.evaluation.eligibility import CapsLeft
from apps.tasks.evaluation.explanation import Check, Explanation
from apps.tasks.evaluation.reasons import Reason


class ReasonAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """With the values that decided only when they are asked for."""

    code: str
    text: str
    about: str | msgspec.UnsetType = msgspec.UNSET
    operator: str | msgspec.UnsetType = msgspec.UNSET
    wanted: Any = msgspec.UNSET
    actual: Any = msgspec.UNSET


class TierAnswer(msgspec.Struct, frozen=True):
    target: int
    points: int
    reached: bool


class StreakAnswer(msgspec.Struct, frozen=True):
    in_row: int
    length: int
    grace: int
    fills: bool


class ClaimableAnswer(msgspec.Struct, frozen=True):
    period: str
    points: int
    until: datetime | None


class TaskAnswer(msgspec.Struct, frozen=True):
    code: str
    kind: str
    name: str
    description: str
    button: str
    link: str
    category: str
    icon: str
    weight: int
    tags: tuple[str, ...]
    state: str
    accepted: bool
    period: str
    progress: int
    target: int
    points: int
    tiers: list[TierAnswer]
    streak: StreakAnswer | None
    starts_at: datetime
    ends_at: datetime | None
    resets_at: datetime | None
    completed_at: datetime | None
    claimed_at: datetime | None
    claim_until: datetime | None
    still_claimable: list[ClaimableAnswer]
    reasons: list[ReasonAnswer]


class ExplainedTask(msgspec.Struct, frozen=True):
    code: str
    name: str
    shown: bool
    state: str
    period: str
    period_starts_at: datetime | None
    resets_at: datetime | None
    zone: str
    progress: int
    target: int
    points: int
    streak: StreakAnswer | None
    caps_left: CapsLeft | None
    bucket: int
    percentage_bp: int
    checks: tuple[Check, ...]


NO_TEXT = Text(name="")


def text_of(task: Task) -> Text:
    """In the language that is active, else in the installation's, else in any. A task without a text goes by its code."""
    language = (translation.get_language() or "").lower()
    texts = task.texts
    for each in (language, language.partition("-")[0], settings.LANGUAGE_CODE):
        if each in texts:
            return texts[each]
    return texts[min(texts)] if texts else msgspec.structs.replace(NO_TEXT, name=task.code)


def task_answer(decision: Decision, with_values: bool) -> TaskAnswer:
    task = decision.task
    document, text = task.document, text_of(task.document)
    return TaskAnswer(
        code=task.code,
        kind=decision.rules.rules.kind,
        name=text.name,
        description=text.description,
        button=text.button,
        link=text.link,
        category=document.category,
        icon=document.icon,
        weight=document.weight,
        tags=document.tags,
        state=decision.status,
        accepted=decision.is_accepted,
        period=decision.period.key,
        progress=decision.progress,
        target=decision.target,
        points=decision.points,
        tiers=[TierAnswer(tier.target, tier.points, tier.target <= decision.progress) for tier in decision.rules.rules.tiers],
        streak=_streak(decision),
        starts_at=document.starts_at,
        ends_at=document.ends_at,
        resets_at=decision.period.resets_at,
        completed_at=_moment(decision.completed_at),
        claimed_at=_moment(decision.claimed_at),
        claim_until=decision.claim_until,
        still_claimable=[ClaimableAnswer(each.period.key, each.points, each.until) for each in decision.still_claimable],
        reasons=[reason_answer(reason, with_values) for reason in decision.reasons],
    )


def reason_answer(reason: Reason, with_values: bool = True) -> ReasonAnswer:
    if not with_values:
        return ReasonAnswer(reason.code, reason_text(reason))
    return ReasonAnswer(reason.code, reason_text(reason), reason.about, reason.operator, reason.wanted, reason.actual)


def explained_task(explanation: Explanation) -> ExplainedTask:
    decision = explanation.decision
    return ExplainedTask(
        code=decision.task.code,
        name=text_of(decision.task.document).name,
        shown=explanation.is_shown,
        state=decision.status,
        period=decision.period.key,
        period_starts_at=decision.period.starts_at,
        resets_at=decision.period.resets_at,
        zone=explanation.zone,
        progress=decision.progress,
        target=decision.target,
        points=decision.points,
        streak=_streak(decision),
        caps_left=decision.caps_left,
        bucket=explanation.bucket,
        percentage_bp=decision.task.document.release.percentage_bp,
        checks=explanation.checks,
    )


def _streak(decision: Decision) -> StreakAnswer | None:
    streak = decision.streak
    return None if streak is None else StreakAnswer(streak.in_row, streak.length, streak.grace, streak.fills)


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, timezone.utc)
