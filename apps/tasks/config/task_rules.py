"""What one task must be, looked at by itself: names, moments, amounts, and that its kind has the fields it needs.

Pure. What it says about other documents (attributes, events, lists, other tasks) is looked at in `references`.
"""

from __future__ import annotations

from datetime import date, datetime
from functools import lru_cache
from zoneinfo import available_timezones

from apps.tasks.config import limits
from apps.tasks.config.documents import USER_ZONE, WHOLE, Caps, Claim, Period, Release, Task, Text
from apps.tasks.config.faults import Inspection

REPEATING = ("daily", "weekly", "monthly", "every_days")

# Field of a period: the kinds that it is for.
_PERIOD_FIELDS = {
    "resets_at": REPEATING,
    "week_starts_on": ("weekly",),
    "month_day": ("monthly",),
    "every_days": ("every_days",),
    "anchor": ("every_days",),
}
_PERIOD_RANGES = {"week_starts_on": (1, 7), "month_day": (1, 31), "every_days": (1, limits.MAX_EVERY_DAYS)}


@lru_cache(maxsize=1)
def known_zones() -> frozenset[str]:
    """The IANA names that this host's time zone data knows, without those that mean something else on each host. Read once."""
    return frozenset(available_timezones() - {"Factory", "localtime", "posixrules"})


def inspect_task(task: Task, at: Inspection, event_retention_s: int) -> None:
    if not limits.CODE.fullmatch(task.code):
        at.note("code_pattern", "code", code=task.code[:80])
    _inspect_words(task, at)
    _inspect_window(task, at)
    _inspect_period(task.period, at)
    _inspect_amounts(task, at)
    _inspect_kind(task, at)
    _inspect_claim(task.claim, at)
    _inspect_caps(task, at)
    _inspect_release(task.release, at)
    if task.late_window_s >= event_retention_s:
        at.note("late_window", "late_window_s", late_window_s=task.late_window_s, retention_s=event_retention_s)
    else:
        check_span(at, task.late_window_s, 0, event_retention_s, "late_window_s")


def check_range(at: Inspection, value: int, low: int, high: int, *place: object) -> bool:
    if low <= value <= high:
        return True
    at.note("out_of_range", *place, value=value, low=low, high=high)
    return False


def check_span(at: Inspection, value_s: int, low_s: int, high_s: int, *place: object) -> bool:
    if low_s <= value_s <= high_s:
        return True
    at.note("span_out_of_range", *place, value_s=value_s, low_s=low_s, high_s=high_s)
    return False


def check_length(at: Inspection, text: str, limit: int, *place: object) -> None:
    if len(text) > limit:
        at.note("too_long", *place, length=len(text), limit=limit)


def _inspect_words(task: Task, at: Inspection) -> None:
    if not any(language in task.texts for language in limits.REQUIRED_LANGUAGES):
        at.note("texts_missing", "texts", languages=list(limits.REQUIRED_LANGUAGES))
    else:
        for language in limits.REQUIRED_LANGUAGES:
            if language not in task.texts:
                at.note("text_missing", "texts", language=language)
    if len(task.texts) > limits.MAX_LANGUAGES:
        at.note("languages_too_many", "texts", limit=limits.MAX_LANGUAGES, count=len(task.texts))
    for language, text in task.texts.items():
        if not limits.LANGUAGE.fullmatch(language):
            at.note("language_pattern", "texts", language, typed=language[:40])
        _inspect_text(text, at, language)
    for field in ("category", "icon", "exclusive_group", "sequence"):
        check_length(at, getattr(task, field), limits.MAX_CHARACTERS[field], field)
    check_range(at, task.weight, -limits.MAX_WEIGHT, limits.MAX_WEIGHT, "weight")
    check_range(at, task.position, -limits.MAX_WEIGHT, limits.MAX_WEIGHT, "position")
    if task.tags:
        if len(task.tags) > limits.MAX_TAGS:
            at.note("tags_too_many", "tags", limit=limits.MAX_TAGS, count=len(task.tags))
        for place, tag in enumerate(task.tags):
            if not tag.strip():
                at.note("tag_empty", "tags", place)
            elif tag in task.tags[:place]:
                at.note("tag_twice", "tags", place, tag=tag)
            check_length(at, tag, limits.MAX_CHARACTERS["tag"], "tags", place)


