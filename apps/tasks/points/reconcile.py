"""Reconciliation: one day's grants here against the points system's, kept as a row. Once a day by Celery, and when an operator asks."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, timezone

from apps.tasks.models import PointsReconciliation
from apps.tasks.points.client import PointsClient, PointsUnreadable
from apps.tasks.points.comparing import CONFIRMED, FEW, GIVEN_UP, ON_THE_WAY, Between, OurGrant, OurSums, Sums, may_agree, narrow
from apps.tasks.points.rows import cursor_of_userdata
from apps.tasks.points.states import OPEN, State
from apps.tasks.points.sweep import gone_before
from tasksys_site.configuration import ConfigurationError, Points

NOT_KEPT = "grants from before {day} are not kept (points.keep_days)"
NO_URL = "no points system is configured (points.url)"


def interval_of(day: date) -> Between:
    """In UTC, in ms; the end does not belong to it."""
    begins = datetime.combine(day, time.min, timezone.utc)
    return round(begins.timestamp() * 1000), round((begins + timedelta(days=1)).timestamp() * 1000)


def reconcile(settings: Points, day: date, within_s: float = 600.0) -> PointsReconciliation:
    """Compare and keep the result. What keeps it from comparing is a result too.

    The points system may be slow: after `within_s` no further part is asked for, and the row says that there may be more.
    """
    if (swept := gone_before()) is not None and day < swept:
        return _not_any_more(day, swept)
    until = clock.monotonic() + within_s
    between = interval_of(day)
    ours = our_sums(between)
    row = PointsReconciliation(
        day=day,
        at=datetime.now(timezone.utc),
        outcome=PointsReconciliation.NOT_COMPARED,
        our_grants=ours.confirmed.grants,
        our_points=ours.confirmed.points,
        open_grants=ours.on_the_way.grants,
        open_points=ours.on_the_way.points,
    )
    if not settings.url:
        row.error = NO_URL
    else:
        try:
            client = PointsClient(settings, senders=1)
        except ConfigurationError as error:
            row.error = str(error)[:255]
        else:
            try:
                _compare(client, row, ours, between, until)
            except PointsUnreadable as error:
                row.error = str(error)[:255]
            finally:
                client.close()
    row.save()
    return row


def _not_any_more(day: date, swept: date) -> PointsReconciliation:
    """Grants of that day may be gone: what was found when they were there stands."""
    found = PointsReconciliation.objects.filter(day=day).first()
    if found is None:
        now = datetime.now(timezone.utc)
        why = NOT_KEPT.format(day=swept)
        found = PointsReconciliation.objects.create(day=day, at=now, outcome=PointsReconciliation.NOT_COMPARED, error=why)
    return found


def _compare(client: PointsClient, row: PointsReconciliation, ours: OurSums, between: Between, until: float) -> None:
    """Sums of the whole day first: they may be all that the points system has to say."""
    theirs = Sums(*client.totals_of_day(row.day.isoformat()))
    row.their_grants, row.their_points = theirs
    if theirs == ours.confirmed and not ours.on_the_way.grants:
        row.outcome = PointsReconciliation.EQUAL
        return
    if not may_agree(ours, theirs):
        row.outcome = PointsReconciliation.DIFFERENT  # stands also where it lists no grants
    found = narrow(
        between,
        our_sums,
        lambda part: Sums(*client.totals_between(*part)),
        our_grants,
        lambda part: client.grants_between(*part, most=4 * FEW),
        lambda: clock.monotonic() >= until,
    )
    row.differences, row.more = [list(each) for each in found.differences], found.more
    if found.differences or found.more:
        row.outcome = PointsReconciliation.DIFFERENT
    elif ours.on_the_way.grants:
        row.outcome = PointsReconciliation.OPEN
    else:
        # They differed when the day was summed up, and no longer: something was delivered meanwhile.
        row.outcome = PointsReconciliation.EQUAL


def our_sums(between: Between) -> OurSums:
    """Superseded, rejected and dead grants are not there, and not counted."""
    with cursor_of_userdata() as cursor:
        cursor.execute(
            "SELECT state = %s, COUNT(*), SUM(points) FROM grant_outbox"
            " WHERE created_ms >= %s AND created_ms < %s AND state IN (0, 1, 2, 4) GROUP BY state = %s",
            [int(State.CONFIRMED), *between, int(State.CONFIRMED)],
        )
        sums = {bool(confirmed): Sums(int(count), int(points)) for confirmed, count, points in cursor.fetchall()}
    return OurSums(sums.get(True, Sums(0, 0)), sums.get(False, Sums(0, 0)))


def our_grants(between: Between) -> Mapping[str, OurGrant]:
    """With those that were given up, which may be there all the same: an answer that was lost is no proof."""
    with cursor_of_userdata() as cursor:
        cursor.execute(
            "SELECT grant_id, uid, points, state FROM grant_outbox WHERE created_ms >= %s AND created_ms < %s LIMIT %s",
            [*between, 8 * FEW],
        )
        return {grant_id: OurGrant(int(uid), int(points), _standing(State(state))) for grant_id, uid, points, state in cursor.fetchall()}


def _standing(state: State) -> str:
    if state is State.CONFIRMED:
        return CONFIRMED
    return ON_THE_WAY if state in OPEN else GIVEN_UP
