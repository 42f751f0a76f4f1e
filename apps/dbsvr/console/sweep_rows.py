"""From the sweeps to the texts of their table on the page Replica diff. Reads no database."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dbsvr.quantities import count
from apps.dbsvr.sweeps.models import Sweep


class SweepRow(NamedTuple):
    """`well`: the shape before the state's word."""

    table: str
    well: str
    state: str
    ended_at: datetime | None
    removed: str
    oldest: date | None


def sweep_rows(sweeps: Iterable[Sweep]) -> list[SweepRow]:
    return [
        SweepRow(
            table=it.table,
            well="no" if it.error else "todo" if it.is_under_way else "yes",
            state=_state(it),
            ended_at=it.ended_at,
            removed=ngettext("%(count)s row", "%(count)s rows", it.removed) % {"count": count(it.removed)},
            oldest=it.oldest,
        )
        for it in sweeps
    ]


def _state(it: Sweep) -> str:
    if it.error:
        return _("cannot go on: %(why)s") % {"why": it.error}
    if it.is_under_way:
        return it.waits or _("is being swept")
    return _("swept") if it.ended_at else _("not swept yet")
