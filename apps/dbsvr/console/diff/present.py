"""From runs and differences to the texts of the page Replica diff. Reads no database; what is known of a run's stretches is passed in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dbsvr.console.diff.rows import Column, key_words, side_by_side
from apps.dbsvr.diff import models
from apps.dbsvr.diff.models import Difference, DiffRun
from apps.dbsvr.quantities import about, count, duration, share
from tasksys_site.configuration import Diff

ACTIVE = (models.WAITING, models.RUNNING)
UNDECIDED = (*ACTIVE, models.PAUSED, models.STOPPED)
UNKNOWN = "?"


class Stretches(NamedTuple):
    """What a run has covered so far. `unknown`: stretches that were not compared, of which nobody knows how many rows they have."""

    equal_rows: int = 0
    different_rows: int = 0
    skipped_rows: int = 0
    unknown: int = 0
    reasons: tuple[tuple[str, int | None], ...] = ()
    """Why not compared, and how many rows, None where that is not known; the most first."""


class RunRow(NamedTuple):
    """`well`: the shape before the state's word. `changes`: what may be done with it now."""

    number: int
    replica: str
    table: str
    what: str
    well: str
    state: str
    why: str
    percent: int | None
    progress: str
    coverage: str
    reasons: tuple[str, ...]
    differences: int
    found: str
    asked_by: str
    at: datetime
    changes: tuple[str, ...]
    is_active: bool


def run_row(run: DiffRun, stretches: Stretches, language: str) -> RunRow:
    progress = run.progress
    return RunRow(
        number=run.pk,
        replica=run.replica,
        table=f"{run.schema}.{run.table}",
        what=_range(run),
        well=_well(run),
        state=_state(run),
        why=_why(run, stretches),
        percent=None if progress is None else int(progress * 100),
        progress=_progress(run, language),
        coverage=_coverage(run, stretches, language),
        reasons=tuple(_reason(why, rows) for why, rows in stretches.reasons),
        differences=run.differences,
        found=_found(run),
        asked_by=run.asked_by or _("the schedule"),
        at=run.ended_at or run.started_at or run.created_at,
        changes=_changes(run),
        is_active=run.state in ACTIVE,
    )


def _range(run: DiffRun) -> str:
    if run.kind == "sample":
        rows = _("a sample of %(percent)s %%") % {"percent": f"{run.sample_percent:g}"}
    else:
        rows = _("all rows")
    if run.first and run.last:
        return _("%(rows)s from %(first)s to %(last)s") % {"rows": rows, "first": run.first, "last": run.last}
    if run.first:
        return _("%(rows)s from %(first)s on") % {"rows": rows, "first": run.first}
    if run.last:
        return _("%(rows)s up to %(last)s") % {"rows": rows, "last": run.last}
    return rows


def _why(run: DiffRun, stretches: Stretches) -> str:
    """What it waits for, or what keeps it; said once, when a stretch gives the same reason."""
    if run.state not in UNDECIDED and run.outcome != models.NOT_COMPARED:
        return ""
    return "" if any(run.why == reason for reason, _rows in stretches.reasons) else run.why


def _well(run: DiffRun) -> str:
    if run.outcome == models.EQUAL:
        return "yes"
    if run.outcome == models.DIFFERENT or run.differences:
        return "no"
    return "todo" if run.state in ACTIVE else "unknown"


def _state(run: DiffRun) -> str:
    if run.state in (models.ENDED, models.CANCELLED) and run.outcome:
        outcomes = {models.EQUAL: _("equal"), models.DIFFERENT: _("different"), models.NOT_COMPARED: _("not compared")}
        word = outcomes.get(run.outcome, run.outcome)
        return _("%(outcome)s, cancelled") % {"outcome": word} if run.state == models.CANCELLED else word
    words = {
        models.WAITING: _("waits for a worker"),
        models.RUNNING: _("is being compared"),
        models.PAUSED: _("paused"),
        models.STOPPED: _("stopped"),
        models.ENDED: _("ended"),
        models.CANCELLED: _("cancelled"),
    }
    return words.get(run.state, run.state)


def _progress(run: DiffRun, language: str) -> str:
    if run.state not in UNDECIDED:
        return ""
    if run.progress is None:
        return _("%(rows)s rows so far") % {"rows": count(run.rows_compared)}
    text = share(run.progress, language)
    if run.eta_s is None:
        return text
    return _("%(share)s, about %(left)s left") % {"share": text, "left": about(run.eta_s * 1000, language)}


