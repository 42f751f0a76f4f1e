"""Where each sweep stands, and what it has done. One row a table, in `default`."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Sweep(models.Model):
    """The sweep of one table. A *round* is one walk over all of it; it goes on where its last piece ended, whoever works on it."""

    table = models.CharField(primary_key=True, max_length=31)
    gone_before = models.DateField(null=True)
    """Rows of earlier days may be gone. Committed before the first of them is deleted; it never goes back."""
    before = models.DateField(null=True)
    """This round deletes rows of earlier days."""
    cursor = models.TextField(blank=True)
    """Up to where this round has come; "": nothing yet."""
    began_at = models.DateTimeField(null=True)
    """Of this round, or of the last one."""
    ended_at = models.DateTimeField(null=True)
    """Of the last round that came to its end."""
    looked = models.BigIntegerField(default=0)
    removed = models.BigIntegerField(default=0)
    """Rows, in this round or the last one."""
    removed_ever = models.BigIntegerField(default=0)
    oldest_so_far = models.DateField(null=True)
    """Of the rows that this round has left."""
    oldest = models.DateField(null=True)
    """Of those that the last round left; None: there were none, or no round has ended."""
    waits = models.CharField(max_length=200, blank=True)
    """Why it waits now."""
    error = models.CharField(max_length=500, blank=True)
    """Why it cannot go on; "" while it can."""
    failed_at = models.DateTimeField(null=True)
    """When it was tried last, with an error."""
    failing_since = models.DateTimeField(null=True)

    class Meta:
        db_table = "sweep"
        verbose_name = "sweep"
        default_permissions: ClassVar = ()

    def __str__(self) -> str:
        return f"sweep of {self.table}"

    @property
    def is_under_way(self) -> bool:
        return self.began_at is not None and (self.ended_at is None or self.ended_at < self.began_at)