def _inspect_text(text: Text, at: Inspection, language: str) -> None:
    if not text.name.strip():
        at.note("name_empty", "texts", language, "name", language=language)
    check_length(at, text.name, limits.MAX_CHARACTERS["name"], "texts", language, "name")
    check_length(at, text.description, limits.MAX_CHARACTERS["description"], "texts", language, "description")
    check_length(at, text.button, limits.MAX_CHARACTERS["button"], "texts", language, "button")
    if text.link:
        check_length(at, text.link, limits.MAX_CHARACTERS["link"], "texts", language, "link")
        link = limits.LINK.fullmatch(text.link)
        if link is None or link[1].lower() in limits.UNSAFE_SCHEMES:
            at.note("link", "texts", language, "link", link=text.link[:80])


def check_moment(at: Inspection, moment: datetime, *place: object) -> bool:
    if moment.tzinfo is None:
        at.note("moment_without_zone", *place, moment=moment.isoformat())
        return False
    if not limits.FIRST_YEAR <= moment.year <= limits.LAST_YEAR:
        at.note("year", *place, year=moment.year, first=limits.FIRST_YEAR, last=limits.LAST_YEAR)
        return False
    return True


def check_day(at: Inspection, day: date, *place: object) -> None:
    if not limits.FIRST_YEAR <= day.year <= limits.LAST_YEAR:
        at.note("year", *place, year=day.year, first=limits.FIRST_YEAR, last=limits.LAST_YEAR)


def _inspect_window(task: Task, at: Inspection) -> None:
    sound = check_moment(at, task.starts_at, "starts_at")
    if task.ends_at is None:
        if task.period.kind == "window":
            at.note("window_without_end", "ends_at")
    elif check_moment(at, task.ends_at, "ends_at") and sound and task.ends_at <= task.starts_at:
        at.note("ends_before_start", "ends_at", starts_at=task.starts_at.isoformat(), ends_at=task.ends_at.isoformat())


def check_zone(at: Inspection, zone: str, *place: object) -> None:
    if zone not in known_zones():
        at.note("zone_unknown", *place, zone=zone[:80])


_PLAIN_PERIOD = Period()


def _inspect_period(period: Period, at: Inspection) -> None:
    if period == _PLAIN_PERIOD:
        return
    if period.zone != USER_ZONE:
        check_zone(at, period.zone, "period", "zone")
    check_zone(at, period.fallback_zone, "period", "fallback_zone")
    if not limits.TIME_OF_DAY.fullmatch(period.resets_at):
        at.note("time_of_day", "period", "resets_at", time=period.resets_at[:40])
    for field, (low, high) in _PERIOD_RANGES.items():
        check_range(at, getattr(period, field), low, high, "period", field)
    if period.anchor is not None:
        check_day(at, period.anchor, "period", "anchor")
    elif period.kind == "every_days" and period.every_days > 1:
        at.note("anchor_missing", "period", "anchor")
    for field, kinds in _PERIOD_FIELDS.items():
        if period.kind not in kinds and getattr(period, field) != getattr(_PLAIN_PERIOD, field):
            at.note("period_field_unused", "period", field, period=period.kind)


def _inspect_amounts(task: Task, at: Inspection) -> None:
    check_range(at, task.target, 1, limits.MAX_POINTS, "target")
    check_range(at, task.points, 0, limits.MAX_POINTS, "points")
    if task.tiers:
        if len(task.tiers) > limits.MAX_TIERS:
            at.note("tiers_too_many", "tiers", limit=limits.MAX_TIERS, count=len(task.tiers))
        below = 0
        for place, tier in enumerate(task.tiers):
            check_range(at, tier.points, 0, limits.MAX_POINTS, "tiers", place, "points")
            sound = check_range(at, tier.target, 1, limits.MAX_POINTS, "tiers", place, "target")
            if sound and tier.target <= below:
                at.note("tiers_not_ascending", "tiers", place, "target", target=tier.target, below=below, tier=place + 1)
            below = tier.target
        # Together they are one figure of the task: it must be a whole number that every client can hold.
        total = sum(tier.points for tier in task.tiers)
        if total > limits.MAX_POINTS:
            at.note("out_of_range", "tiers", value=total, low=0, high=limits.MAX_POINTS)


