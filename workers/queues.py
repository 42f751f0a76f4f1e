"""The three SysV message queues of a DBSvr.

The front makes them and removes them; workers open them. Nobody blocks in a receive: `sysv_ipc` has no timed one, and a
blocked one would not notice that its bound has moved, so the front wakes workers over the local socket and they drain.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import sysv_ipc

from workers.messages import TICKET, Ticket, decode_ticket

# A queue that was removed: ExistentialError when it goes while we are in the call, EINVAL afterwards.
_GONE = (sysv_ipc.ExistentialError, OSError)


class QueueGone(Exception):
    """The queue was removed, by a front that ended or from outside (`ipcrm`)."""


class Queue:
    """One queue of tickets. Each call returns at once."""

    def __init__(self, queue: sysv_ipc.MessageQueue) -> None:
        self._queue = queue

    def send(self, message: bytes, message_type: int) -> bool:
        """Queue a ticket; False when the queue is full. Raises QueueGone."""
        try:
            self._queue.send(message, False, message_type)
        except sysv_ipc.BusyError:
            return False
        except _GONE as error:
            raise QueueGone from error
        return True

    def drain(self, run_id: int, message_type: int, most: int) -> list[Ticket]:
        """Take up to `most` tickets of this run that msgrcv's `message_type` admits. Raises QueueGone.

        Tickets of another run, and messages that are no tickets, are thrown away: an older run's work is never executed.
        """
        tickets: list[Ticket] = []
        receive = self._queue.receive
        while len(tickets) < most:
            try:
                message, _ = receive(False, message_type)
            except sysv_ipc.BusyError:
                break
            except _GONE as error:
                raise QueueGone from error
            ticket = decode_ticket(message)
            if ticket is not None and ticket.run_id == run_id:
                tickets.append(ticket)
        return tickets

    def depth(self) -> int:
        """How many messages wait. Raises QueueGone."""
        try:
            return int(self._queue.current_messages)
        except _GONE as error:
            raise QueueGone from error

    def remove(self) -> None:
        with contextlib.suppress(*_GONE):
            self._queue.remove()


@dataclass(frozen=True)
class Queues:
    """The finish, query and clear queue of one instance, at three keys in a row."""

    finish: Queue
    query: Queue
    clear: Queue

    @classmethod
    def create(cls, key: int) -> Queues:
        """New, empty queues; whatever an older run left under these keys is removed."""
        return cls(*(_create(key + offset) for offset in range(3)))

    @classmethod
    def open(cls, key: int) -> Queues:
        """The queues that a front has made. Raises QueueGone."""
        try:
            return cls(*(Queue(sysv_ipc.MessageQueue(key + offset, max_message_size=TICKET.size)) for offset in range(3)))
        except _GONE as error:
            raise QueueGone from error

    def remove(self) -> None:
        for queue in (self.finish, self.query, self.clear):
            queue.remove()


def _create(key: int) -> Queue:
    with contextlib.suppress(sysv_ipc.ExistentialError):
        sysv_ipc.MessageQueue(key).remove()
    return Queue(sysv_ipc.MessageQueue(key, sysv_ipc.IPC_CREX, mode=0o600, max_message_size=TICKET.size))
