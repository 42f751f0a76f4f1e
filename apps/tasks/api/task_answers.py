"""How decisions and explanations are answered. Moments are ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
from django.conf import settings
from django.utils import translation

from apps.tasks.api.reason_words import reason_text
from apps.tasks.config.documents import Task, Text
from apps.tasks.evaluation.bundle import LiveTask
from apps.tasks.evaluation.decisions import Decision
from apps.tasks.evaluation.eligibility import CapsLeft
from apps.tasks.evaluation.evaluator import Decided
from apps.tasks.evaluation.explanation import Check, Explanation
from apps.tasks.evaluation.reasons import Reason
from workers.protocol import TaskRecord


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


class TaskWords(msgspec.Struct, frozen=True):
    """The first part of a task's answer: what is the same for all users, in one language."""

    code: str
    name: str
    description: str
    button: str
    link: str
    category: str
    icon: str
    weight: int
    tags: tuple[str, ...]
    starts_at: datetime
    ends_at: datetime | None


class TaskStanding(msgspec.Struct, frozen=True, gc=False):
    """The second part: how far this user is, by the rules that hold for him."""

    kind: str
    state: str
    accepted: bool
    period: str
    progress: int
    target: int
    points: int
    tiers: list[TierAnswer] | tuple[()]
    streak: StreakAnswer | None
    resets_at: datetime | None
    completed_at: datetime | None
    claimed_at: datetime | None
    claim_until: datetime | None
    still_claimable: list[ClaimableAnswer] | tuple[()]
    reasons: list[ReasonAnswer] | tuple[()]


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
MOST_WORDS = 256
"""Pieces of answers that are kept of one task."""


def text_of(task: Task) -> Text:
    """In the language that is active, else in the installation's, else in any. A task without a text goes by its code."""
    return _text_in(translation.get_language() or "", task)


def _text_in(language: str, task: Task) -> Text:
    language = language.lower()
    texts = task.texts
    for each in (language, language.partition("-")[0], settings.LANGUAGE_CODE):
        if each in texts:
            return texts[each]
    return texts[min(texts)] if texts else msgspec.structs.replace(NO_TEXT, name=task.code)


Form: TypeAlias = tuple[bytes, bytes, bytes, bytes]
"""What stands before the progress, between it and the moment of completion, between that and the moment of claiming, and after it."""
NULL = b"null"
NUL = b"\0"
HOLE: Any = msgspec.Raw(NUL)
"""Where something else belongs: no JSON has a bare NUL in it."""
Pieces: TypeAlias = list[bytes]
"""JSON that waits for all the rest of its answer: then everything is put together once."""

_encode = msgspec.json.Encoder().encode


def encode_tasks(decisions: Iterable[Decision], with_values: bool, language: str) -> Pieces:
    """The list of them, each one object of both parts. `language`: that of texts."""
    return _as_list([_task(decision, with_values, language) for decision in decisions])


def encode_shown_tasks(decided: Decided, with_values: bool, language: str) -> Pieces:
    """The same of all that are shown, by weight: what everybody shares as it was encoded once, and the user's own in its places."""
    tasks = _shared_tasks(decided, language).copy()
    ranks = decided.bundle.ranks
    for place, decision in decided.own.items():
        known = decision.answers
        if known is not None and language in known:  # most are, and what is shared is never unavailable
            tasks[ranks[place]] = known[language][0]
        else:
            tasks[ranks[place]] = _task(decision, with_values, language) if decision.is_shown else b""
    for place, (decision, record) in decided.done.items():
        tasks[ranks[place]] = _done_task(decision, record, language)
    return _as_list(tasks)


def _as_list(tasks: list[bytes]) -> Pieces:
    """Of tasks that begin with a comma each, or are nothing."""
    for place, first in enumerate(tasks):
        if first:
            tasks[place] = b"[" + first[1:]
            tasks.append(b"]")
            return tasks
    return [b"[]"]


def _shared_tasks(decided: Decided, language: str) -> list[bytes]:
    """By weight; nothing in the place of a task that is decided for each user."""
    answers, shared = decided.stretch.answers, decided.stretch.shared
    tasks = answers.get(language)
    if tasks is None:
        found = [shared[place] for place in decided.bundle.by_weight]
        tasks = answers[language] = [b"" if decision is None else _task(decision, False, language) for decision in found]
    return tasks


