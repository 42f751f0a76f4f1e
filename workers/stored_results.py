"""What a write has done, as it is stored with its event id: a third of the JSON that is answered, since every event keeps it for a month.

Pure. A list for each change, `[task, period, progress, state's number, completed_now, points, …]` in the order of `ChangeResult`, without
what is as usual at its end. What earlier versions have stored is the answered JSON itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from workers.changes import encode_results
from workers.protocol import IN_PROGRESS, ChangeResult
from workers.users import STATES

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[list[Any]]).decode
_USUAL = (0, False, 0, 0, False, "", "")
"""State, completed_now, points, granted, claimed_now, refused, about."""


def shortened(results: Sequence[ChangeResult]) -> bytes:
    return b"[%b]" % b",".join(map(_short, results))


def answered(stored: bytes) -> bytes:
    """The JSON of `ChangeResult`s that an answer has."""
    if not stored.startswith(b"[["):
        return stored
    results = []
    for task, period, progress, *rest in _decode(stored):
        values: list[Any] = [*rest, *_USUAL[len(rest) :]]
        results.append(ChangeResult(task, period, progress, STATES[values[0]], *values[1:]))
    return encode_results(results)


def _short(it: ChangeResult) -> bytes:
    if it.state == IN_PROGRESS and not (it.points or it.granted or it.claimed_now or it.refused):
        return b'[%d,"%b",%d]' % (it.task, it.period.encode(), it.progress)  # as most are; a period needs no escaping
    values = [STATES.index(it.state), it.completed_now, it.points, it.granted, it.claimed_now, it.refused, it.about]
    while values and values[-1] == _USUAL[len(values) - 1]:
        values.pop()
    return _encode([it.task, it.period, it.progress, *values])
