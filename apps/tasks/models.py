"""What operators configure: tasks; and who may ask: API keys. Shape and constraints only.

A user's progress is no model here: the DBSvr owns it, and it refers to a task by its number (`Task.id`) and period key.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from workers.protocol import MAX_VALUE

CODE_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}\Z"  # not $: that would let a line feed pass


class Period(models.TextChoices):
    """How often one user may complete a task."""

    ONCE = "once", _("once")
    DAILY = "daily", _("every day")


def validate_time_zone(name: str) -> None:
    """An IANA name that this host's time zone data knows."""
    if name not in available_timezones():
        raise ValidationError(_("“%(name)s” is no time zone. Use a name like Europe/Berlin, Asia/Shanghai or UTC."), params={"name": name})


class Task(models.Model):
    """One thing that users may do. Its number stands in every user's records, so it is never used for another task."""

    id = models.AutoField(primary_key=True)  # user_task.task_id is an INT UNSIGNED
    code = models.CharField(
        _("code"),
        max_length=64,
        unique=True,
        error_messages={"unique": _("There is a task with this code already.")},
        validators=[
            RegexValidator(CODE_PATTERN, _("Use 1 to 64 small letters, digits, hyphens and underscores, beginning with a letter or digit."))
        ],
        help_text=_("The name by which programs call the task. It cannot be changed later. Example: invite-3-friends"),
    )
    name = models.CharField(_("name"), max_length=200, help_text=_("What users read. Example: Invite 3 friends"))
    description = models.TextField(_("description"), max_length=2000, blank=True, help_text=_("One or two sentences on what to do."))
    starts_at = models.DateTimeField(_("starts at"), default=timezone.now, help_text=_("From this moment on the task can be done."))
    ends_at = models.DateTimeField(
        _("ends at"), null=True, blank=True, help_text=_("At this moment it can no longer be done. Empty: it has no end.")
    )
    period = models.CharField(
        _("period"),
        max_length=16,
        choices=Period.choices,
        default=Period.ONCE,
        help_text=_("Once, or anew every day in the time zone below."),
    )
    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        default="UTC",
        validators=[validate_time_zone],
        help_text=_("Where a day of a daily task begins and ends. Example: Asia/Shanghai"),
    )
    target = models.BigIntegerField(
        _("target"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_VALUE)],
        help_text=_("How much progress completes it: 1 for a single step, 3 for “invite 3 friends”."),
    )
    points = models.BigIntegerField(
        _("points"),
        default=0,
        validators=[MinValueValidator(0), MaxValueValidator(MAX_VALUE)],
        help_text=_("What a user gets for completing it."),
    )
    active = models.BooleanField(
        _("switched on"), default=True, help_text=_("Switched off, nobody can do it. What users have done so far is kept.")
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("task")
        verbose_name_plural = _("tasks")
        ordering = ["code"]
        constraints = [
            models.CheckConstraint(
                name="task_ends_after_it_starts",
                condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                violation_error_message=_("The end must be later than the start."),
            ),
            models.CheckConstraint(
                name="task_target_at_least_1",
                condition=Q(target__gte=1) & Q(target__lte=MAX_VALUE),
                violation_error_message=_("The target must be at least 1."),
            ),
            models.CheckConstraint(
                name="task_points_not_negative",
                condition=Q(points__gte=0) & Q(points__lte=MAX_VALUE),
                violation_error_message=_("Points cannot be negative."),
            ),
            models.CheckConstraint(
                name="task_period_known",
                condition=Q(period__in=Period.values),
                violation_error_message=_("This period is not known."),
            ),
            models.CheckConstraint(
                name="task_code_pattern",
                # The column compares without regard to case, so the pattern alone would let capitals pass.
                condition=Q(code__regex=CODE_PATTERN),
                violation_error_message=_("Use 1 to 64 small letters, digits, hyphens and underscores."),
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.code

    def clean(self) -> None:
        """Faults that concern several fields, each said at the field where it can be mended."""
        if self.starts_at and self.ends_at and self.ends_at <= self.starts_at:
            raise ValidationError({"ends_at": _("The end must be later than the start.")})

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)


class ApiKey(models.Model):
    """What a program shows to call the API. The key itself is not kept, only its SHA-256."""

    name = models.CharField(_("name"), max_length=100, help_text=_("Which program uses it. Example: game server, region 1"))
    prefix = models.CharField(_("begins with"), max_length=16, unique=True, editable=False)
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(_("may"), default=list)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True, editable=False)
    last_used_on = models.DateField(_("last used on"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class ChangeCounter(models.Model):
    """A number that rises with every change of what it is named after.

    Processes look at it to learn whether what they hold is still true. It rises in the same transaction as the change or later,
    never before it; a time stamp would not do, because of two changes the one with the earlier stamp may be committed last.
    """

    name = models.CharField(max_length=32, primary_key=True)
    value = models.BigIntegerField(default=0)

    @classmethod
    def raise_by_one(cls, name: str) -> None:
        if not cls.objects.filter(name=name).update(value=F("value") + 1):
            cls.objects.get_or_create(name=name, defaults={"value": 1})
