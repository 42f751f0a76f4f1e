"""The front's three queues and the four lanes in them: where tickets wait, and what becomes of those left behind.

Leans on `queues` for the kernel's part and on `requests.Lane` for one lane. Decides nothing about who may serve what.
"""

from __future__ import annotations

from workers.messages import MASTER_ONLY, ticket_bytes
from workers.queues import QueueGone, Queues
from workers.requests import CLEAR, FINISH, Lane, Request

LANE_BYTES = ticket_bytes(190, 190)
"""Two lanes fit into a stock queue of 16 KiB, with room for some stale tickets. The same as 190 requests of one user, or 15 of 60."""
ALL = 100_000


class Lanes:
    def __init__(self, queue_key: int, run_id: int, age_limit_ms: int) -> None:
        """Makes the queues; whatever an older run left under these keys is gone."""
        self.queue_key = queue_key
        self.run_id = run_id
        self.finish = Lane(FINISH, 2 * LANE_BYTES)
        self.clear = Lane(CLEAR, 2 * LANE_BYTES)
        self.master = Lane("master", LANE_BYTES)
        self.replica = Lane("replica", LANE_BYTES, ticket_life_ms=age_limit_ms)
        self._stale_tickets = 0
        self.open()

    @property
    def all(self) -> tuple[Lane, ...]:
        return self.finish, self.clear, self.master, self.replica

    @property
    def only_clears_wait(self) -> bool:
        return bool(len(self.clear)) and not (len(self.finish) or len(self.master) or len(self.replica))

    def open(self) -> None:
        self._queues = Queues.create(self.queue_key)
        self._stale_tickets = 0
        for lane, queue in (
            (self.finish, self._queues.finish),
            (self.clear, self._queues.clear),
            (self.master, self._queues.query),
            (self.replica, self._queues.query),
        ):
            lane.attach(queue, self.run_id)

    def remove(self) -> None:
        self._queues.remove()

    def are_gone(self) -> bool:
        """Somebody has removed a queue from outside."""
        try:
            self._depths()
        except QueueGone:
            return True
        return False

    def depths(self) -> dict[str, int]:
        """How many users wait in each queue, as far as the kernel knows."""
        try:
            return self._depths()
        except QueueGone:
            return {"finish": 0, "query": 0, "clear": 0}

    def query_depth(self) -> int:
        """Reads of how many users wait in the kernel's queue. Raises QueueGone."""
        return self._queues.query.depth()

    def set_generation(self, generation: int) -> None:
        for lane in self.all:
            lane.generation = generation

    def take_back_masters(self) -> list[Request]:
        """Empty what the master's worker takes from; the reads among it, oldest first. (Writes stand in the dispatch's table.)"""
        try:
            self._queues.finish.drain(self.run_id, 0, ALL)
            self._queues.clear.drain(self.run_id, 0, ALL)
            self._queues.query.drain(self.run_id, MASTER_ONLY, ALL)
        except QueueGone:
            self.open()
        self.finish.empty()
        self.clear.empty()
        return self.master.empty()

    def move_up(self, now: float) -> list[Lane]:
        """Queue tickets of those in line while there is room; the lanes in which one went. Raises QueueGone."""
        return [lane for lane in self.all if lane.line and lane.move_up(now)]

    def leave_stale(self, request: Request) -> None:
        """The read is sent again elsewhere; its ticket, if it has one, stays in the replica's lane and is of no use any more."""
        self._stale_tickets += request.request_id in self.replica.sent
        self.replica.take(request)

    def sweep(self, now_ms: int) -> int | None:
        """Take stale tickets from the queue's head, where they are in the way, up to the first that lives: its request's id.

        A living ticket that was taken must be sent again by the caller. Raises QueueGone.
        """
        while self._stale_tickets:
            tickets = self._queues.query.drain(self.run_id, 0, 1)
            if not tickets:
                self._stale_tickets = 0
            elif tickets[0].expires_at_ms > now_ms:
                self._stale_tickets = 0
                return tickets[0].request_id
            else:
                self._stale_tickets -= 1
        return None

    def _depths(self) -> dict[str, int]:
        return {"finish": self._queues.finish.depth(), "query": self._queues.query.depth(), "clear": self._queues.clear.depth()}
