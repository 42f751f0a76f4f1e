"""The state row: what is so now, written by the sampler once a second, read by every web process.

One row and one number, `seq`, which rises with each writing. A browser that has seen this number has seen everything.
"""

from __future__ import annotations

import msgspec

from apps.dbsvr.cache_rules import CacheNow
from apps.dbsvr.canary_rules import CanaryNow
from apps.dbsvr.figures import Figures
from apps.dbsvr.findings import UNKNOWN, Finding
from apps.dbsvr.judge import Judgement
from apps.dbsvr.models import ConsoleState
from apps.dbsvr.rule import Most


class InstanceNow(msgspec.Struct, frozen=True):
    """One DBSvr: its newest known figures, smoothed over a few seconds, and when they were so."""

    figures: Figures | None = None
    at: float | None = None
    answers: bool = False


class State(msgspec.Struct, frozen=True):
    seq: int
    judged_at: float
    light: str = UNKNOWN
    findings: tuple[Finding, ...] = ()
    instances: dict[str, InstanceNow] = {}
    most: dict[str, Most] = {}
    canary: CanaryNow | None = None
    cache: CacheNow | None = None

    @property
    def judgement(self) -> Judgement:
        return Judgement(self.findings, self.most)


encode_state = msgspec.json.encode
_decode = msgspec.json.Decoder(State).decode


def decode_state(document: bytes | None) -> State | None:
    """None when there is no document, or a sampler of another version wrote it."""
    try:
        return None if document is None else _decode(document)
    except msgspec.MsgspecError:
        return None


def read_state() -> State | None:
    """The newest state; None when no sampler has ever written one."""
    row = ConsoleState.objects.filter(pk=ConsoleState.ONLY).first()
    return None if row is None else decode_state(bytes(row.document))


def write_state(state: State) -> None:
    """Write over the row. Only the sampler that holds the lock calls this."""
    row = ConsoleState(id=ConsoleState.ONLY, seq=state.seq, judged_at=state.judged_at, document=encode_state(state))
    ConsoleState.objects.bulk_create([row], update_conflicts=True, update_fields=["seq", "judged_at", "document"])
