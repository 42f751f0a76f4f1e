"""The replicas on the page Replica diff: used or held, by whom and why, and how many rows are known to differ."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dbsvr import holds
from apps.dbsvr.console.diff.frame import replicas
from apps.dbsvr.console.diff.selectors import open_differences
from apps.dbsvr.quantities import count


class ReplicaRow(NamedTuple):
    name: str
    well: str
    use: str
    reason: str
    since_at: datetime | None
    differences: str
    differs: bool
    is_held: bool
    is_known: bool


def replica_rows() -> list[ReplicaRow]:
    held, differing = holds.held_replicas(), open_differences()
    return [_row(name, held, differing.get(name, 0)) for name in replicas()]


def _row(name: str, held: dict[str, holds.Held] | None, differing: int) -> ReplicaRow:
    words = (
        ngettext("%(count)s row differs", "%(count)s rows differ", differing) % {"count": count(differing)}
        if differing
        else _("none known")
    )
    if held is None:
        return ReplicaRow(name, "unknown", _("unknown: the master does not answer"), "", None, words, bool(differing), False, False)
    hold = held.get(name)
    if hold is None:
        return ReplicaRow(name, "yes", _("in use"), "", None, words, bool(differing), False, True)
    since_at = datetime.fromtimestamp(hold.since_ms / 1000, timezone.utc)
    use = _("not used: held by %(by)s") % {"by": hold.by}
    return ReplicaRow(name, "no", use, hold.reason, since_at, words, bool(differing), True, True)
