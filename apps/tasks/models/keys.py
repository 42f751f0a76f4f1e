"""Who may ask, and how processes learn of changes: API keys and change counters. Shape and constraints only."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F
from django.utils.translation import gettext_lazy as _


class ApiKey(models.Model):
    """What a program shows to call the API. The key itself is not kept, only its SHA-256."""

    name = models.CharField(_("name"), max_length=100, help_text=_("Which program uses it. Example: game server, region 1"))
    prefix = models.CharField(_("begins with"), max_length=16, unique=True, editable=False)
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(_("may"), default=list)
    requests_per_s = models.PositiveIntegerField(
        _("requests a second"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("All processes together. Empty: as many as it likes."),
    )
    burst = models.PositiveIntegerField(
        _("burst"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("So many at once after a pause. Empty: those of one second."),
    )
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
