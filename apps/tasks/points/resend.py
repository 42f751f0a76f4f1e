"""Sending grants again that were given up or refused: by an operator, audited. The grant's id stays, so nothing can count twice."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from apps.tasks.points.provider import KIND
from apps.tasks.points.rows import USERDATA, cursor_of_userdata
from apps.tasks.points.states import MAY_BE_SENT_AGAIN, State
from apps.tasks.publishing.audit import Actor, record

RESEND = "points_resend"
BATCH = 500
IDS_IN_AUDIT = 100


def resend(actor: Actor, grant_ids: Sequence[str], states: Sequence[State] = MAY_BE_SENT_AGAIN) -> int:
    """Of these grants, those in one of `states` are pending again. How many they were.

    The audit row is committed first, by itself: the two schemas have no common transaction, and a deed without its row would be worse
    than a row whose deed failed.
    """
    chosen = list(dict.fromkeys(grant_ids))
    if not chosen:
        return 0
    before = [state.word for state in states]
    shown = chosen[:IDS_IN_AUDIT]
    record(actor, RESEND, KIND, "", {"state": before}, {"state": State.PENDING.word, "grants": len(chosen), "first": shown})
    return sum(_resend(chosen[first : first + BATCH], states) for first in range(0, len(chosen), BATCH))


def resend_all(actor: Actor, state: State) -> int:
    """Every grant that was in this state now, in batches: the newest that come meanwhile are not waited for."""
    if state not in MAY_BE_SENT_AGAIN:
        return 0
    record(actor, RESEND, KIND, "", {"state": state.word}, {"state": State.PENDING.word, "grants": "all"})
    with cursor_of_userdata() as cursor:
        cursor.execute("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)")
        began_ms = int(cursor.fetchone()[0])
    sent = 0
    while True:
        with cursor_of_userdata() as cursor:
            # Those that fail again meanwhile have settled later: each is taken once, so this ends.
            cursor.execute(
                "SELECT grant_id FROM grant_outbox WHERE state = %s AND settled_ms <= %s LIMIT %s", [int(state), began_ms, BATCH]
            )
            ids = [grant_id for (grant_id,) in cursor.fetchall()]
        changed = _resend(ids, (state,))
        sent += changed
        if not changed:
            return sent


def _resend(grant_ids: Sequence[str], states: Sequence[State]) -> int:
    changed = 0
    marks = ", ".join(["%s"] * len(states))
    with transaction.atomic(using=USERDATA), cursor_of_userdata() as cursor:
        for grant_id in sorted(grant_ids):
            cursor.execute(
                "UPDATE grant_outbox SET state = 0, attempts = 0, due_ms = 0, settled_ms = NULL, error = ''"
                f" WHERE grant_id = %s AND state IN ({marks})",
                [grant_id, *(int(state) for state in states)],
            )
            changed += int(cursor.rowcount)
    return changed
