"""A run's work: chunk after chunk, each accounted for in the database before the next is begun.

Whoever works on a run holds its lease. A worker that is killed loses it by time, and the next one goes on after the last chunk that was
written down. Celery delivers a message again that has taken long, so a run is worked on in slices, and a slice that finds the lease
taken does nothing.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.dbsvr.db_interface import DbInterface
from apps.dbsvr.diff import findings
from apps.dbsvr.diff.chunk_size import LEAST_ROWS, next_rows
from apps.dbsvr.diff.comparison import Comparison, Scanned, Settled
from apps.dbsvr.diff.failures import CannotCompare, NotAlike, TooMany
from apps.dbsvr.diff.keys import OPEN_END, decode_key, encode_key
from apps.dbsvr.diff.looks import Settling
from apps.dbsvr.diff.models import (
    DIFFERENT,
    ENDED,
    EQUAL,
    NOT_COMPARED,
    RUNNING,
    STOPPED,
    WAITING,
    DiffChunk,
    DiffRun,
)
from apps.dbsvr.diff.servers import Both, open_both
from apps.dbsvr.diff.statements import Stretch
from apps.dbsvr.diff.table_shape import TableShape, why_not_comparable, why_unlike
from apps.dbsvr.diff.throttle import Throttle
from tasksys_site.configuration import Configuration

log = logging.getLogger(__name__)

LEASE_S = 30
SLICE_S = 20.0
TRY_AGAIN_FOR_S = 5.0
"""After a connection was lost."""
MOST_TAKEOVERS = 3
"""So often a run goes on by itself after its worker was lost; then somebody should look."""
MOST_AHEAD, MOST_PENDING = 50, 5_000
"""Chunks that may wait for their keys to be settled, and keys, before no further chunk is summed."""
MOST_LISTED = 10_000
"""Differences of one run: more, and the replica is to be rebuilt, not mended."""


class LetGo(Exception):
    """The run is not ours any more: paused, cancelled, or another worker has taken it."""


def work(run_id: int, configuration: Configuration, worker: str, dbsvr: DbInterface | None = None, slice_s: float = SLICE_S) -> bool:
    """Work on a run for a slice of time; True when there is more to do. Nothing is done while another worker has it, or its replica."""
    run = _claim(run_id, worker)
    if run is None:
        return False
    failed_since: float | None = None
    until = time.monotonic() + slice_s
    while True:
        chunks = run.chunks
        try:
            with open_both(configuration.databases, run.replica) as both:
                return _Work(run, worker, both, configuration, dbsvr).go_on(until)
        except LetGo:
            return False
        except CannotCompare as error:
            now = time.monotonic()
            if run.chunks > chunks or failed_since is None:
                failed_since = now
            if not error.retryable or now - failed_since >= TRY_AGAIN_FOR_S:
                _stop(run, worker, str(error))
                return False
            time.sleep(0.5)


def _claim(run_id: int, worker: str) -> DiffRun | None:
    """Take the lease, if nobody has it, and nobody else is at the same replica."""
    now = timezone.now()
    with transaction.atomic():
        run = DiffRun.objects.select_for_update().filter(pk=run_id).first()
        if run is None or run.state not in (WAITING, RUNNING) or (run.lease_until is not None and run.lease_until > now):
            return None
        others = DiffRun.objects.filter(replica=run.replica, state=RUNNING).exclude(pk=run.pk)
        if others.exists():
            return None
        if run.state == RUNNING and run.worker and run.lease_until is not None:
            run.takeovers += 1
            log.warning("a worker was lost run=%s worker=%s", run.pk, run.worker)
        if run.takeovers > MOST_TAKEOVERS:
            run.worker = worker
            run.save(update_fields=["worker", "takeovers"])
        else:
            run.state, run.worker, run.why = RUNNING, worker, ""
            run.started_at = run.started_at or now
            run.lease_until = now + timedelta(seconds=LEASE_S)
            run.save(update_fields=["state", "worker", "why", "started_at", "lease_until", "takeovers"])
            return run
    _stop(run, worker, f"its worker was lost {run.takeovers} times")
    return None


class _Work:
    def __init__(self, run: DiffRun, worker: str, both: Both, configuration: Configuration, dbsvr: DbInterface | None) -> None:
        self._run = run
        self._worker = worker
        self._both = both
        self._settings = configuration.diff
        self._throttle = Throttle(self._settings, both, dbsvr, list(configuration.dbsvr.instances))
        self._renewed_at = 0.0
        self._spent_s = 0.0

    def go_on(self, until: float) -> bool:
        run = self._run
        self._table = table = agreed_shape(self._both, run.schema, run.table)
        comparison = Comparison(self._both, table, run.first, run.last, self.stay)
        if run.rows_expected is None:
            self._begin(table)
        settling = comparison.begin_settling()
        ahead: deque[Scanned] = deque()
        """Chunks that were summed and not accounted for, in the order of their keys: what looked different is being settled."""
        while True:
            self.stay(at_once=True)
            if ahead and settling.is_done_with(ahead[0].suspects):
                scanned = ahead.popleft()
                self._account(scanned, comparison.settled(settling, scanned.suspects))
                continue
            is_over, is_all = time.monotonic() >= until, self._is_all(ahead)
            if not ahead and is_all:
                self._end(comparison)
                return False
            if not ahead and is_over:
                self._let_go()
                return True
            began_at = time.monotonic()
            if not is_all and not is_over and len(ahead) < MOST_AHEAD and settling.pending < MOST_PENDING:
                self._scan(comparison, settling, ahead)
            settling.look()
            self._spent_s += time.monotonic() - began_at

    def stay(self, at_once: bool = False) -> None:
        """Renew the lease; LetGo when the run was paused, cancelled or taken over."""
        now = time.monotonic()
        if not at_once and now - self._renewed_at < 1.0:
            return
        self._renewed_at = now
        lease_until = timezone.now() + timedelta(seconds=LEASE_S)
        if not _ours(self._run, self._worker).update(lease_until=lease_until):
            raise LetGo

    def _begin(self, table: TableShape) -> None:
        run = self._run
        after = decode_key(run.begins_after)
        expected = self._both.master.estimate(table, Stretch(table, run.first, run.last).condition)
        run.rows_expected = int(expected * run.sample_percent / 100) if run.kind == "sample" else expected
        run.cursor = encode_key(after)
        run.save(update_fields=["rows_expected", "cursor"])

    def _is_all(self, ahead: Sequence[Scanned]) -> bool:
        """Nothing is left to sum."""
        run = self._run
        if run.chunks + len(ahead) == 0:
            return False
        if run.kind == "sample" and run.rows_compared + sum(each.rows for each in ahead) >= (run.rows_expected or 0):
            return True
        return ahead[-1].up_to == OPEN_END if ahead else not run.cursor

    def _scan(self, comparison: Comparison, settling: Settling, ahead: deque[Scanned]) -> None:
        """Sum the next chunk, unless the run has to wait."""
        run, why = self._run, self._throttle.why_wait()
        self._say(why)
        if why:
            time.sleep(0.25)
            return
        after = ahead[-1].up_to if ahead else decode_key(run.cursor)
        rows = run.chunk_rows
        if run.kind == "sample":
            left = (run.rows_expected or 0) - run.rows_compared - sum(each.rows for each in ahead)
            rows = max(LEAST_ROWS, min(rows, left))
        try:
            scanned = comparison.scan_chunk(after, rows)
        except TooMany:
            if run.chunk_rows <= LEAST_ROWS:
                raise
            run.chunk_rows = max(LEAST_ROWS, run.chunk_rows // 8)
            _ours(run, self._worker).update(chunk_rows=run.chunk_rows)
            return
        settling.add(scanned.suspects)
        ahead.append(scanned)
        if scanned.rows >= rows:
            run.chunk_rows = next_rows(rows, scanned.took_s, self._settings.budget_ms / 1000)

    def _account(self, scanned: Scanned, settled: Settled) -> None:
        """The chunk, what it found, and how far the run is: at once or not at all."""
        run, now = self._run, timezone.now()
        chunk_rows = run.chunk_rows
        spent_ms, self._spent_s = self._spent_s * 1000, 0.0
        chunk = DiffChunk(
            run=run,
            after=encode_key(scanned.after),
            up_to=encode_key(scanned.up_to),
            rows=scanned.rows,
            outcome=DIFFERENT if settled.differing else NOT_COMPARED if settled.undecided or scanned.unhashed else EQUAL,
            differences=len(settled.differing),
            keys_not_compared=len(settled.undecided) + scanned.unhashed,
            why=_why(scanned, settled)[:500],
            took_ms=spent_ms,
            at=now,
        )
        with transaction.atomic():
            if not _ours(run, self._worker).update(
                cursor=chunk.up_to,
                rows_compared=F("rows_compared") + scanned.rows,
                chunks=F("chunks") + 1,
                differences=F("differences") + chunk.differences,
                keys_not_compared=F("keys_not_compared") + chunk.keys_not_compared,
                chunk_rows=chunk_rows,
                busy_ms=F("busy_ms") + int(spent_ms),
                takeovers=0,
            ):
                raise LetGo
            chunk.save()
            findings.note(run, self._table, settled.differing, now)
        run.refresh_from_db()
        if run.differences > MOST_LISTED:
            raise TooMany(f"{run.differences} keys differ: rebuild the replica")

    def _end(self, comparison: Comparison) -> None:
        run = self._run
        findings.recheck_unseen(run, self._table, comparison)
        run.outcome = outcome_of(run)
        run.why = "" if run.outcome != NOT_COMPARED else f"{run.keys_not_compared} keys could not be compared: see the stretches"
        _ours(run, self._worker).update(
            state=ENDED, outcome=run.outcome, why=run.why, ended_at=timezone.now(), lease_until=None, worker="", chunk_rows=run.chunk_rows
        )

    def _say(self, why: str) -> None:
        if self._run.why != why:
            self._run.why = why
            _ours(self._run, self._worker).update(why=why)

    def _let_go(self) -> None:
        """The slice is over: whoever takes the message that follows goes on."""
        _ours(self._run, self._worker).update(lease_until=None, worker="", chunk_rows=self._run.chunk_rows)


def agreed_shape(both: Both, schema: str, table: str) -> TableShape:
    """The table as both servers have it. Raises CannotCompare."""
    ours, theirs = both.master.shape(schema, table), both.replica.shape(schema, table)
    if why := why_unlike(ours, theirs) or why_not_comparable(ours):
        raise NotAlike(why)
    return ours


def outcome_of(run: DiffRun) -> str:
    """What is to be said of all of it. A stretch that nobody compared keeps it from being equal."""
    if run.differences:
        return DIFFERENT
    if run.keys_not_compared or run.stretches.filter(outcome=NOT_COMPARED).exists():
        return NOT_COMPARED
    return EQUAL


def _stop(run: DiffRun, worker: str, why: str) -> None:
    """It cannot go on: what it has not covered is not compared, and says why."""
    log.warning('a comparison stopped run=%s why="%s"', run.pk, why)
    with transaction.atomic():
        if not _ours(run, worker).update(state=STOPPED, why=why[:500], lease_until=None, worker=""):
            return
        leave_rest(run, why)


def leave_rest(run: DiffRun, why: str) -> None:
    """Account for what no chunk has covered, and decide the outcome so far."""
    run.refresh_from_db()
    DiffChunk.objects.create(
        run=run, after=run.cursor or run.begins_after, up_to="", rows=None, outcome=NOT_COMPARED, why=why[:500], at=timezone.now()
    )
    DiffRun.objects.filter(pk=run.pk).update(outcome=outcome_of(run))


def take_up_rest(run: DiffRun) -> None:
    """The run goes on: the rest is no result any more."""
    run.stretches.filter(outcome=NOT_COMPARED, rows=None).delete()


def lost_runs() -> list[int]:
    """Runs that nobody works on although they should be worked on: their worker was lost, or their message."""
    now = timezone.now()
    waiting = Q(state=WAITING) | Q(state=RUNNING, lease_until__lt=now) | Q(state=RUNNING, lease_until=None)
    return list(DiffRun.objects.filter(waiting).order_by("id").values_list("pk", flat=True))


def next_at_replica_of(run_id: int) -> int | None:
    """The oldest run that waits for this one's replica; None while somebody works there."""
    replica = DiffRun.objects.filter(pk=run_id).values_list("replica", flat=True).first()
    at_it = DiffRun.objects.filter(replica=replica, state=RUNNING)
    waiting = DiffRun.objects.filter(replica=replica, state=WAITING).order_by("id").values_list("pk", flat=True)
    return None if at_it.exists() else waiting.first()


def _ours(run: DiffRun, worker: str):  # type: ignore[no-untyped-def]
    return DiffRun.objects.filter(pk=run.pk, worker=worker, state=RUNNING)


def _why(scanned: Scanned, settled: Settled) -> str:
    parts = []
    if scanned.unhashed:
        parts.append(f"{scanned.unhashed} rows are longer than max_allowed_packet")
    if settled.undecided:
        some = ", ".join(map(encode_key, settled.undecided[:10]))
        parts.append(f"{len(settled.undecided)} keys kept changing, or the replica did not come so far: {some}")
    return "; ".join(parts)
