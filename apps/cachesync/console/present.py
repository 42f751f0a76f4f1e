"""From what is known of the cache nodes to the texts of the page Cache. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import NamedTuple

from django.utils.translation import gettext as _

from apps.cachesync.models import DRAINING, IN_USE, JOINING
from apps.cachesync.registry import SETTLED_AFTER_S
from apps.cachesync.summary import NodeDetails
from apps.dbsvr.quantities import clock, count, duration, share

UNKNOWN = "?"
MIB = 1024 * 1024


class NodeRow(NamedTuple):
    """`well`: the shape before the state's word. `changes`: what may be done with it now."""

    name: str
    url: str
    well: str
    state: str
    note: str
    hit_ratio: str
    copies: str
    memory: str
    pending: str
    oldest: str
    share: str
    refused: str
    changes: tuple[str, ...]


def present(nodes: Sequence[NodeDetails], now: float, zone: tzinfo, language: str) -> list[NodeRow]:
    return [_row(node, now, zone, language) for node in nodes]


def _row(node: NodeDetails, now: float, zone: tzinfo, language: str) -> NodeRow:
    words = {JOINING: _("joining"), IN_USE: _("in use"), DRAINING: _("drained")}
    well, state, note = "yes", words.get(node.state, node.state), ""
    if node.answers is False:
        well = "no"
        note = _("no answer since %(at)s: its users are served by the next node") % {"at": clock(node.since or now, zone)}
    elif node.state != IN_USE or node.answers is None:
        well = "unknown"
    changes: tuple[str, ...] = ("drain",)
    if node.state == DRAINING:
        # Until everybody has heard that it is drained, purges for it must go on.
        changes = ("use", "remove") if now - node.changed_at > SETTLED_AFTER_S + 1 else ("use",)
    memory = UNKNOWN if node.memory_bytes is None else _("%(used)s MiB") % {"used": count(node.memory_bytes // MIB)}
    if node.memory_bytes is not None and node.max_memory_bytes:
        memory = _("%(used)s of %(most)s MiB") % {"used": count(node.memory_bytes // MIB), "most": count(node.max_memory_bytes // MIB)}
    return NodeRow(
        name=node.name,
        url=node.url,
        well=well,
        state=state,
        note=note,
        hit_ratio=_("no reads") if node.hit_ratio is None else share(node.hit_ratio, language, 1),
        copies=UNKNOWN if node.copies is None else count(node.copies),
        memory=memory,
        pending=count(node.pending),
        oldest=_("none") if node.oldest_s is None else duration(node.oldest_s * 1000, language),
        share="0" if node.share is None else share(node.share, language, 1),
        refused=count(node.refused),
        changes=changes,
    )
