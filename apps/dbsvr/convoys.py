"""Writes of many threads that travel together: a *convoy* is what came while the one before was under way, and goes to the DBSvr at once.

What a write costs is mostly what its transaction costs, and one transaction takes as many as are there. A thread that finds nobody under
way goes by itself, as if there were nobody else. Who comes meanwhile waits, and sets out in a convoy when the one before has its first
answer, or as many wait as travel in it; two are under way at most. No timer is waited for.

A convoy waits for nobody. Its connection takes answers in any order (TASK.ANYORDER), and each thread goes on with its own, so a user whose
row somebody has locked, or whose cap waits for another DBSvr, holds up no stranger. What is left of a convoy does not count as under way:
not once something has come that was sent with it or after it, nor once the DBSvr says that it has passed it over (TASK.PASSED).

What is to be done for all of a convoy at once, before it is sent and before its answers are given, says `Work`. Errors are those of
`Connections.ask`; whether to repeat is decided by who sent.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

from apps.dbsvr.connections import Connections, NoAnswer, NoConnection
from apps.dbsvr.resp import ErrorLine, RespConnection, pack
from workers.protocol import DBSvrError, TimedOut, error_from_wire

log = logging.getLogger(__name__)

MOST_UNDER_WAY = 2
LARGEST = 100
"""Writes in one convoy: their answers must fit into what a DBSvr holds for who does not read yet."""
SEND_WITHIN_S = 1.0
UNKNOWN_FOR_S = 30.0
"""A DBSvr that does not know TASK.ANYORDER is of an older version, and asked again after this time."""
_ANY_ORDER, _PASSED = pack(("TASK.ANYORDER",)), pack(("TASK.PASSED",))


class Traveller:
    """One write. A convoy's work makes subclasses of it."""

    __slots__ = ("_arrived", "answer", "convoy", "has_arrived", "is_given_up", "packed")

    def __init__(self) -> None:
        self.packed = b""
        """The command, once it is known. Without one it is not sent: whoever waits for it is to go by himself."""
        self.answer: Any = None
        """What the DBSvr has answered, a DBSvrError included, or what the convoy's work has made of it. None: it was not sent."""
        self.convoy: Convoy | None = None
        self.has_arrived = False
        self.is_given_up = False
        self._arrived = threading.Lock()
        self._arrived.acquire()

    def arrive(self) -> None:
        self.has_arrived = True
        self._arrived.release()

    def wait(self, until: float) -> bool:
        return self._arrived.acquire(timeout=max(0.0, until - time.monotonic()))


class Work(Protocol):
    """Done by whichever thread is at it, for all of a convoy at once. Nothing here may wait for one user's sake."""

    def prepare(self, travellers: Sequence[Any]) -> None:
        """Say what each is to send."""

    def take(self, answered: Sequence[Any]) -> None:
        """What is to be done before these are answered. They may be of several convoys."""

    def take_alone(self, answered: Any) -> None:
        """Its answer was taken, and nobody waits for it any more who could do what is left."""


