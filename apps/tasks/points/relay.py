"""The points relay: about a second of delivery at a time, as often as somebody calls `drain`.

A relay keeps nothing that it could lose: what it claims stands in the row with a lease, so after SIGKILL the row counts as indeterminate
when the lease has ended, and is asked again under its id. Two relays at once take different rows. SQL is this thread's; the requests are
made by a pool of threads that know of no database.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import NamedTuple

from django.db import OperationalError

from apps.tasks.models import PointsDrain, Task
from apps.tasks.points import provider, rows
from apps.tasks.points.answers import Answer, Meaning, meaning_of
from apps.tasks.points.client import PointsClient
from apps.tasks.points.moves import ERROR_LENGTH, Move, move_after
from apps.tasks.points.order import next_step, replaced_by_newest
from apps.tasks.points.rest import Rest
from apps.tasks.points.states import Grant, State
from tasksys_site.configuration import Points

log = logging.getLogger(__name__)

DRAIN_S = 1.0
"""Beat asks every second, so one drain follows the other."""
SENDERS = 16
USERS_AT_ONCE = 200
LOOK_EVERY_S = 0.05
LEASE_MARGIN_MS = 5_000


class InFlight(NamedTuple):
    grant: Grant
    sent_at: float


class Relay:
    """One a process. One thread at a time sends; while it waits for the last answers, the next one begins."""

    def __init__(self, settings: Points, senders: int = SENDERS) -> None:
        self._settings = settings
        self._senders = senders
        self._client = PointsClient(settings, senders)
        self._pool = concurrent.futures.ThreadPoolExecutor(senders, thread_name_prefix="points")
        self._rest = Rest()
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        """Of what follows, which drains share."""
        self._in_flight = 0
        self._codes: dict[int, str] = {}
        self._name = f"{socket.gethostname()}:{os.getpid()}"[:100]

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def drain(self, seconds: float = DRAIN_S) -> PointsDrain | None:
        """Deliver what is due for so long, then what is in flight to its end. What was done; None when nothing was."""
        if not self._sending.acquire(timeout=DRAIN_S):
            return None
        try:
            clock = rows.Clock()
            ended = rows.end_leases(clock.now_ms())
            if ended:
                log.warning("grants were sent by a relay that did not say what came of them; they are asked again", extra={"grants": ended})
            if provider.provider().paused or not rows.anything_due(clock.now_ms()):
                return None
            drain = _Drain(self, clock, time.monotonic() + seconds)
            with drain.or_abandoned():
                drain.send()
        finally:
            self._sending.release()
        with drain.or_abandoned():
            done = drain.finish()
        if not done.sent and not done.superseded:
            return None
        done.save()
        return done


class _Drain:
    """One second: its queue of users, what is in flight, and what came of it."""

    def __init__(self, relay: Relay, clock: rows.Clock, until: float) -> None:
        self._relay, self._clock, self._until = relay, clock, until
        self._settings = relay._settings
        self._lease_ms = 2 * self._settings.timeout_ms + LEASE_MARGIN_MS
        self._unsettled: dict[int, list[Grant]] = {}
        """Of each user who is looked at; what is settled is taken out."""
        self._ready: collections.deque[int] = collections.deque()
        """Users whose next grant may be sent now."""
        self._flying: dict[concurrent.futures.Future[Answer], InFlight] = {}
        self._is_over = False
        self._look_at = 0.0
        self._kept_back = 0
        self._done = PointsDrain(at=datetime.now(timezone.utc), relay=relay._name)

    @contextlib.contextmanager
    def or_abandoned(self) -> Iterator[None]:
        """The database went away: what is in flight stays sent, until its lease has ended, and others may use its senders."""
        try:
            yield
        except BaseException:
            with self._relay._lock:
                self._relay._in_flight -= len(self._flying)
            raise

    def send(self) -> None:
        """Until the time is up, or nothing more may go."""
        while not self._is_over and time.monotonic() < self._until:
            self._send_what_may_go()
            if self._flying:
                self._take_answers()
            elif not self._is_over:
                time.sleep(0.01)  # a turn comes soon, or a sender is free: the next look says which

    def finish(self) -> PointsDrain:
        """Wait for what is in flight; each has its deadline."""
        while self._flying:
            self._take_answers()
        return self._done

    def _take_answers(self) -> None:
        # Those of a moment together: each round is one transaction.
        concurrent.futures.wait(self._flying, LOOK_EVERY_S, concurrent.futures.FIRST_COMPLETED)
        self._settle([future for future in self._flying if future.done()])

    def _send_what_may_go(self) -> None:
        relay = self._relay
        in_flight = relay._in_flight
        free = relay._senders - in_flight
        if free < relay._senders // 4:
            return
        now = time.monotonic()
        if not self._ready and now >= self._look_at:
            before = self._kept_back
            self._look_for_users()
            if not self._ready and self._kept_back > before:
                return  # all that was found waits behind something, and is out of sight now: others come into it
            self._look_at = now + LOOK_EVERY_S
        wanted = relay._rest.allowed(now, min(free, len(self._ready)), in_flight)
        if not wanted:
            # Nothing is left, or the points system is left alone for a while.
            self._is_over = not self._flying and (not self._ready or not relay._rest.allowed(now, 1, in_flight))
            return
        allowed = provider.take(wanted, self._clock.now_us(), self._settings.rate_per_s)
        if allowed.paused or allowed.held:
            self._is_over = True
            return
        heads = [self._unsettled[self._ready.popleft()][0] for _ in allowed.turns_us]
        claimed = rows.claim(heads, self._clock.now_ms() + self._lease_ms)
        for grant, turn_us in zip(claimed, allowed.turns_us, strict=False):
            wait_s = max(0.0, (turn_us - self._clock.now_us()) / 1e6)
            future = relay._pool.submit(self._send, grant, self._code_of(grant.task_id), wait_s)
            self._flying[future] = InFlight(grant, now)
        with relay._lock:
            relay._in_flight += len(claimed)

    def _send(self, grant: Grant, task: str, wait_s: float) -> Answer:
        """In a thread of the pool."""
        time.sleep(wait_s)
        began = time.monotonic()
        answer = self._relay._client.send(grant, task)
        self._done.slowest_ms = max(self._done.slowest_ms, round((time.monotonic() - began) * 1000))
        return answer

    def _look_for_users(self) -> None:
        """Fill the queue; what waits behind another grant goes out of sight until then."""
        now_ms = self._clock.now_ms()
        flying = {flight.grant.uid for flight in self._flying.values()}
        uids = [uid for uid in rows.due_users(now_ms, USERS_AT_ONCE) if uid not in flying]
        self._unsettled = {uid: grants for uid, grants in self._unsettled.items() if uid in flying} | rows.unsettled(uids)
        for uid in uids:
            self._replace_by_newest(uid, now_ms)
            self._put(uid, now_ms)

    def _replace_by_newest(self, uid: int, now_ms: int) -> None:
        if self._settings.sends == "totals" and uid in self._unsettled:
            replaced = replaced_by_newest(self._unsettled[uid])
            self._done.superseded += rows.supersede(replaced, now_ms)
            self._unsettled[uid] = [grant for grant in self._unsettled[uid] if grant not in replaced]

    def _put(self, uid: int, now_ms: int) -> None:
        """The user's next grant: into the queue, or out of sight."""
        step = next_step(self._unsettled.get(uid, ()), now_ms)
        if step.send is not None:
            self._unsettled[uid].sort(key=lambda grant: grant.place)
            self._ready.append(uid)
        elif step.first is not None:
            self._kept_back += rows.keep_out_of_sight(step.first, now_ms, step.until_ms)

    def _settle(self, futures: list[concurrent.futures.Future[Answer]]) -> None:
        """Write what came of them, and let the users' next grants go."""
        if not futures:
            return
        now, now_ms = time.monotonic(), self._clock.now_ms()
        moves: list[tuple[Grant, Move]] = []
        hold_s = 0.0
        for future in futures:
            flight = self._flying.pop(future)
            meaning = meaning_of(future.result(), time.time())
            hold_s = max(hold_s, meaning.hold_s)
            with self._relay._lock:
                self._relay._in_flight -= 1
                self._relay._rest.note(meaning.is_away, flight.sent_at, now)
            move = move_after(flight.grant, meaning, now_ms, self._settings.give_up_after_s, random.random())
            self._count(move, meaning)
            moves.append((flight.grant, move))
        if hold_s:
            provider.hold(now_ms + round(hold_s * 1000))
        for grant, move in self._written(moves):
            if move.is_settled:
                rest = [each for each in self._unsettled.get(grant.uid, []) if each.grant_id != grant.grant_id]
                self._unsettled[grant.uid] = rest
                if rest:
                    self._put(grant.uid, now_ms)

    def _written(self, moves: list[tuple[Grant, Move]]) -> list[tuple[Grant, Move]]:
        """Once more after a deadlock: what is not written is asked again when the lease has ended."""
        try:
            return rows.settle(moves)
        except OperationalError as error:
            log.warning("answers could not be written; once more", extra={"grants": len(moves), "error": error})
            return rows.settle(moves)

    def _count(self, move: Move, meaning: Meaning) -> None:
        done = self._done
        done.sent += 1
        match move.state:
            case State.CONFIRMED:
                done.confirmed += 1
            case State.REJECTED:
                done.rejected += 1
            case State.DEAD:
                done.dead += 1
            case State.INDETERMINATE:
                done.unknown += 1
            case _:
                done.again += 1
        if meaning.error:
            done.error = meaning.error[:ERROR_LENGTH]

    def _code_of(self, task_id: int) -> str:
        """The task's code; its number where it is not published any more."""
        codes = self._relay._codes
        if task_id not in codes:
            codes.update(Task.objects.values_list("id", "code"))
        return codes.setdefault(task_id, str(task_id))