def _task(decision: Decision, with_values: bool, language: str) -> bytes:
    """What is the same for many users is encoded once: a decision that they share, for as long as it is shared; of another the text around
    what is each user's own (a Form), kept with the task as long as its revision lives."""
    known = decision.answers
    if known is not None:
        whole = known.get(language)
        if whole is None:
            whole = known[language] = (_whole(decision, with_values, language),)
        return whole[0]
    if has_form(decision):
        before, between, between_moments, after = _form(decision, language)
        completed_at, claimed_at = _encoded_moment(decision.completed_at), _encoded_moment(decision.claimed_at)
        return b"%b%d%b%b%b%b%b" % (before, decision.progress, between, completed_at, between_moments, claimed_at, after)
    return _whole(decision, with_values, language)


def _done_task(decision: Decision, record: TaskRecord, language: str) -> bytes:
    """The same of a decision that is shared but for its moments: kept with it is the text around them."""
    known = decision.answers
    assert known is not None
    form = known.get(language)
    if form is None:
        standing = msgspec.structs.replace(_standing(decision, False), completed_at=HOLE, claimed_at=HOLE)
        before, between, after = _with_words(decision.task, standing, language).split(NUL)
        form = known[language] = (before, between, after, between + NULL + after)
    before, between, after, unclaimed = form
    completed_at = _encoded_moment(record.completed_at)
    if record.claimed_at is None:
        return b"".join((before, completed_at, unclaimed))
    return b"".join((before, completed_at, between, _encoded_moment(record.claimed_at), after))


def has_form(decision: Decision) -> bool:
    """Whether nothing in its answer is the user's own but his progress and two moments."""
    rules = decision.rules
    return not (
        decision.reasons
        or decision.still_claimable
        or decision.streak is not None
        or rules is not decision.task.in_use
        or rules.rules.tiers  # which of them are reached
    )


def _form(decision: Decision, language: str) -> Form:
    words = decision.task.words
    key = (language, decision.period.key, decision.status, decision.is_accepted)
    form = words.get(key)
    if form is None:
        standing = msgspec.structs.replace(_standing(decision, False), progress=HOLE, completed_at=HOLE, claimed_at=HOLE)
        before, between, between_moments, after = _with_words(decision.task, standing, language).split(NUL)
        if len(words) >= MOST_WORDS:  # periods come and go, and every zone has its own
            words.clear()
        form = words[key] = (before, between, between_moments, after)
    return form


def _whole(decision: Decision, with_values: bool, language: str) -> bytes:
    return _with_words(decision.task, _standing(decision, with_values), language)


def _with_words(task: LiveTask, standing: TaskStanding, language: str) -> bytes:
    return _encoded_words(task, language) + _encode(standing)[1:]


def _standing(decision: Decision, with_values: bool) -> TaskStanding:
    rules = decision.rules
    return TaskStanding(
        rules.rules.kind,
        decision.status,
        decision.is_accepted,
        decision.period.key,
        decision.progress,
        rules.target,
        decision.points,
        [TierAnswer(tier.target, tier.points, tier.target <= decision.progress) for tier in rules.rules.tiers] if rules.rules.tiers else (),
        None if decision.streak is None else _streak(decision),
        decision.period.resets_at,
        _moment(decision.completed_at),
        _moment(decision.claimed_at),
        decision.claim_until,
        [ClaimableAnswer(it.period.key, it.points, it.until) for it in decision.still_claimable] if decision.still_claimable else (),
        [reason_answer(reason, with_values) for reason in decision.reasons] if decision.reasons else (),
    )


def _encoded_words(task: LiveTask, language: str) -> bytes:
    known = task.words.get(language)
    if known is None:
        known = task.words[language] = (_words(task, language),)
    return known[0]


def _words(task: LiveTask, language: str) -> bytes:
    """After a comma, and without the closing brace: the standing follows."""
    document, text = task.document, _text_in(language, task.document)
    words = TaskWords(
        code=task.code,
        name=text.name,
        description=text.description,
        button=text.button,
        link=text.link,
        category=document.category,
        icon=document.icon,
        weight=document.weight,
        tags=document.tags,
        starts_at=document.starts_at,
        ends_at=document.ends_at,
    )
    return b",%b," % _encode(words)[:-1]


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


@lru_cache(maxsize=4096)  # one event completes several tasks of a user, and he is asked for more than once
def _encoded_moment(ms: int | None) -> bytes:
    return NULL if ms is None else _encode(_moment(ms))
