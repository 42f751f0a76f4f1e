"""A user's profile as it lies on his cache node: each value with the moments at which it was said and last asked for.

Pure. A value is *fresh* for its attribute's time to live after the system said it. After that it is *due*: the system is asked, and what it
says takes its place. Does the system not answer, or leaves the attribute out, the old value stands for `stale_ms` more; after that it
is unknown. What was left out is asked for again after AGAIN_MS.

Moments are epoch ms of the logic nodes' clocks. A clock that steps makes values due sooner or later by as much; one from the future is due.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from apps.tasks.profiles.asked import Asked

AGAIN_MS = 10_000
"""So long an attribute that the system has left out is not asked for again."""
CLOCKS_APART_MS = 5_000
"""Hosts' clocks may differ by so much."""
LONGEST_TEXT = 1_000
NO_TYPE: list[object] = []
"""Stands for a value that is of no attribute's type (an object, a list, a text without end): it is unknown as one of a wrong type."""


class KeptValue(msgspec.Struct, frozen=True, array_like=True):
    value: Any
    said_ms: int
    """0: the system has never said it."""
    asked_ms: int


Kept = dict[str, KeptValue]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Kept).decode


class Values(NamedTuple):
    """What may be used. `outdated`: values whose time to live has passed, which the system has not replaced."""

    attributes: dict[str, object]
    outdated: frozenset[str]


def encode_kept(kept: Kept) -> bytes:
    return _encode(kept)


def decode_kept(text: bytes | None) -> Kept:
    """Nothing for what is not ours, or of another version."""
    if text is None:
        return {}
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def due(kept: Kept, asked: Asked, now_ms: int) -> tuple[str, ...]:
    """Of what is asked for, what the profile system must be asked for."""
    return tuple(name for name, ttl_ms in asked.items() if not _is_fresh(kept.get(name), ttl_ms, now_ms))


def _is_fresh(value: KeptValue | None, ttl_ms: int, now_ms: int) -> bool:
    if value is None or value.asked_ms > now_ms + CLOCKS_APART_MS:
        return False
    return now_ms - value.said_ms < ttl_ms or now_ms - value.asked_ms < min(ttl_ms, AGAIN_MS)


def usable(kept: Kept, asked: Asked, stale_ms: int, now_ms: int) -> Values:
    attributes, outdated = {}, []
    for name, ttl_ms in asked.items():
        value = kept.get(name)
        if value is None or value.value is None:
            continue
        age_ms = now_ms - value.said_ms
        if age_ms >= ttl_ms:
            if age_ms >= ttl_ms + stale_ms:
                continue
            outdated.append(name)
        attributes[name] = value.value
    return Values(attributes, frozenset(outdated))


def take(kept: Kept, said: Mapping[str, object], names: Iterable[str], now_ms: int) -> Kept:
    """What is kept after the system was asked for `names` and said this. None is a word: there is no value. Absence is none."""
    taken = dict(kept)
    for name in names:
        if name in said:
            taken[name] = KeptValue(_bounded(said[name]), now_ms, now_ms)
        else:
            was = kept.get(name)
            taken[name] = KeptValue(None, 0, now_ms) if was is None else KeptValue(was.value, was.said_ms, now_ms)
    return taken


def without_forgotten(kept: Kept, life_ms: int, now_ms: int) -> Kept:
    """Without what nobody has asked for as long as it could be of use: attributes that tasks have ceased to ask for."""
    return {name: value for name, value in kept.items() if now_ms - value.asked_ms < life_ms}


def life_ms(asked: Asked, stale_ms: int) -> int:
    """How long a node keeps it all."""
    return max([*asked.values(), AGAIN_MS]) + stale_ms


def _bounded(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else NO_TYPE
    return value if value is None or isinstance(value, bool | int | float) else NO_TYPE