class Convoy:
    """Those who have set out together. It knows no names: what is left of it does not matter."""

    __slots__ = ("line", "sent_at", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.sent_at = 0.0
        self.line: _Line | None = None


class Convoys:
    """To one DBSvr. Shared by threads; a forked child begins anew."""

    def __init__(self, connections: Connections, work: Work) -> None:
        self._connections = connections
        self._work = work
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting: list[Traveller] = []
        self._under_way: list[Convoy] = []
        """As they set out. Who goes by himself is a convoy, too."""
        self._sending = threading.Lock()
        self._line: _Line | None = None
        self._unknown_until = 0.0

    def set_out(self, traveller: Traveller, until: float) -> Convoy | None:
        """None: `traveller` has arrived. Else nobody is under way: write by yourself, and then `end` what you were given.

        Raises NoConnection, NoAnswer: by then it was not sent, or not answered.
        """
        if self._pid != os.getpid():
            self._begin()
        with self._lock:
            if not (self._under_way or self._waiting) or time.monotonic() < self._unknown_until:
                by_itself = Convoy(1)
                self._under_way.append(by_itself)
                return by_itself
            self._waiting.append(traveller)
            convoy = self._next()
        self._send(convoy)
        if not traveller.wait(until):
            self._give_up(traveller)
        return None

    def end(self, by_itself: Convoy) -> None:
        with self._lock:
            if by_itself in self._under_way:
                self._under_way.remove(by_itself)
            convoy = self._next()
        self._send(convoy)

    def close(self) -> None:
        if self._line is not None:
            self._line.hang_up()

    def _next(self) -> list[Traveller]:
        """Those who set out now, if it is time; to be sent by the caller, who has the lock here and not there."""
        under_way, waiting = self._under_way, self._waiting
        if not waiting or len(under_way) >= MOST_UNDER_WAY or (under_way and len(waiting) < under_way[-1].size):
            return []
        travellers, self._waiting = waiting[:LARGEST], waiting[LARGEST:]
        convoy = Convoy(len(travellers))
        under_way.append(convoy)
        for each in travellers:
            each.convoy = convoy
        return travellers

    def _send(self, travellers: list[Traveller]) -> None:
        while travellers:
            convoy = travellers[0].convoy
            assert convoy is not None
            self._prepare(travellers)
            ready = [each for each in travellers if each.packed]
            error: DBSvrError | None = None
            if ready:
                try:
                    with self._sending:
                        self._open_line().send(convoy, ready)
                except Exception as failure:  # noqa: BLE001  # whatever it is, those who wait must hear of it
                    error = self._translated(failure)
            with self._lock:
                for each in travellers:
                    if error is not None and each.packed and not each.has_arrived:
                        each.answer = error
                        each.arrive()
                    elif not each.packed:
                        each.arrive()
                if (not ready or error is not None) and convoy in self._under_way:
                    self._under_way.remove(convoy)
                travellers = self._next()

    def _prepare(self, travellers: list[Traveller]) -> None:
        try:
            self._work.prepare(travellers)
        except Exception:
            log.exception("a convoy could not be prepared; its writes are sent one by one")
            for each in travellers:
                each.packed = b""

    def _open_line(self) -> _Line:
        if self._line is None or self._line.is_lost:
            until = time.monotonic() + SEND_WITHIN_S
            connection = self._connections.open_one(until)
            try:
                answer = connection.ask(_ANY_ORDER, until)
                if isinstance(answer, ErrorLine):
                    self._unknown_until = time.monotonic() + UNKNOWN_FOR_S
                    raise NoConnection(f"the DBSvr at {self._connections.address} answers in order alone; nothing was sent")
            except BaseException:
                connection.close()
                raise
            self._line = _Line(connection, self)
        return self._line

    def _give_up(self, traveller: Traveller) -> None:
        with self._lock:
            if traveller.has_arrived:
                return
            traveller.is_given_up = True
            if traveller in self._waiting:
                self._waiting.remove(traveller)
                raise NoConnection(f"the writes before it to the DBSvr at {self._connections.address} are under way; nothing was sent")
            convoy = traveller.convoy
        if convoy is not None and convoy.line is not None and convoy.line.heard_at < convoy.sent_at:
            convoy.line.hang_up()  # it says nothing at all: what follows is to go over another one
        raise NoAnswer(f"no answer from the DBSvr at {self._connections.address} within the deadline")

    # -- from the thread that receives

    def hear(self, answered: list[Traveller], passed: Sequence[Convoy]) -> None:
        if answered:
            self._take(answered)
        newest = {each.convoy for each in answered}.union(passed)
        with self._lock:
            for place, convoy in reversed(list(enumerate(self._under_way))):
                if convoy in newest:
                    del self._under_way[: place + 1]  # those before it were overtaken
                    break
            convoys = self._next()
        # First on the way with those who wait, then the answers: a dozen threads that wake up would be in the way of it.
        self._send(convoys)
        with self._lock:
            left = [each for each in answered if each.is_given_up]
            for each in answered:
                if not each.has_arrived:
                    each.arrive()
        for each in left:
            self._work.take_alone(each)

    def _take(self, answered: list[Traveller]) -> None:
        try:
            self._work.take(answered)
        except Exception as error:
            log.exception("answers to a convoy could not be taken")
            for each in answered:
                each.answer = TimedOut(f"applied perhaps, and not taken: {error}")

    def lose(self, unanswered: list[Traveller], failure: Exception) -> None:
        """The connection has ended. They hear of it, and those who wait set out over another one."""
        error = self._translated(failure)
        with self._lock:
            for each in unanswered:
                if not each.has_arrived:
                    each.answer = error
                    each.arrive()
            lost = {each.convoy for each in unanswered}
            self._under_way = [each for each in self._under_way if each not in lost]
            convoy = self._next()
        self._send(convoy)

    def _translated(self, error: Exception) -> DBSvrError:
        return error if isinstance(error, DBSvrError) else self._connections.translated(error)


class _Line:
    """One connection in any order, and the thread that receives from it."""

    def __init__(self, connection: RespConnection, convoys: Convoys) -> None:
        self._connection = connection
        self._convoys = convoys
        self._unanswered: dict[int, Traveller | Convoy] = {}
        """By the numbers of their requests, under which the answers come; a convoy for its TASK.PASSED."""
        self._number = 0
        self.is_lost = False
        self.heard_at = time.monotonic()
        connection.share(SEND_WITHIN_S)
        threading.Thread(target=self._receive, name="answers in any order", daemon=True).start()

    def send(self, convoy: Convoy, travellers: list[Traveller]) -> None:
        """By one thread at a time."""
        going: list[Traveller | Convoy] = [*travellers, convoy]
        for each in going:
            self._number += 1
            self._unanswered[self._number] = each
        convoy.sent_at, convoy.line = time.monotonic(), self
        try:
            self._connection.send_shared(b"".join([*(traveller.packed for traveller in travellers), _PASSED]))
        except OSError:
            self.hang_up()
            raise

    def hang_up(self) -> None:
        self.is_lost = True
        self._connection.hang_up()

    def _receive(self) -> None:
        failure: Exception = ConnectionResetError("the connection was given up")
        try:
            while True:
                answers = self._connection.receive_all()
                self.heard_at = time.monotonic()
                self._convoys.hear(*self._sorted(answers))
        except Exception as error:  # noqa: BLE001  # whatever it is, those who wait must hear of it
            failure = error
        self.is_lost = True
        self._connection.close()
        self._convoys.lose([each for each in self._unanswered.values() if isinstance(each, Traveller)], failure)

    def _sorted(self, answers: list[Any]) -> tuple[list[Traveller], list[Convoy]]:
        answered: list[Traveller] = []
        passed: list[Convoy] = []
        for number, answer in answers:
            waiting = self._unanswered.pop(number)
            if isinstance(waiting, Convoy):
                passed.append(waiting)
            else:
                waiting.answer = error_from_wire(str(answer)) if isinstance(answer, ErrorLine) else answer
                answered.append(waiting)
        return answered, passed
