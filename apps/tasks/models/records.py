"""What is never changed again: revisions and the audit log.

Saving one again, updating or deleting it raises NeverChanged. The database refuses it too, by triggers (migration 0002), unless it
does not let us make them; docs/operations.md says when.
"""

from __future__ import annotations

import gzip
from typing import Any, ClassVar, NoReturn

import msgspec
from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class NeverChanged(Exception):
    """Revisions and audit entries are written once."""


class _WrittenOnceQuerySet(models.QuerySet):  # type: ignore[type-arg]
    def update(self, **_fields: Any) -> NoReturn:
        raise NeverChanged(self.model.__name__)

    def delete(self) -> NoReturn:
        raise NeverChanged(self.model.__name__)


class _WrittenOnce(models.Model):
    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise NeverChanged(f"{type(self).__name__} {self.pk}")
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NeverChanged(f"{type(self).__name__} {self.pk}")


class Origin(models.TextChoices):
    """On which path a revision was published."""

    PAGE = "page", _("from the page")
    API = "api", _("by the API")
    SCHEDULE = "schedule", _("on schedule")
    ROLL_BACK = "roll_back", _("roll back")
    SWITCH = "switch", _("switched off or on at once")
    COMMAND = "command", _("by a command")


class _RevisionsWithoutBlobs(models.Manager.from_queryset(_WrittenOnceQuerySet)):  # type: ignore[misc]
    """Whoever reads a blob fetches it by that; a list of revisions fetches none."""

    def get_queryset(self) -> models.QuerySet[Revision]:
        return super().get_queryset().defer("packed_changes", "configuration", "bundle")  # type: ignore[no-any-return]


class Revision(_WrittenOnce):
    """One immutable, numbered publication of everything. The numbers have no gaps."""

    number = models.IntegerField(_("revision"), primary_key=True)
    published_at = models.DateTimeField(_("published at"))
    publisher = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    published_by = models.CharField(_("published by"), max_length=150)
    """As in the audit log."""
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    draft = models.OneToOneField("tasks.Draft", null=True, on_delete=models.PROTECT, related_name="revision")
    origin = models.CharField(max_length=16, choices=Origin.choices)
    reason = models.CharField(_("reason"), max_length=1000, blank=True)
    rolls_back_to = models.IntegerField(null=True)
    change_count = models.IntegerField(_("changes"))
    packed_changes = models.BinaryField()
    """`changes`, gzip of JSON: an import of ten thousand tasks would not fit into one packet otherwise."""
    etag = models.CharField(max_length=64)
    """With its quotes, as HTTP sends it."""
    configuration = models.BinaryField()
    """The documents (config.documents.Configuration), gzip of JSON."""
    bundle = models.BinaryField()
    """What logic nodes take, gzip of JSON."""
    bundle_bytes = models.IntegerField()

    objects: ClassVar[Any] = _RevisionsWithoutBlobs()

    class Meta:
        db_table = "config_revision"
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        ordering = ["-number"]

    def __str__(self) -> str:
        return str(self.number)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """[{"kind", "key", "base", "document"}]: what it changed, for its page."""
        changes: list[dict[str, Any]] = msgspec.json.decode(gzip.decompress(self.packed_changes))
        return changes


class AuditEntry(_WrittenOnce):
    """Who did what, with the state before and after. Written in the transaction of the deed; there is no way to change it here."""

    at = models.DateTimeField(_("at"), auto_now_add=True, db_index=True)
    who = models.CharField(_("who"), max_length=150, db_index=True)
    """User name, `key:` and an API key's name, or `system`; kept as text, so that it outlives the account."""
    action = models.CharField(_("action"), max_length=32, db_index=True)
    kind = models.CharField(_("kind"), max_length=16, blank=True)
    key = models.CharField(_("key"), max_length=64, blank=True, db_index=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    draft = models.IntegerField(null=True)
    revision = models.IntegerField(null=True)
    note = models.CharField(max_length=1000, blank=True)
    address = models.CharField(max_length=64, blank=True)

    objects: ClassVar[Any] = models.Manager.from_queryset(_WrittenOnceQuerySet)()

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit log")
        ordering = ["-id"]
