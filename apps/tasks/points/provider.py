"""The row about the points system: what operators switch, with its audit; turns and holds, which all relays share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.tasks.models import PointsProvider
from apps.tasks.points.pace import take_turns
from apps.tasks.publishing.audit import Actor, name_of, record

KIND = "points"
PAUSE, RESUME, RATE = "points_pause", "points_resume", "points_rate"
MOST_PER_S = 100_000


@dataclass(frozen=True)
class Permission:
    """What a relay may do now: moments at which it may send, in the database's microseconds."""

    turns_us: tuple[int, ...] = ()
    paused: bool = False
    held: bool = False


def provider() -> PointsProvider:
    """As it is now; a fresh one is not paused."""
    row = PointsProvider.objects.filter(pk=PointsProvider.ONLY).first()
    return row or PointsProvider.objects.get_or_create(pk=PointsProvider.ONLY)[0]


def take(wanted: int, now_us: int, rate_per_s: int) -> Permission:
    """Turns for a relay, unless delivery is paused or held. `rate_per_s` holds where the operator has set none."""
    with transaction.atomic():
        row = PointsProvider.objects.select_for_update().filter(pk=PointsProvider.ONLY).first()
        if row is None:
            row = PointsProvider.objects.get_or_create(pk=PointsProvider.ONLY)[0]
        if row.paused:
            return Permission(paused=True)
        if row.hold_until_ms > now_us // 1000:
            return Permission(held=True)
        turns = take_turns(row.free_from_us, now_us, wanted, row.rate_per_s or rate_per_s)
        if turns.at_us:
            row.free_from_us = turns.free_from_us
            row.save(update_fields=["free_from_us"])
        return Permission(turns.at_us)


def hold(until_ms: int) -> None:
    """The points system asked for a pause. A longer one stands."""
    provider()
    PointsProvider.objects.filter(pk=PointsProvider.ONLY, hold_until_ms__lt=until_ms).update(hold_until_ms=until_ms)


def note_figures(figures: dict[str, Any]) -> None:
    provider()
    PointsProvider.objects.filter(pk=PointsProvider.ONLY).update(figures=figures)


def set_paused(actor: Actor, paused: bool, note: str = "") -> bool:
    """Whether it was otherwise before. Resuming also ends a hold: the operator knows better."""
    with transaction.atomic():
        provider()
        row = PointsProvider.objects.select_for_update().get(pk=PointsProvider.ONLY)
        if row.paused == paused:
            return False
        record(actor, PAUSE if paused else RESUME, KIND, "", {"paused": row.paused}, {"paused": paused}, note=note)
        row.paused, row.changed_by, row.changed_at = paused, name_of(actor), timezone.now()
        row.hold_until_ms = row.hold_until_ms if paused else 0
        row.save(update_fields=["paused", "changed_by", "changed_at", "hold_until_ms"])
        return True


def set_rate(actor: Actor, rate_per_s: int | None) -> bool:
    """None: as the configuration says. Whether it was otherwise before."""
    with transaction.atomic():
        provider()
        row = PointsProvider.objects.select_for_update().get(pk=PointsProvider.ONLY)
        if row.rate_per_s == rate_per_s:
            return False
        record(actor, RATE, KIND, "", {"rate_per_s": row.rate_per_s}, {"rate_per_s": rate_per_s})
        row.rate_per_s, row.changed_by, row.changed_at = rate_per_s, name_of(actor), timezone.now()
        row.save(update_fields=["rate_per_s", "changed_by", "changed_at"])
        return True
