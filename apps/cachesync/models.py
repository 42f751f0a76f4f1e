"""The cache layer's tables in `default`: which nodes there are, how they are, and what the checker follows.

Purge rows are not here: master_db_svr owns them, and `purge_rows` is all that touches them. Moments are epoch seconds.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

JOINING, IN_USE, DRAINING, REMOVED = "joining", "in_use", "draining", "removed"
STATES = (JOINING, IN_USE, DRAINING, REMOVED)


class CacheNode(models.Model):
    """A cache node. A name is for good: the ring hashes it.

    joining: to be flushed by the center before anybody uses it. draining: on no ring any more, and still purged, for who has not
    heard of it yet. removed: purged no more; it comes back by joining. `admitted_run`: the run of its server that was emptied since it
    started, or that was there when the node was first used; another one may have brought old copies back.
    """

    name = models.CharField(max_length=31, primary_key=True, validators=[RegexValidator(r"^[a-z][a-z0-9-]{0,30}\Z")])
    url = models.CharField(max_length=255)
    state = models.CharField(max_length=15, default=JOINING, choices=[(state, state) for state in STATES])
    changed_at = models.FloatField()
    admitted_run = models.CharField(max_length=63, blank=True, default="")

    class Meta:
        db_table = "cache_node"
        verbose_name = "cache node"

    def __str__(self) -> str:
        return f"{self.name} {self.state}"


class CacheNodeNow(models.Model):
    """What the center found when it asked the node last; the database's clock. `streak`: outcomes in a row that contradict `answers`."""

    name = models.CharField(max_length=31, primary_key=True)
    answers = models.BooleanField()
    streak = models.PositiveIntegerField(default=0)
    since = models.FloatField()
    probed_at = models.FloatField()
    memory_bytes = models.BigIntegerField(null=True)
    max_memory_bytes = models.BigIntegerField(null=True)
    copies = models.BigIntegerField(null=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        db_table = "cache_node_now"
        verbose_name = "state of a cache node"

    def __str__(self) -> str:
        return f"{self.name} {'answers' if self.answers else 'is silent'}"


class CacheCount(models.Model):
    """What all web processes did on a node in one minute."""

    pk = models.CompositePrimaryKey("minute", "node")
    minute = models.BigIntegerField()
    node = models.CharField(max_length=31)
    hits = models.BigIntegerField(default=0)
    misses = models.BigIntegerField(default=0)
    stored = models.BigIntegerField(default=0)
    refused_version = models.BigIntegerField(default=0)
    refused_token = models.BigIntegerField(default=0)
    failures = models.BigIntegerField(default=0)

    class Meta:
        db_table = "cache_count"
        verbose_name = "counts of a cache node"

    def __str__(self) -> str:
        return f"{self.node} at {self.minute}"


class CacheCheck(models.Model):
    """An acknowledged write that the checker follows: from `due_at` on no node may serve anything older. `stage`: looks so far."""

    uid = models.BigIntegerField()
    generation = models.BigIntegerField()
    version = models.BigIntegerField()
    written_at = models.FloatField()
    own_node = models.CharField(max_length=31)
    event_id = models.CharField(max_length=64)
    stage = models.PositiveSmallIntegerField(default=0)
    due_at = models.FloatField()

    class Meta:
        db_table = "cache_check"
        verbose_name = "followed write"
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["due_at"], name="cache_check_due")]

    def __str__(self) -> str:
        return f"{self.uid} {self.generation}:{self.version}"


class CacheViolation(models.Model):
    """A copy that was older than an acknowledged write, with what was known of the user then."""

    at = models.FloatField()
    uid = models.BigIntegerField()
    node = models.CharField(max_length=31)
    promised = models.CharField(max_length=60)
    seen = models.CharField(max_length=60)
    after_s = models.FloatField()
    known = models.TextField()

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.at, timezone.get_current_timezone())

    class Meta:
        db_table = "cache_violation"
        verbose_name = "stale copy"
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["at"], name="cache_violation_at")]

    def __str__(self) -> str:
        return f"{self.uid} on {self.node}: {self.seen} after {self.promised}"
