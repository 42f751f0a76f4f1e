"""Delivery of points: what operators switch, what all relays share, what they did, and what the comparison with the points system found."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class PointsProvider(models.Model):
    """The one row about the points system. Its address stands in tasksys.toml; here is what may change while all runs.

    Below `changed_at` the relays write, each its own columns with `update_fields`: the operator's stay as they are.
    """

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY, editable=False)
    paused = models.BooleanField(_("paused"), default=False)
    rate_per_s = models.PositiveIntegerField(
        _("requests a second"), null=True, blank=True, help_text=_("Empty: as tasksys.toml says (points.rate_per_s).")
    )
    changed_by = models.CharField(max_length=150, blank=True, editable=False)
    changed_at = models.DateTimeField(null=True, editable=False)

    hold_until_ms = models.BigIntegerField(default=0, editable=False)
    """The points system asked for a pause until then (Retry-After)."""
    free_from_us = models.BigIntegerField(default=0, editable=False)
    """From when the next turn is free."""
    figures = models.JSONField(null=True, editable=False)
    """As a relay saw them last, with the moment (`at`, epoch seconds)."""

    class Meta:
        verbose_name = _("points system")
        verbose_name_plural = _("points system")
        default_permissions = ("view", "change")
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="points_provider_is_one")]

    def __str__(self) -> str:
        return str(_("points system"))


class PointsDrain(models.Model):
    """What a relay sent in about a second, and what came of it. Kept for a day."""

    at = models.DateTimeField(db_index=True)
    relay = models.CharField(max_length=100)
    sent = models.PositiveIntegerField(default=0)
    confirmed = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    again = models.PositiveIntegerField(default=0)
    unknown = models.PositiveIntegerField(default=0)
    dead = models.PositiveIntegerField(default=0)
    superseded = models.PositiveIntegerField(default=0)
    slowest_ms = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=255, blank=True)
    """The last one."""

    class Meta:
        default_permissions = ()


class PointsReconciliation(models.Model):
    """One day's grants here and at the points system, as the last comparison found them."""

    EQUAL, OPEN, DIFFERENT, NOT_COMPARED = "equal", "open", "different", "not_compared"

    day = models.DateField(primary_key=True)
    """In UTC, by the moment of the grant."""
    at = models.DateTimeField()
    outcome = models.CharField(max_length=16)
    """`open`: as far as it is settled here, it is equal. `not_compared`: `error` says why."""
    our_grants = models.PositiveIntegerField(default=0)
    our_points = models.BigIntegerField(default=0)
    """Confirmed ones."""
    open_grants = models.PositiveIntegerField(default=0)
    open_points = models.BigIntegerField(default=0)
    their_grants = models.PositiveIntegerField(null=True)
    their_points = models.BigIntegerField(null=True)
    differences = models.JSONField(default=list)
    """Of the first grants that differ: [kind, grant id, uid, our points, their points]."""
    more = models.BooleanField(default=False)
    """There are more than these."""
    error = models.CharField(max_length=255, blank=True)

    class Meta:
        default_permissions = ()


class SweptTask(models.Model):
    """A task whose grants are swept: it did not take points back then. It may later, but not those of grants that may be gone."""

    task = models.PositiveIntegerField(primary_key=True)
    gone_before = models.DateField()
    """Grants that were made before this day may be gone; committed before the first of them is deleted."""

    class Meta:
        default_permissions = ()
