"""What operators work on before it is published: drafts, their changed documents, and the contents of uploaded lists."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.tasks.config.documents import KINDS


class DraftState(models.TextChoices):
    EDITING = "editing", _("being edited")
    IN_REVIEW = "in_review", _("waiting for a review")
    APPROVED = "approved", _("approved")
    SCHEDULED = "scheduled", _("scheduled")
    PUBLISHED = "published", _("published")
    DISCARDED = "discarded", _("discarded")


OPEN_STATES = (DraftState.EDITING, DraftState.IN_REVIEW, DraftState.APPROVED, DraftState.SCHEDULED)


class Draft(models.Model):
    """One operator's changes on top of a revision. Any number of drafts are open beside each other.

    `edition` rises with each change of the draft: who approves, publishes or saves says which edition he has seen.
    """

    editor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="drafts")
    """None: a program opened it."""
    opened_by = models.CharField(_("opened by"), max_length=150)
    """As in the audit log: a user name, or `key:` and an API key's name."""
    title = models.CharField(_("title"), max_length=200, blank=True)
    base_revision = models.IntegerField(_("based on revision"))
    """The revision that its items were last reconciled with. 0: nothing was published yet."""
    state = models.CharField(_("state"), max_length=16, choices=DraftState.choices, default=DraftState.EDITING)
    edition = models.IntegerField(default=1)
    checked_edition = models.IntegerField(default=0)
    """The edition that was last checked and found without a fault. 0: none was."""
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    changed_at = models.DateTimeField(_("changed at"), auto_now=True)
    asked_at = models.DateTimeField(_("review asked at"), null=True)
    reviewed_at = models.DateTimeField(_("reviewed at"), null=True)
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    review_note = models.CharField(_("reviewer's note"), max_length=1000, blank=True)
    publish_at = models.DateTimeField(_("publish at"), null=True)
    publisher = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(_("reason"), max_length=1000, blank=True)
    in_flight = models.CharField(
        max_length=8,
        default="keep",
        choices=[("keep", _("keep the old rules until the period ends")), ("apply", _("apply the new rules now"))],
    )
    history_counts = models.BooleanField(default=False)
    rolls_back_to = models.IntegerField(null=True)
    """The draft brings back this revision's content."""
    failure = models.TextField(blank=True)
    """Why a scheduled publication could not be done (`conflict`, `invalid`, `nothing`, `fault`; see publishing.words); the draft is then
    back with its editor."""

    class Meta:
        verbose_name = _("draft")
        verbose_name_plural = _("drafts")
        ordering = ["-changed_at"]
        indexes = [models.Index(fields=["state", "publish_at"], name="draft_by_schedule")]
        permissions = [
            ("review_draft", "Can review drafts of others"),
            ("publish_draft", "Can publish and schedule drafts, roll back"),
            ("kill_task", "Can switch a task off at once"),
            ("explain_user", "Can explain a user"),
        ]
        constraints = [
            models.CheckConstraint(name="draft_state_known", condition=Q(state__in=DraftState.values)),
            models.CheckConstraint(name="draft_scheduled_has_a_moment", condition=~Q(state="scheduled") | Q(publish_at__isnull=False)),
        ]

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    def __str__(self) -> str:
        return self.title or str(_("Draft %(number)s") % {"number": self.pk})


class DraftItem(models.Model):
    """One document that a draft changes.

    `base` is what it was when the change was last reconciled (None: it is new); `document` None takes it away.
    """

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="items")
    kind = models.CharField(max_length=16)
    key = models.CharField(max_length=64, db_collation="utf8mb4_bin")  # attributes `Level` and `level` are two
    base = models.JSONField(null=True)
    document = models.JSONField(null=True)
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    """None: a program did."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "kind", "key"], name="draft_item_once"),
            models.CheckConstraint(name="draft_item_kind_known", condition=Q(kind__in=KINDS)),
        ]


class ListContents(models.Model):
    """The uids of a list, under the SHA-256 of their text. Never changed: another content is another row."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    count = models.IntegerField()
    packed = models.BinaryField()
    """The text (one uid a line, ascending, each once, every line ended by a line feed), compressed by zlib."""
