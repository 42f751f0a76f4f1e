"""The published tasks as rows: what lists search and filter by, and the last line of defence against what no task may be.

Written by publishing alone, in the transaction of the revision; a draft is no row here. `document` is the task whole
(apps.tasks.config.documents); the other columns are taken from it.
"""

from __future__ import annotations

from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.tasks.config.documents import USER_ZONE, WHOLE
from workers.protocol import MAX_VALUE

CODE_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}\Z"  # not $: that would let a line feed pass


def validate_time_zone(name: str) -> None:
    """An IANA name that this host's time zone data knows."""
    if name not in available_timezones():
        raise ValidationError(_("“%(name)s” is no time zone. Use a name like Europe/Berlin, Asia/Shanghai or UTC."), params={"name": name})


class Kind(models.TextChoices):
    SINGLE = "single", _("one step")
    COUNTER = "counter", _("count to a target")
    TIERS = "tiers", _("several targets")
    STREAK = "streak", _("periods in a row")


class PeriodKind(models.TextChoices):
    """How often one user may complete a task."""

    ONCE = "once", _("once")
    DAILY = "daily", _("every day")
    WEEKLY = "weekly", _("every week")
    MONTHLY = "monthly", _("every month")
    EVERY_DAYS = "every_days", _("every few days")
    WINDOW = "window", _("once between start and end")


def _is_null_or_at_least_1(field: str) -> Q:
    return Q(**{f"{field}__isnull": True}) | Q(**{f"{field}__gte": 1, f"{field}__lte": MAX_VALUE})


class Task(models.Model):
    """One published task. Its number stands in every user's records, so it is never used for another task."""

    id = models.AutoField(primary_key=True)  # user_task.task_id is an INT UNSIGNED
    code = models.CharField(_("code"), max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=200, blank=True)
    """In the language that the installation's operators read first; all languages stand in TaskText."""
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices)
    category = models.CharField(_("category"), max_length=64, blank=True)
    weight = models.IntegerField(_("weight"), default=0)
    starts_at = models.DateTimeField(_("starts at"))
    ends_at = models.DateTimeField(_("ends at"), null=True, blank=True)
    period = models.CharField(_("period"), max_length=16, choices=PeriodKind.choices)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    target = models.BigIntegerField(_("target"), default=1)
    points = models.BigIntegerField(_("points"), default=0)
    """Of a task with tiers: all of them together."""
    cap_per_user = models.BigIntegerField(null=True)
    cap_total = models.BigIntegerField(null=True)
    cap_per_period = models.BigIntegerField(null=True)
    points_budget = models.BigIntegerField(null=True)
    percentage_bp = models.IntegerField(default=WHOLE)
    switched_off = models.BooleanField(_("switched off"), default=False)
    archived = models.BooleanField(_("archived"), default=False)
    revision = models.IntegerField(_("changed in revision"))
    document = models.JSONField()

    class Meta:
        verbose_name = _("task")
        verbose_name_plural = _("tasks")
        ordering = ["code"]
        indexes = [
            models.Index(fields=["archived", "starts_at"], name="task_by_start"),
            models.Index(fields=["archived", "ends_at"], name="task_by_end"),
        ]
        constraints = [
            models.CheckConstraint(name="task_ends_after_it_starts", condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at"))),
            models.CheckConstraint(name="task_target_at_least_1", condition=Q(target__gte=1, target__lte=MAX_VALUE)),
            models.CheckConstraint(name="task_points_not_negative", condition=Q(points__gte=0, points__lte=MAX_VALUE)),
            models.CheckConstraint(name="task_kind_known", condition=Q(kind__in=Kind.values)),
            models.CheckConstraint(name="task_period_known", condition=Q(period__in=PeriodKind.values)),
            # The column compares without regard to case, so the pattern alone would let capitals pass.
            models.CheckConstraint(name="task_code_pattern", condition=Q(code__regex=CODE_PATTERN)),
            models.CheckConstraint(name="task_percentage", condition=Q(percentage_bp__gte=0, percentage_bp__lte=WHOLE)),
            *(
                models.CheckConstraint(name=f"task_{field}_at_least_1", condition=_is_null_or_at_least_1(field))
                for field in ("cap_per_user", "cap_total", "cap_per_period", "points_budget")
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.code

    @property
    def zone_is_the_users(self) -> bool:
        return self.time_zone == USER_ZONE


class TaskText(models.Model):
    """What users read of a task in one language."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="texts")
    language = models.CharField(max_length=16)
    name = models.CharField(max_length=200)
    description = models.TextField(max_length=2000, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "language"], name="task_text_once_a_language")]


class TaskCondition(models.Model):
    """One typed condition row of a published task."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="condition_rows")
    group = models.PositiveSmallIntegerField()
    row = models.PositiveSmallIntegerField()
    attribute = models.CharField(max_length=64, db_index=True)
    operator = models.CharField(max_length=8)
    value = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "group", "row"], name="task_condition_place")]


class TaskPrerequisite(models.Model):
    """A published task that another one needs."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="prerequisite_rows")
    needs = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="needed_by_rows")
    state = models.CharField(max_length=16)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "needs"], name="task_prerequisite_once"),
            models.CheckConstraint(name="task_prerequisite_not_itself", condition=~Q(task=F("needs"))),
        ]
