from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import sysv_ipc

from workers.lanes import LANE_BYTES
from workers.messages import MASTER_ONLY, MOST_USERS, encode_ticket, message_type
from workers.queues import QueueGone, Queues

RUN = 77


def ticket(request_id: int, run_id: int = RUN, users: int = 1) -> bytes:
    return encode_ticket(run_id, 1, request_id, 0, 2**40, [42] * users)


@pytest.fixture
def key() -> int:
    return random.randrange(0x1000_0000, 0x6000_0000)


@pytest.fixture
def queues(key: int) -> Iterator[Queues]:
    queues = Queues.create(key)
    yield queues
    queues.remove()


def ids(queues: Queues, message_type: int, most: int = 100) -> list[int]:
    return [each.request_id for each in queues.query.drain(RUN, message_type, most)]


@pytest.mark.parametrize(("tick", "taken"), [(99, []), (100, [1, 2]), (101, [1, 2, 3]), (2**30, [1, 2, 3, 4])])
def test_a_replica_receives_only_what_it_has_applied(queues: Queues, tick: int, taken: list[int]) -> None:
    base = 100
    for request_id, stamp in ((1, 50), (2, 100), (3, 101), (4, 2**30)):
        queues.query.send(ticket(request_id), message_type(stamp, base))
    queues.query.send(ticket(5), MASTER_ONLY)

    # Below its base a replica does not receive at all: its bound would be 0, which means "any message".
    assert (ids(queues, -message_type(tick, base)) if tick >= base else []) == taken


def test_the_master_takes_its_own_lane_first_then_anything_oldest_first(queues: Queues) -> None:
    for request_id, kind in ((1, 5), (2, MASTER_ONLY), (3, 1), (4, MASTER_ONLY)):
        queues.query.send(ticket(request_id), kind)

    assert ids(queues, MASTER_ONLY) == [2, 4]
    assert ids(queues, 0) == [1, 3]


def test_what_an_older_run_left_is_thrown_away(queues: Queues) -> None:
    queues.query.send(ticket(1, run_id=RUN - 1), 1)
    queues.query.send(b"not a ticket", 1)
    queues.query.send(ticket(2), 1)

    assert ids(queues, 0) == [2]


@pytest.mark.parametrize("users", [1, 7, MOST_USERS])
def test_both_lanes_fit_into_a_stock_queue_and_its_depth_counts_users(queues: Queues, users: int) -> None:
    messages = 2 * LANE_BYTES // len(ticket(1, users=users))
    sent = [queues.query.send(ticket(number, users=users), 1 + number) for number in range(messages)]

    assert all(sent)
    assert queues.query.depth() == messages * users


def test_a_batch_ends_when_it_has_enough_users(queues: Queues) -> None:
    for request_id, users in ((1, 5), (2, 5), (3, 1), (4, 20)):
        queues.query.send(ticket(request_id, users=users), 1)

    assert ids(queues, 0, most=9) == [1, 2]
    assert ids(queues, 0, most=2) == [3, 4]


def test_a_full_queue_refuses_and_loses_nothing(queues: Queues) -> None:
    taken = 0
    while queues.query.send(ticket(taken), 1):
        taken += 1

    assert len(ids(queues, 0, most=10_000)) == taken


def test_new_queues_are_empty_whatever_was_under_the_key(key: int, queues: Queues) -> None:
    queues.finish.send(ticket(1), 1)

    again = Queues.create(key)
    try:
        assert again.finish.depth() == 0
        with pytest.raises(QueueGone):
            queues.finish.depth()
    finally:
        again.remove()


def test_a_removed_queue_is_said_to_be_gone(key: int, queues: Queues) -> None:
    sysv_ipc.MessageQueue(key + 1).remove()

    with pytest.raises(QueueGone):
        queues.query.send(ticket(1), 1)
    with pytest.raises(QueueGone):
        queues.query.drain(RUN, 0, 1)
    with pytest.raises(QueueGone):
        Queues.open(key)
