"""Doubles of `doubles` that break the rules of a pair, INV 12 and 13; see there."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from workers.ownership import Ownership
from workers.user_info import UserInfo


def plain_fence() -> None:
    """Who owns what is looked at in the write transaction, and not held."""
    from workers import segment_rows, store

    lock_owned, fence_owned = store.lock_owned, segment_rows.fence_owned
    store.lock_owned = lambda instance: lock_owned(instance).replace(" LOCK IN SHARE MODE", "")
    store.fence_owned = lambda *rest: tuple(each.replace(b" LOCK IN SHARE MODE", b"") for each in fence_owned(*rest))


def no_fence() -> None:
    """What the front has accepted is written, whoever owns the user by then."""
    from workers import store
    from workers.write_transaction import WriteTransaction

    WriteTransaction._split = lambda self, due, owned: (list(due), [])  # type: ignore[method-assign]
    store.fence_owned = lambda *anything: (b"DO 0", b"DO 0")


def without_quota_lock() -> None:
    """What all users have used of a cap is looked at, not held. The first look is old when it decides, b's so old that a has committed."""
    from workers import store

    whiles = iter([1.5 if "b" in sys.argv else 0.5])

    def look(connection: Any, keys: Any, patience_s: int) -> dict[Any, int]:
        rows = connection.rows("SELECT task_id, period_key, used FROM task_quota")
        time.sleep(next(whiles, 0.0))
        return dict.fromkeys(keys, 0) | {(task, key): used for task, key, used in rows}

    store.lock_quotas = look


def without_lease() -> None:
    """Who was the owner at his last look may use replicas for ever."""

    def is_sure(self: Ownership, uid: int, now: float) -> bool:
        return self.is_ours(uid)

    Ownership.is_sure = is_sure  # type: ignore[method-assign]


class _AtOnce(dict[Any, float]):
    def setdefault(self, key: Any, default: float = 0.0) -> float:
        return super().setdefault(key, 0.0)


def without_lease_wait() -> None:
    """Who takes over serves and writes at once."""
    from workers.segment_keeper import SegmentKeeper

    intact = SegmentKeeper.__init__

    def begin(self: Any, *rest: Any) -> None:
        intact(self, *rest)
        self._ready_at = _AtOnce()

    SegmentKeeper.__init__ = begin  # type: ignore[method-assign]


class _WithoutTakeoverFloor(UserInfo):
    def raise_floor(self, tick: int, cause: str) -> None:
        if cause != "takeover":
            super().raise_floor(tick, cause)


def without_takeover_floor() -> None:
    """Users who were taken over keep the floor that there was."""
    from workers import dispatch

    dispatch.UserInfo = _WithoutTakeoverFloor  # type: ignore[misc]


def stops_after_loading() -> None:
    """Not broken: it freezes in its transaction when it has loaded the users, and not written them; the transaction may idle for long."""
    from workers import database, store

    database.IDLE_TRANSACTION_S = 4
    load = store.load

    def stopping(*rest: Any) -> Any:
        loaded = load(*rest)
        os.kill(os.getpid(), signal.SIGSTOP)
        return loaded

    store.load = stopping


def stops_before_sending() -> None:
    """Not broken: it freezes when it has applied a write to a user whom it knows, and not sent it."""
    from workers import store

    send_transaction = store.send_transaction

    def stopping(connection: Any, instance: str, epoch: int, generation: int, owned: Any, *rest: Any) -> None:
        if owned is not None:
            os.kill(os.getpid(), signal.SIGSTOP)
        send_transaction(connection, instance, epoch, generation, owned, *rest)

    store.send_transaction = stopping
