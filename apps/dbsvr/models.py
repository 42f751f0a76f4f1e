"""The console's tables: samples in four steps, and the one row that holds what is so now.

They live in `default`. The user tables are not here: master_db_svr owns them, and the one look at `db_info` is plain SQL in
`db_info_look`. Rows of samples are figures, not objects: they are written and read in bulk, by the columns named in `columns`.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from apps.dbsvr.columns import SAMPLE, SERVER_SAMPLE


class SampleOfStep(models.Model):
    """What all samples have. `at` is the step's beginning in epoch seconds; `known` counts the seconds of it that are known."""

    step_s = models.PositiveSmallIntegerField()
    instance = models.CharField(max_length=31)
    at = models.BigIntegerField()
    known = models.PositiveSmallIntegerField(default=1)

    class Meta:
        abstract = True


class Sample(SampleOfStep):
    """One DBSvr over one step. Every figure may be null: unknown."""

    pk = models.CompositePrimaryKey("step_s", "instance", "at")

    class Meta:
        db_table = "sample"
        verbose_name = "sample"

    def __str__(self) -> str:
        return f"{self.instance} {self.step_s} s at {self.at}"


class ServerSample(SampleOfStep):
    """One server of a DBSvr, master or replica, over one step."""

    pk = models.CompositePrimaryKey("step_s", "instance", "server", "at")
    server = models.CharField(max_length=31)

    class Meta:
        db_table = "server_sample"
        verbose_name = "server sample"

    def __str__(self) -> str:
        return f"{self.instance}/{self.server} {self.step_s} s at {self.at}"


for _name in SAMPLE:
    Sample.add_to_class(_name, models.FloatField(null=True))
for _name in SERVER_SAMPLE:
    ServerSample.add_to_class(_name, models.FloatField(null=True))


class ConsoleState(models.Model):
    """What is so now, as the sampler last judged it: one row, so that all web processes show the same."""

    ONLY: ClassVar[int] = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    seq = models.BigIntegerField()
    judged_at = models.FloatField()
    document = models.BinaryField(max_length=4_000_000)

    class Meta:
        db_table = "console_state"
        verbose_name = "console state"

    def __str__(self) -> str:
        return f"state {self.seq}"


class CanaryRound(models.Model):
    """One round of the canary: the newest state that it knows of its user, and the first violation in full."""

    at = models.FloatField()
    uid = models.BigIntegerField()
    generation = models.BigIntegerField(null=True)
    version = models.BigIntegerField(null=True)
    progress = models.BigIntegerField(null=True)
    reads = models.PositiveIntegerField()
    replica_reads = models.PositiveIntegerField()
    violations = models.PositiveIntegerField()
    kind = models.CharField(max_length=15, blank=True)
    served_by = models.CharField(max_length=31, blank=True)
    promised = models.CharField(max_length=100, blank=True)
    seen = models.CharField(max_length=100, blank=True)
    errors = models.PositiveIntegerField()
    error = models.CharField(max_length=200, blank=True)
    delay_ms = models.FloatField(null=True)
    margin_ticks = models.BigIntegerField(null=True)

    class Meta:
        db_table = "canary_round"
        verbose_name = "canary round"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["at", "violations"], name="canary_round_at"),
            models.Index(fields=["uid"], name="canary_round_uid"),
        ]

    def __str__(self) -> str:
        return f"canary {self.uid} at {self.at:.0f}"


# Django looks for an app's models here.
from apps.dbsvr.diff.models import DiffChunk, Difference, DiffRun  # noqa: E402
from apps.dbsvr.sweeps.models import Sweep  # noqa: E402

__all__ = ["CanaryRound", "ConsoleState", "DiffChunk", "DiffRun", "Difference", "Sample", "ServerSample", "Sweep"]
