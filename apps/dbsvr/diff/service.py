"""What operators and the schedule ask of the comparison: begin a run, hold it, go on, give it up; see and mend differences.

Each changes rows in `default`, writes the audit log, and sends the Celery task that does the work. Raises Refused with a sentence for
what cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from apps.dbsvr.diff.models import Difference, DiffRun
from apps.tasks.publishing.audit import Actor


class Refused(Exception):
    """It cannot be done; the message says why. Nothing was changed."""


class Table(NamedTuple):
    """A table that can be compared. `in_schedule`: the nightly runs take it."""

    schema: str
    name: str
    in_schedule: bool


class Preview(NamedTuple):
    """What a repair of one difference would do. `statements`: SQL, as they will be executed on the master (and by replication on every
    replica). `by_hand`: why the product may not do it itself, with what is to be granted or run; empty: it may."""

    difference: Difference
    statements: list[str]
    by_hand: str


class Repaired(NamedTuple):
    """`error` is empty when the statement was committed on the master; whether the replica has it is for `recheck` to say."""

    difference: Difference
    error: str


def tables() -> list[Table]:
    """The tables of both schemas that can be compared, user tables first. Raises Refused when the master cannot be asked."""
    raise NotImplementedError


def start_run(
    replica: str, table: str, first: str = "", last: str = "", kind: str = "full", sample: float = 100, user: Actor = None
) -> DiffRun:
    """Begin a run; `table` is `name` of the user schema or `schema.name`. `first` and `last` bound the key's first column, both included;
    "": no bound. `sample`: percent of the rows, for kind "sample". Raises Refused (no such replica, the same table is being compared)."""
    raise NotImplementedError


def pause(run: DiffRun, user: Actor) -> None:
    """Hold it after the chunk at hand."""
    raise NotImplementedError


def resume(run: DiffRun, user: Actor) -> None:
    """Go on with a PAUSED or STOPPED run where it stood."""
    raise NotImplementedError


def cancel(run: DiffRun, user: Actor) -> None:
    """Give it up; what it has not covered is NOT_COMPARED."""
    raise NotImplementedError


def differences_of(run: DiffRun) -> QuerySet[Difference]:
    """What this run saw, open or gone since."""
    raise NotImplementedError


def preview_repair(ids: Sequence[int]) -> list[Preview]:
    """For each of these differences, in the order of the ids, both rows read again now. Raises Refused when a server cannot be asked."""
    raise NotImplementedError


def repair(ids: Iterable[int], user: Actor, reason: str) -> list[Repaired]:
    """Mend them through the finish queue, one after the other; audited; asks for a recheck. Takes at most 100 (else Refused)."""
    raise NotImplementedError


def recheck(ids: Iterable[int]) -> None:
    """Compare these keys again, by Celery; what is equal now becomes GONE."""
    raise NotImplementedError
