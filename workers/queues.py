"""The three SysV message queues of a DBSvr.

The front makes them and removes them; workers open them. Nobody blocks in a receive: `sysv_ipc` has no timed one, and a
blocked one would not notice that its bound has moved, so the front wakes workers over the local socket and they drain.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
from dataclasses import dataclass

import sysv_ipc

from workers.messages import MAX_TICKET_BYTES, Ticket, decode_ticket, users_in

# A queue that was removed: ExistentialError when it goes while we are in the call, EINVAL afterwards.
_GONE = (sysv_ipc.ExistentialError, OSError)

# `sysv_ipc` tells how many messages wait, and not how large they are. msqid_ds of 64-bit Linux: both stand behind 72 bytes of other facts.
_msgctl = ctypes.CDLL(None, use_errno=True).msgctl
_IPC_STAT = 2
_status = ctypes.create_string_buffer(256)
_bytes_and_messages = struct.Struct("@72xQQ").unpack_from


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
        """Take tickets of this run that msgrcv's `message_type` admits, until they are for `most` users. Raises QueueGone.

        The last may be for more than were missing. Tickets of another run, and messages that are no tickets, are thrown away: an older
        run's work is never executed.
        """
        tickets: list[Ticket] = []
        receive = self._queue.receive
        while most > 0:
            try:
                message, _ = receive(False, message_type)
            except sysv_ipc.BusyError:
                break
            except _GONE as error:
                raise QueueGone from error
            ticket = decode_ticket(message)
            if ticket is not None and ticket.run_id == run_id:
                tickets.append(ticket)
                most -= len(ticket.uids)
        return tickets

    def depth(self) -> int:
        """How many users wait. Raises QueueGone."""
        if _msgctl(self._queue.id, _IPC_STAT, _status):
            raise QueueGone(ctypes.get_errno())
        size, messages = _bytes_and_messages(_status)
        return users_in(messages, size)

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
            return cls(*(Queue(sysv_ipc.MessageQueue(key + offset, max_message_size=MAX_TICKET_BYTES)) for offset in range(3)))
        except _GONE as error:
            raise QueueGone from error

    def remove(self) -> None:
        for queue in (self.finish, self.query, self.clear):
            queue.remove()


def _create(key: int) -> Queue:
    with contextlib.suppress(sysv_ipc.ExistentialError):
        sysv_ipc.MessageQueue(key).remove()
    return Queue(sysv_ipc.MessageQueue(key, sysv_ipc.IPC_CREX, mode=0o600, max_message_size=MAX_TICKET_BYTES))
