"""What comparing a replica leaves behind: runs, the stretches of keys that they have covered, and the rows that differ.

They live in `default`. A key is a JSON list of the primary key's values as text, in the key's order; "" stands for an open end. Rows are
JSON objects, column to text, null for NULL, and {"hex": "…"} for what is no text.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models

WAITING, RUNNING, PAUSED, STOPPED, ENDED, CANCELLED = "waiting", "running", "paused", "stopped", "ended", "cancelled"
EQUAL, DIFFERENT, NOT_COMPARED = "equal", "different", "not_compared"
CHANGED, MISSING, EXTRA = "changed", "missing", "extra"
OPEN, REPAIRING, GONE = "open", "repairing", "gone"


class DiffRun(models.Model):
    """One comparison of a table, or of a range of it, on one replica.

    `outcome` is EQUAL only when every key between `first` and `last` was compared and is equal. A STOPPED run says in `why` what kept it
    from going on; it is resumed where it stood.
    """

    STATES: ClassVar = [(each, each) for each in (WAITING, RUNNING, PAUSED, STOPPED, ENDED, CANCELLED)]
    OUTCOMES: ClassVar = [(each, each) for each in ("", EQUAL, DIFFERENT, NOT_COMPARED)]
    KINDS: ClassVar = [("full", "full"), ("sample", "sample")]

    replica = models.CharField(max_length=31)
    schema = models.CharField(max_length=64)
    table = models.CharField(max_length=64)
    kind = models.CharField(max_length=7, choices=KINDS, default="full")
    sample_percent = models.FloatField(default=100)
    """Of the table's rows that a run of kind sample compares; the next one goes on where it ended."""
    first = models.CharField(max_length=255, blank=True)
    """The smallest value of the key's first column that is compared, and the largest; "": no bound."""
    last = models.CharField(max_length=255, blank=True)
    state = models.CharField(max_length=9, choices=STATES, default=WAITING)
    outcome = models.CharField(max_length=12, choices=OUTCOMES, blank=True)
    """Empty until it is decided."""
    why = models.CharField(max_length=500, blank=True)
    """Why it is not compared, or what it waits for now."""
    asked_by = models.CharField(max_length=150, blank=True)
    """The operator's name; empty: the schedule."""
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    cursor = models.TextField(blank=True)
    """The key up to which everything is accounted for; "": nothing yet."""
    begins_after = models.TextField(blank=True)
    """Of a sample: the key after which it begins."""
    rows_expected = models.BigIntegerField(null=True)
    """Estimated at the start, for progress and ETA."""
    rows_compared = models.BigIntegerField(default=0)
    chunks = models.PositiveIntegerField(default=0)
    differences = models.PositiveIntegerField(default=0)
    """Keys that differed when it passed them."""
    keys_not_compared = models.PositiveIntegerField(default=0)
    """Single keys that could not be decided, beside whole stretches."""
    chunk_rows = models.PositiveIntegerField(default=2000)
    """How many rows the next chunk takes."""
    busy_ms = models.BigIntegerField(default=0)
    """Time spent comparing, without waits."""

    worker = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True)
    """While it lies ahead a worker is at it; RUNNING with a lease that is over: its worker was lost."""
    takeovers = models.PositiveSmallIntegerField(default=0)
    """How often a worker was lost since it went on last."""

    class Meta:
        db_table = "diff_run"
        verbose_name = "diff run"
        permissions: ClassVar = [("repair_replica", "Can compare, repair, hold and release replicas")]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "id"], name="diff_run_state"),
            models.Index(fields=["replica", "schema", "table", "id"], name="diff_run_table"),
        ]

    def __str__(self) -> str:
        return f"diff {self.pk} of {self.schema}.{self.table} on {self.replica}"

    @property
    def progress(self) -> float | None:
        """0 … 1; None: not known."""
        if self.state == ENDED:
            return 1.0
        if not self.rows_expected:
            return None
        return min(0.99, self.rows_compared / self.rows_expected)

    @property
    def eta_s(self) -> float | None:
        """Seconds that it will still take at the rate so far; None: not known, or not at it."""
        if self.state != RUNNING or not self.rows_compared or self.rows_expected is None:
            return None
        return max(0.0, (self.rows_expected - self.rows_compared) * self.busy_ms / self.rows_compared / 1000)


class DiffChunk(models.Model):
    """A stretch of keys, from after `after` up to and with `up_to` ("": an open end), and what was found there.

    Together the chunks of a run cover its range without a gap, whatever became of it: what is left is NOT_COMPARED, with the reason.
    """

    OUTCOMES: ClassVar = [(each, each) for each in (EQUAL, DIFFERENT, NOT_COMPARED)]

    run = models.ForeignKey(DiffRun, on_delete=models.CASCADE, related_name="stretches")
    after = models.TextField(blank=True)
    up_to = models.TextField(blank=True)
    rows = models.BigIntegerField(null=True)
    """On the master; None: not known."""
    outcome = models.CharField(max_length=12, choices=OUTCOMES)
    differences = models.PositiveIntegerField(default=0)
    keys_not_compared = models.PositiveIntegerField(default=0)
    why = models.CharField(max_length=500, blank=True)
    took_ms = models.FloatField(null=True)
    at = models.DateTimeField()

    class Meta:
        db_table = "diff_chunk"
        verbose_name = "diff chunk"

    def __str__(self) -> str:
        return f"{self.run_id}: {self.after or '…'} – {self.up_to or '…'} {self.outcome}"


class Difference(models.Model):
    """One key whose row on a replica is not what it is on the master, and persistently so."""

    KINDS: ClassVar = [(each, each) for each in (CHANGED, MISSING, EXTRA)]
    """MISSING and EXTRA are said of the replica."""
    STATES: ClassVar = [(each, each) for each in (OPEN, REPAIRING, GONE)]

    replica = models.CharField(max_length=31)
    schema = models.CharField(max_length=64)
    table = models.CharField(max_length=64)
    key = models.TextField()
    key_digest = models.CharField(max_length=64)
    """SHA-256 of `key`: a key may be too long for an index."""
    uid = models.PositiveBigIntegerField(null=True, db_index=True)
    """Whose row it is; None in tables without uid."""
    kind = models.CharField(max_length=7, choices=KINDS)
    master_row = models.JSONField(null=True)
    replica_row = models.JSONField(null=True)
    run = models.ForeignKey(DiffRun, on_delete=models.SET_NULL, null=True, related_name="found")
    """The run that saw it last."""
    state = models.CharField(max_length=9, choices=STATES, default=OPEN)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    gone_at = models.DateTimeField(null=True)
    repaired_by = models.CharField(max_length=150, blank=True)
    repair_reason = models.CharField(max_length=200, blank=True)
    repair_error = models.CharField(max_length=500, blank=True)
    """Why the last repair was refused, or has not mended it."""

    class Meta:
        db_table = "diff_difference"
        verbose_name = "difference"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["replica", "schema", "table", "key_digest"], name="diff_difference_key")
        ]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["state", "replica"], name="diff_difference_state")]

    def __str__(self) -> str:
        return f"{self.replica} {self.schema}.{self.table} {self.key} {self.kind}"
