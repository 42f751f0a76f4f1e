"""All changes to a cache node, as Lua scripts: each runs whole or not at all, whatever else goes on.

Keys of one user, with the uid as hash tag: `c:{uid}` his copy, `k:{uid}` the fill token. A copy's text begins with
`generation:version` and a line feed, so that a script can compare ages without reading JSON; the body follows. `p:{uid}` is what the
profile system said of him; a purge takes it along, so that a node that was away when a user was erased loses it with the purge that waits.

A script looks at the beginning of a copy alone: handing a whole one to Lua costs as much as all the rest of it. A copy is never empty.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

HEAD_BYTES = 48
"""Of a copy: more than two numbers of 64 bits take."""

_HEAD = f"""
local head = redis.call('GETRANGE', KEYS[1], 0, {HEAD_BYTES - 1})
"""

_OLDER = """
local function older(generation, version)
    local g, v = string.match(head, '^(%d+):(%d+)\\n')
    if not g then return true end
    g, v = tonumber(g), tonumber(v)
    return g < generation or (g == generation and v < version)
end
"""

LEAVE_TOKEN = """
local copy = redis.call('GET', KEYS[1])
if copy then return copy end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0
"""
"""After a miss. ARGV: token, its life in ms.

The copy, if one has come meanwhile; 1 when the token is ours; 0 when somebody else fills.
"""

DROP_TOKEN = """
if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('DEL', KEYS[2]) end
return 0
"""
"""Our token goes, unused. ARGV: token."""

FILL = (
    """
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'no token' end
redis.call('DEL', KEYS[2])
"""
    + _HEAD
    + _OLDER
    + """
if head ~= '' and not older(tonumber(ARGV[2]), tonumber(ARGV[3])) then return 'not newer' end
redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
return 'stored'
"""
)
"""Store what was read, only while the very token is there, only over an older copy.

ARGV: token, generation, version, copy, its life in ms.
"""

SETTLE = (
    """
redis.call('DEL', KEYS[2])
"""
    + _HEAD
    + """
if head == '' then return 'none' end
if string.sub(head, 1, #ARGV[1]) == ARGV[1] then
    redis.call('SET', KEYS[1], ARGV[4], 'KEEPTTL')
    return 'replaced'
end
"""
    + _OLDER
    + """
if older(tonumber(ARGV[2]), tonumber(ARGV[3])) then
    redis.call('DEL', KEYS[1])
    return 'deleted'
end
return 'kept'
"""
)
"""After a write. ARGV: head of the copy that the write was applied on, generation, version, new copy.

All tokens go, so no read that began before can store its answer. The copy is replaced only if it is the very version that
the write was applied on; any other older one is deleted; none is created. Its life is not made longer: a settle may come very late
(its node or its process was frozen), and the trail forgets a node when the life of what was filled there has passed.
"""

PURGE = (
    _HEAD
    + _OLDER
    + """
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[3]) ~= 'forgotten' then redis.call('DEL', KEYS[3]) end
if head ~= '' and older(tonumber(ARGV[1]), tonumber(ARGV[2])) then return redis.call('DEL', KEYS[1]) end
return 0
"""
)
"""All tokens go, the profile, and the copy if it is older. ARGV: generation, version. Late, twice or out of order it does no harm."""

FORGOTTEN = b"forgotten"
"""Stands in a profile's place for a while after its user was erased: what was on its way then is not kept."""

PUT_PROFILE = """
if redis.call('GET', KEYS[3]) == 'forgotten' then return 0 end
redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
return 1
"""
"""ARGV: the profile, its life in ms."""


@lru_cache(maxsize=16)
def digest(script: str) -> str:
    """By which a node knows the script after its first time."""
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()


def keys(uid: int) -> tuple[str, str, str]:
    """The keys of the user's copy, of his fill token, and of his profile."""
    return f"c:{{{uid}}}", f"k:{{{uid}}}", f"p:{{{uid}}}"
