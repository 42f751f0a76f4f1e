"""A snapshot's JSON, built by the workers by hand: it is the hottest code of the system.

Pure. Column values come in as the text that the database sends, so that no number is parsed only to be printed again. The
strings among them were checked on their way into the database (periods) or come from us (states), and need no escaping.
`open_snapshots` leaves the last brace off, so that the front can append who served the read, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workers.known_snapshots import Versioned
from workers.users import STATES, Record, RecordKey, User

_STATE = {str(number).encode(): state.encode() for number, state in enumerate(STATES)}
_OPEN = b'{"uid":%b,"generation":%b,"version":%b,"points":%b,"tasks":[%b]'
_TASK = b'{"task":%b,"period":"%b","progress":%b,"state":"%b","completed_at":%b,"claimed_at":%b,"revision":%b%b}'


def open_snapshots(rows: Iterable[Sequence[Any]], generation: bytes, uids: Iterable[int]) -> dict[int, Versioned]:
    """All but the closing of each of these users' snapshots; who is in no row is of version 0 and without tasks.

    `rows`: two columns that say nothing of users, then uid, version, points, and of one of his tasks its number, period, progress, state
    (a number), completed_at, claimed_at, revision and granted. One loop without a call: a call for each task cost as much as the rest.
    """
    users: dict[bytes | None, tuple[bytes, bytes, list[bytes]]] = {}
    last: bytes | None = None
    tasks: list[bytes] = []
    for _, _, uid, version, points, task, period, progress, state, completed_at, claimed_at, revision, granted in rows:
        if uid != last:
            if uid not in users:
                users[uid] = version, points, []
            last, tasks = uid, users[uid][2]
        if task is not None:
            # Most have granted nothing, and need not say so.
            more = b"" if granted == b"0" else b',"granted":%b' % granted
            tasks.append(_TASK % (task, period, progress, _STATE[state], completed_at or b"null", claimed_at or b"null", revision, more))
    snapshots = {}
    for number in uids:
        text = b"%d" % number
        version, points, tasks = users.get(text) or (b"0", b"0", [])
        snapshots[number] = version, _OPEN % (text, generation, version, points, b",".join(tasks))
    return snapshots


def user_snapshot(user: User, generation: int) -> bytes:
    """The open snapshot of a user to whom changes have just been applied."""
    tasks = ",".join([record.json or _keep_json(key, record) for key, record in sorted(user.tasks.items())])
    return (f'{{"uid":{user.uid},"generation":{generation},"version":{user.version},"points":{user.points},"tasks":[{tasks}]').encode()


def _keep_json(key: RecordKey, record: Record) -> str:
    """A user's other records stay as they are from write to write."""
    record.json = (
        f'{{"task":{key[0]},"period":"{key[1]}","progress":{record.progress},"state":"{record.state}",'
        f'"completed_at":{_number(record.completed_at)},"claimed_at":{_number(record.claimed_at)},"revision":{record.revision}'
        + (f',"granted":{record.granted}}}' if record.granted else "}")
    )
    return record.json


def closing(served_by: str, reason: str | None, storable: bool) -> bytes:
    """The end of a snapshot: what the front adds, and what is never cached."""
    why = "null" if reason is None else f'"{reason}"'
    return f',"served_by":"{served_by}","reason":{why},"storable":{"true" if storable else "false"}}}'.encode()


_WRITTEN = closing("master", None, False)


def write_answer(applied: bool, results: bytes, base_version: int, snapshot: bytes, purge: list[str]) -> bytes:
    """Answer to a write; `purge` names cache nodes. Its snapshot is not storable by itself: the asker's node has a script of its own."""
    return b'{"applied":%b,"results":%b,"base_version":%d,"snapshot":%b%b,"purge":[%b]}' % (
        b"true" if applied else b"false",
        results,
        base_version,
        snapshot,
        _WRITTEN,
        b",".join([b'"%b"' % node.encode() for node in purge]),
    )


def _number(number: int | None) -> int | str:
    return "null" if number is None else number
