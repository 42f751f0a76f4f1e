"""What is remembered of an operator beside his account."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.tasks.models.live import validate_time_zone


class OperatorSettings(models.Model):
    """In which zone and language an operator reads the pages. An empty one: the installation's zone, the browser's language."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="operator_settings")
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True, validators=[validate_time_zone])
    language = models.CharField(_("language"), max_length=16, blank=True)

    class Meta:
        verbose_name = _("operator's settings")
        verbose_name_plural = _("operators' settings")
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.user)
