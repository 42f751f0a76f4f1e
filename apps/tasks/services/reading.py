"""What is read of users: what they may do now, what to show them first, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.utils import timezone

from apps.cachesync.task_interface import task_interface
from apps.tasks.evaluation.bundle import Bundle, LiveTask
from apps.tasks.evaluation.evaluator import Decided, Decision, Explanation, decide_all, explain
from apps.tasks.evaluation.prompts import choose_prompts
from apps.tasks.live_bundle import live
from apps.tasks.profiles import profiles_of, user_with_profile
from apps.tasks.quotas import quotas
from apps.tasks.services.errors import UnknownTask
from workers.protocol import DBSvrError, Snapshot


def decisions_of_user(uid: int, attributes: Mapping[str, object]) -> tuple[Snapshot, Decided]:
    """The user as he is, and what he may do now."""
    bundle = live().bundle
    snapshot, profile = user_with_profile(uid, attributes, bundle)
    return snapshot, decide_all(bundle, profile, snapshot, timezone.now(), quotas())


def decisions_of_users(asked: Sequence[tuple[int, Mapping[str, object]]]) -> list[tuple[Snapshot, Decided] | DBSvrError]:
    """The same for many users, each with what the caller says of him; an error in the place of each who could not be read."""
    bundle, used = live().bundle, quotas()
    snapshots = task_interface().get_many([uid for uid, _attributes in asked])
    profiles = profiles_of(asked, bundle)
    now = timezone.now()
    return [
        snapshot if isinstance(snapshot, DBSvrError) else (snapshot, decide_all(bundle, profile, snapshot, now, used))
        for profile, snapshot in zip(profiles, snapshots, strict=True)
    ]


def prompts_of_user(uid: int, attributes: Mapping[str, object], limit: int) -> tuple[Snapshot, list[Decision]]:
    """What to show the user now."""
    snapshot, decided = decisions_of_user(uid, attributes)
    return snapshot, choose_prompts(decided.by_weight(), limit)


def explanations_of_user(
    bundle: Bundle, uid: int, attributes: Mapping[str, object], at: datetime, codes: Iterable[str] | None
) -> tuple[Snapshot, list[Explanation]]:
    """Why he may do what he may at that moment, as his records are now. Raises UnknownTask."""
    tasks = None if codes is None else [task_named(bundle, code) for code in codes]
    snapshot, profile = user_with_profile(uid, attributes, bundle, tasks)
    return snapshot, explain(bundle, profile, snapshot, at, quotas(), tasks=tasks)


def task_named(bundle: Bundle, code: str) -> LiveTask:
    """Raises UnknownTask."""
    task = bundle.by_code.get(code)
    if task is None:
        raise UnknownTask(code)
    return task