def _coverage(run: DiffRun, it: Stretches, language: str) -> str:
    """How much of what was to be compared was: never more than is known."""
    compared = it.equal_rows + it.different_rows
    if not compared and not it.skipped_rows and not it.unknown and run.state in UNDECIDED:
        return ""
    if run.state in UNDECIDED:
        return _("%(rows)s rows compared") % {"rows": count(compared)}
    if it.unknown:
        return _("%(rows)s rows compared, an unknown number not") % {"rows": count(compared)}
    skipped = it.skipped_rows + run.keys_not_compared
    if not skipped:
        if run.outcome == models.NOT_COMPARED:
            return _("nothing was compared") if not compared else _("%(rows)s rows compared") % {"rows": count(compared)}
        return _("100 %% compared: %(rows)s rows") % {"rows": count(compared)}
    # Rounded down: nothing short of the whole is said to be the whole.
    part = min(compared / (compared + skipped), 0.999)
    return _("%(share)s compared: %(rows)s rows; %(skipped)s not") % {
        "share": share(int(part * 1000) / 1000, language, 1),
        "rows": count(compared),
        "skipped": count(skipped),
    }


def _reason(why: str, rows: int | None) -> str:
    if rows is None:
        return _("not compared: %(why)s") % {"why": why}
    return ngettext("%(rows)s row not compared: %(why)s", "%(rows)s rows not compared: %(why)s", rows) % {"rows": count(rows), "why": why}


def _found(run: DiffRun) -> str:
    if not run.differences:
        return _("none") if run.outcome == models.EQUAL else _("none so far") if run.state in UNDECIDED else _("none found")
    return ngettext("%(count)s row differed", "%(count)s rows differed", run.differences) % {"count": count(run.differences)}


def _changes(run: DiffRun) -> tuple[str, ...]:
    match run.state:
        case models.WAITING | models.RUNNING:
            return ("pause", "cancel")
        case models.PAUSED | models.STOPPED:
            return ("resume", "cancel")
    return ()


class DifferenceRow(NamedTuple):
    number: int
    table: str
    key: str
    kind: str
    columns: list[Column]
    state: str
    well: str
    first_seen_at: datetime
    last_seen_at: datetime
    error: str
    repaired_by: str
    reason: str
    may_be_chosen: bool
    replica: str


def difference_rows(differences: Iterable[Difference]) -> list[DifferenceRow]:
    return [difference_row(it) for it in differences]


def difference_row(it: Difference) -> DifferenceRow:
    kinds = {
        models.CHANGED: _("is not the same on the replica"),
        models.MISSING: _("is missing on the replica"),
        models.EXTRA: _("is on the replica alone"),
    }
    if it.state == models.GONE:
        kinds = {
            models.CHANGED: _("was not the same on the replica"),
            models.MISSING: _("was missing on the replica"),
            models.EXTRA: _("was on the replica alone"),
        }
    states = {models.OPEN: _("still there"), models.REPAIRING: _("being repaired"), models.GONE: _("gone: equal now")}
    return DifferenceRow(
        number=it.pk,
        table=f"{it.schema}.{it.table}",
        key=key_words(it.key),
        kind=kinds.get(it.kind, it.kind),
        columns=side_by_side(it.master_row, it.replica_row),
        state=states.get(it.state, it.state),
        well={models.OPEN: "no", models.REPAIRING: "todo", models.GONE: "yes"}.get(it.state, "unknown"),
        first_seen_at=it.first_seen_at,
        last_seen_at=it.last_seen_at if it.gone_at is None else it.gone_at,
        error=it.repair_error,
        repaired_by=it.repaired_by,
        reason=it.repair_reason,
        may_be_chosen=it.state == models.OPEN,
        replica=it.replica,
    )


class PreviewRow(NamedTuple):
    """What the DBSvr would do for one of them. `by_hand`: why it may not; nothing is done then."""

    difference: DifferenceRow
    deed: str
    statements: Sequence[str]
    by_hand: str


def deed(it: Difference) -> str:
    if it.kind == models.EXTRA:
        return _("The DBSvr deletes this row on every replica; the master has none.")
    if it.kind == models.MISSING:
        return _("The DBSvr writes the master's row again, and every replica that lacks it gets it.")
    return _("The DBSvr writes the master's row again, and every replica takes it in place of its own.")


def schedule_rows(settings: Diff, language: str) -> list[tuple[str, str]]:
    """What happens by itself: names and values."""
    nightly = _("every night at %(at)s UTC") % {"at": settings.nightly_at} if settings.nightly_at else _("never")
    above = settings.hold_above
    held = ngettext("above %(count)s row", "above %(count)s rows", above) % {"count": count(above)} if above else _("never")
    return [
        (_("Samples begin"), nightly),
        (_("Of each table's rows a night"), share(settings.sample_percent / 100, language)),
        (_("A chunk costs each server at most"), duration(settings.budget_ms, language)),
        (_("Waits while the replica is behind by more than"), duration(settings.max_lag_ms, language)),
        (_("Waits while more requests wait in a DBSvr than"), count(settings.max_queue)),
        (_("Stops the use of a replica that differs"), held),
    ]


def sentence(row: RunRow) -> str:
    """The page's first line for a run: what came of it, how much was compared, how many rows differ."""
    parts = [row.state, row.coverage or row.progress, row.found if row.differences else ""]
    return ", ".join(part for part in parts if part)