def _inspect_kind(task: Task, at: Inspection) -> None:
    kind = task.kind
    if kind == "tiers":
        if not task.tiers:
            at.note("tiers_missing", "tiers")
        if task.target != 1:
            at.note("tiers_field_unused", "target")
        if task.points != 0:
            at.note("tiers_field_unused", "points")
    elif task.tiers:
        at.note("tiers_unwanted", "tiers", kind=kind)
    if kind == "single" and task.target != 1:
        at.note("single_target", "target", target=task.target)
    if kind == "streak":
        if task.streak is None:
            at.note("streak_missing", "streak")
        if task.period.kind not in REPEATING:
            at.note("streak_period", "period", "kind", period=task.period.kind)
    elif task.streak is not None:
        at.note("streak_unwanted", "streak", kind=kind)
    if task.streak is not None:
        check_range(at, task.streak.length, 2, limits.MAX_STREAK, "streak", "length")
        check_range(at, task.streak.grace, 0, limits.MAX_STREAK, "streak", "grace")
    if task.mode == "distinct":
        if not task.distinct_by:
            at.note("distinct_by_missing", "distinct_by")
        if not task.feeds:
            at.note("distinct_without_feed", "feeds")
        if task.kind != "tiers" and task.target > limits.MAX_MEMBERS:
            check_range(at, task.target, 1, limits.MAX_MEMBERS, "target")
        for place, tier in enumerate(task.tiers):
            if tier.target > limits.MAX_MEMBERS:
                check_range(at, tier.target, 1, limits.MAX_MEMBERS, "tiers", place, "target")
    elif task.distinct_by:
        at.note("distinct_by_unused", "distinct_by", mode=task.mode)


_PLAIN_CLAIM = Claim()


def _inspect_claim(claim: Claim, at: Inspection) -> None:
    if claim == _PLAIN_CLAIM:
        return
    is_sound = check_span(at, claim.grace_s, 0, limits.MAX_CLAIM_GRACE_S, "claim", "grace_s")
    if is_sound and claim.grace_s and claim.mode != "by_claim":
        at.note("claim_grace_unused", "claim", "grace_s")


_NO_CAPS = Caps()


def _inspect_caps(task: Task, at: Inspection) -> None:
    caps = task.caps
    if caps == _NO_CAPS:
        return
    for field in ("per_user", "total", "per_period", "points_budget"):
        cap = getattr(caps, field)
        if cap == 0:
            at.note("cap_zero", "caps", field)
        elif cap is not None:
            check_range(at, cap, 1, limits.MAX_POINTS, "caps", field)
    if caps.total and caps.per_period and caps.per_period > caps.total:
        at.note("cap_never_reached", "caps", "per_period", per_period=caps.per_period, total=caps.total)
    if caps.points_budget and caps.points_budget > 0:
        smallest = min((tier.points for tier in task.tiers), default=0) if task.kind == "tiers" else task.points
        if caps.points_budget < smallest:
            at.note("budget_below_points", "caps", "points_budget", budget=caps.points_budget, points=smallest)
        elif caps.total and task.kind != "tiers" and caps.points_budget < caps.total * task.points:
            at.note(
                "budget_below_total_cap", "caps", "points_budget",
                budget=caps.points_budget, total=caps.total, points=task.points, enough_for=caps.points_budget // task.points,
            )  # fmt: skip


_PLAIN_RELEASE = Release()


def _inspect_release(release: Release, at: Inspection) -> None:
    if release == _PLAIN_RELEASE:
        return
    if not 0 <= release.percentage_bp <= WHOLE:
        at.note("share_out_of_range", "release", "percentage_bp", percentage_bp=release.percentage_bp)
    check_length(at, release.salt, limits.MAX_CHARACTERS["salt"], "release", "salt")
    if release.percentage_bp == 0 and not release.allow:
        at.note("released_to_nobody", "release", "percentage_bp")
    for field in ("allow", "deny"):
        names = getattr(release, field)
        if len(names) > limits.MAX_RELEASE_LISTS:
            at.note("release_lists_too_many", "release", field, limit=limits.MAX_RELEASE_LISTS, count=len(names))
        for place, name in enumerate(names):
            if name in names[:place]:
                at.note("release_list_twice", "release", field, place, list=name)
    for place, name in enumerate(release.allow):
        if name in release.deny:
            at.note("list_allowed_and_denied", "release", "allow", place, list=name)
