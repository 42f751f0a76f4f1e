"""What operators and the schedule ask of the comparison: begin a run, hold it, go on, give it up; see and mend differences.

Each changes rows in `default`, writes the audit log, and sends the Celery task that does the work. Raises Refused with a sentence for
what cannot be.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import NamedTuple

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from kombu.exceptions import OperationalError

from apps.dbsvr.db_interface import db_interface
from apps.dbsvr.diff import findings, repairs, runs
from apps.dbsvr.diff.failures import CannotCompare
from apps.dbsvr.diff.keys import why_bad_bound
from apps.dbsvr.diff.models import CANCELLED, ENDED, GONE, OPEN, PAUSED, REPAIRING, RUNNING, STOPPED, WAITING, Difference, DiffRun
from apps.dbsvr.diff.servers import Server, open_master
from apps.tasks.publishing.audit import Actor, name_of, record
from tasksys_site.celery import DIFF_RECHECK, DIFF_WORK
from tasksys_site.configuration import Databases
from workers.protocol import DBSvrError

log = logging.getLogger(__name__)

MOST_REPAIRS = 100
NEVER = frozenset({"db_info"})
"""It changes all the time, and is what positions are read from."""
FIGURES = frozenset({"sample", "server_sample", "console_state", "canary_round", "cache_count", "cache_node_now", "django_session"})
"""Of the configuration schema: figures that are written all the time, and that nobody reads from a replica."""
OWN = "diff_"
_STATE_WORDS = {
    WAITING: gettext_lazy("waiting"),
    RUNNING: gettext_lazy("running"),
    PAUSED: gettext_lazy("paused"),
    STOPPED: gettext_lazy("stopped"),
    ENDED: gettext_lazy("ended"),
    CANCELLED: gettext_lazy("cancelled"),
}


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
    databases = _databases()
    found = []
    with _master(databases) as master:
        for schema in (databases.user_schema, databases.configuration_schema):
            for name in master.tables_of(schema):
                if name in NEVER:
                    continue
                of_figures = schema == databases.configuration_schema and (name in FIGURES or name.startswith(OWN))
                found.append(Table(schema, name, not of_figures))
    return found


def start_run(
    replica: str, table: str, first: str = "", last: str = "", kind: str = "full", sample: float = 100, user: Actor = None
) -> DiffRun:
    """Begin a run; `table` is `name` of the user schema or `schema.name`. `first` and `last` bound the key's first column, both included;
    "": no bound. `sample`: percent of the rows, for kind "sample". Raises Refused (no such replica, the same table is being compared)."""
    databases = _databases()
    schema, _dot, name = table.rpartition(".")
    schema, first, last = schema or databases.user_schema, first.strip(), last.strip()
    if replica not in [each.name for each in databases.replicas]:
        raise Refused(_("There is no replica named %(replica)s.") % {"replica": replica})
    if schema not in (databases.user_schema, databases.configuration_schema) or name in NEVER:
        raise Refused(_("%(table)s cannot be compared.") % {"table": table})
    if kind not in ("full", "sample") or not 0 < sample <= 100:
        raise Refused(_("A run is full, or a sample of more than 0 and at most 100 percent."))
    _check_bounds(databases, schema, name, first, last)
    before = _last_sample(replica, schema, name) if kind == "sample" and not (first or last) else None
    with transaction.atomic():
        under_way = DiffRun.objects.select_for_update().filter(
            replica=replica, schema=schema, table=name, state__in=(WAITING, RUNNING, PAUSED)
        )
        if under_way.exists():
            raise Refused(
                _("%(table)s is being compared on %(replica)s already (run %(run)s).")
                % {"table": name, "replica": replica, "run": under_way[0].pk}
            )
        run = DiffRun.objects.create(
            replica=replica,
            schema=schema,
            table=name,
            kind=kind,
            sample_percent=sample if kind == "sample" else 100,
            first=first,
            last=last,
            begins_after=before.cursor if before is not None else "",
            asked_by="" if user is None else name_of(user),
        )
        if user is not None:
            _record(user, "start_diff", run)
        _send(DIFF_WORK, run.pk)
    return run


def pause(run: DiffRun, user: Actor) -> None:
    """Hold it after the chunk at hand."""
    _change(run, user, "pause_diff", (WAITING, RUNNING), state=PAUSED, lease_until=None, worker="", why="")


def resume(run: DiffRun, user: Actor) -> None:
    """Go on with a PAUSED or STOPPED run where it stood."""
    with transaction.atomic():
        _change(run, user, "resume_diff", (PAUSED, STOPPED), state=WAITING, outcome="", why="", lease_until=None, worker="", takeovers=0)
        runs.take_up_rest(run)
        _send(DIFF_WORK, run.pk)


def cancel(run: DiffRun, user: Actor) -> None:
    """Give it up; what it has not covered is NOT_COMPARED."""
    with transaction.atomic():
        was_stopped = DiffRun.objects.filter(pk=run.pk, state=STOPPED).exists()
        ended_at = timezone.now()
        _change(
            run, user, "cancel_diff", (WAITING, RUNNING, PAUSED, STOPPED), state=CANCELLED, lease_until=None, worker="", ended_at=ended_at
        )
        if not was_stopped:  # else the rest is accounted for
            runs.leave_rest(run, "cancelled")


def differences_of(run: DiffRun) -> QuerySet[Difference]:
    """What this run saw, open or gone since."""
    return findings.seen_by(run)


def preview_repair(ids: Sequence[int]) -> list[Preview]:
    """For each of these differences, in the order of the ids, what would be executed now. Raises Refused without a master."""
    databases = _databases()
    chosen = _chosen(ids)
    with _master(databases) as master:
        try:
            plans = [repairs.plan(db_interface(), each, databases.user_schema, master) for each in chosen]
        except CannotCompare as error:
            raise Refused(str(error)) from error
    return [Preview(each, plan.statements, plan.why_not) for each, plan in zip(chosen, plans, strict=True)]


def repair(ids: Iterable[int], user: Actor, reason: str) -> list[Repaired]:
    """Mend them through the finish queue, one after the other; audited; asks for a recheck. Takes at most 100 (else Refused)."""
    schema = _databases().user_schema
    mended = [_repair(each, schema, user, reason) for each in _chosen(list(ids))]
    recheck([each.difference.pk for each in mended if not each.error])
    return mended


def recheck(ids: Iterable[int]) -> None:
    """Compare these keys again, by Celery; what is equal now becomes GONE."""
    chosen = list(ids)
    if chosen:
        _send(DIFF_RECHECK, chosen)


def _repair(difference: Difference, user_schema: str, user: Actor, reason: str) -> Repaired:
    """One repair. The audit log is written before it is known whether the replica has it: the statement was executed."""
    error, statements = "", []
    if difference.state == GONE:
        return Repaired(difference, _("It does not differ any more."))
    if difference.schema != user_schema:
        error = _("%(schema)s is not the DBSvr's to write: the preview says what to run by hand.") % {"schema": difference.schema}
    else:
        try:
            statements = repairs.order(db_interface(), difference).statements
        except DBSvrError as refusal:
            error = str(refusal)
            if refusal.outcome_unknown:
                error = f"{error}; it may have been executed: compare again"
    difference.repaired_by, difference.repair_reason, difference.repair_error = name_of(user), reason[:200], error[:500]
    difference.state = OPEN if error else REPAIRING
    with transaction.atomic():
        difference.save(update_fields=["repaired_by", "repair_reason", "repair_error", "state"])
        after = {"statements": statements, **({"error": error} if error else {})}
        record(user, "repair_row", "difference", str(difference.pk), before=_rows(difference), after=after, note=reason)
    return Repaired(difference, error)


def _rows(difference: Difference) -> dict[str, object]:
    where = {"replica": difference.replica, "table": f"{difference.schema}.{difference.table}", "key": difference.key}
    return {**where, "on_master": difference.master_row, "on_replica": difference.replica_row}


def _chosen(ids: Sequence[int]) -> list[Difference]:
    if len(ids) > MOST_REPAIRS:
        raise Refused(_("At most %(most)s rows are repaired at once; for more, rebuild the replica.") % {"most": MOST_REPAIRS})
    found = Difference.objects.in_bulk(list(ids))
    return [found[each] for each in dict.fromkeys(ids) if each in found]


def _change(run: DiffRun, user: Actor, action: str, states: tuple[str, ...], **fields: object) -> None:
    """On condition: a worker, or another operator, may have been quicker."""
    with transaction.atomic():
        if not DiffRun.objects.filter(pk=run.pk, state__in=states).update(**fields):
            run.refresh_from_db()
            raise Refused(_("That cannot be done now: the run is %(state)s.") % {"state": _STATE_WORDS[run.state]})
        run.refresh_from_db()
        _record(user, action, run)


def _record(user: Actor, action: str, run: DiffRun) -> None:
    what = {"replica": run.replica, "table": run.table, "first": run.first, "last": run.last, "kind": run.kind, "state": run.state}
    record(user, action, "diff", str(run.pk), after=what)


def _send(task: str, argument: object) -> None:
    """After the commit. A broker that is away costs five seconds, not the run: the schedule sends on what nobody works on."""

    def send() -> None:
        try:
            current_app.send_task(task, (argument,), ignore_result=True)
        except OperationalError as error:
            log.warning("the broker cannot be reached task=%s error=%s", task, error)

    transaction.on_commit(send)


def _last_sample(replica: str, schema: str, table: str) -> DiffRun | None:
    return DiffRun.objects.filter(replica=replica, schema=schema, table=table, kind="sample", first="", last="", state=ENDED).last()


def _check_bounds(databases: Databases, schema: str, name: str, first: str, last: str) -> None:
    if not (first or last):
        return
    with _master(databases) as master:
        try:
            table = master.shape(schema, name)
        except CannotCompare as error:
            raise Refused(str(error)) from error
    if table.key and (why := why_bad_bound(table.key[0], first) or why_bad_bound(table.key[0], last)):
        raise Refused(why)


def _master(databases: Databases) -> closing[Server]:
    try:
        return closing(open_master(databases))
    except CannotCompare as error:
        raise Refused(_("The master cannot be asked: %(why)s") % {"why": error}) from error


def _databases() -> Databases:
    configured: Databases = settings.CONFIGURATION.databases
    return configured
