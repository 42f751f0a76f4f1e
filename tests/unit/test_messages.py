from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.messages import (
    MASTER_ONLY,
    MAX_FRAME_BYTES,
    MAX_TICKET_BYTES,
    MOST_USERS,
    NOT_NOW,
    FrameSplitter,
    Idle,
    Reads,
    Ticket,
    Write,
    Writes,
    decode_from_front,
    decode_from_worker,
    decode_ticket,
    encode_frame,
    encode_ticket,
    halves,
    message_type,
    ticket_bytes,
    users_in,
)


@pytest.mark.parametrize("users", [1, 2, MOST_USERS])
def test_a_ticket_survives_the_queue_with_all_its_users(users: int) -> None:
    ticket = Ticket(2**32 - 1, 7, 2**63, 2**40, 2**63, tuple(range(2**63 - users, 2**63)))

    assert decode_ticket(encode_ticket(*ticket)) == ticket
    assert len(encode_ticket(*ticket)) == ticket_bytes(1, users)


def test_a_single_ticket_is_small_and_the_largest_is_far_below_what_a_stock_queue_takes() -> None:
    assert ticket_bytes(1, 1) == 40
    assert MAX_TICKET_BYTES == ticket_bytes(1, MOST_USERS) < 600


def test_how_many_users_wait_is_known_by_how_many_messages_there_are_and_how_large_they_are() -> None:
    assert users_in(3, ticket_bytes(3, 50 + 1 + 64)) == 115


@pytest.mark.parametrize("size", [0, 26, 32, 41, MAX_TICKET_BYTES + 8])
def test_what_is_no_ticket_is_none(size: int) -> None:
    assert decode_ticket(b"x" * size) is None


def test_the_type_is_one_for_all_that_the_base_covers() -> None:
    assert message_type(0, 100) == message_type(100, 100) == 1
    assert message_type(101, 100) == 2
    assert message_type(100 + 2**30, 100) < MASTER_ONLY


FRAMES = [Write(1, 42, "e1", b'[{"task":1}]', False, ["n1"]), Write(2, 43, "e2", b"", True, [])]


@given(st.lists(st.integers(1, 30), max_size=20))
def test_frames_come_out_whole_however_the_stream_is_cut(cuts: list[int]) -> None:
    stream = b"".join(encode_frame(frame) for frame in FRAMES)
    splitter, bodies = FrameSplitter(), []
    for size in [*cuts, len(stream)]:
        piece, stream = stream[:size], stream[size:]
        bodies += splitter.feed(piece)

    assert [decode_from_front(body) for body in bodies] == FRAMES


def test_a_frame_of_absurd_length_is_refused() -> None:
    with pytest.raises(ValueError, match="language"):
        FrameSplitter().feed((MAX_FRAME_BYTES + 1).to_bytes(4, "little"))


def test_answers_of_any_size_travel() -> None:
    frame = Reads(1, 9, [(1, [b"x" * 3_000_000, NOT_NOW])], [2], [3])

    (body,) = FrameSplitter().feed(encode_frame(frame))

    assert decode_from_worker(body) == frame


def test_a_frame_of_answers_can_be_said_in_halves_and_nothing_else_can() -> None:
    reads = Reads(1, 9, [(1, [b"a"]), (2, [b"b"]), (3, [b"c"])], [4], [5])
    writes = Writes(1, 9, 2.5, 3, [(1, True, b"a"), (2, False, b"b")], [(6, "REFUSED", "why")], [7])

    assert halves(reads) == (Reads(1, 9, [(1, [b"a"])], [4], [5]), Reads(1, 9, [(2, [b"b"]), (3, [b"c"])], [], []))
    first, second = halves(writes)
    assert first == Writes(1, 9, 2.5, 3, [(1, True, b"a")], [(6, "REFUSED", "why")], [7])
    assert second == Writes(1, 9, 0.0, 0, [(2, False, b"b")], [], [])
    assert halves(Reads(1, 9, [(1, [b"a"])], [], [])) == ()
    assert halves(Idle(3)) == ()


@given(st.lists(st.sampled_from([NOT_NOW, b"a", b"b"]), min_size=1, max_size=9))
def test_one_groups_answer_can_be_said_in_halves_until_each_says_one_snapshot(bodies: list[bytes]) -> None:
    said, waiting = [], [Reads(1, 9, [(1, bodies)], [], [])]
    while waiting:
        frame = waiting.pop(0)
        waiting[:0] = parts if (parts := [part for part in halves(frame) if isinstance(part, Reads)]) else []
        said += [] if parts else [frame]

    # As the front hears them: whom the first leaves out stays in the group, and the next is for those who do.
    group, answered = list(enumerate(bodies)), []
    for frame in said:
        ((_, some),) = frame.answers
        answered += [place for place, body in zip([place for place, _ in group], some, strict=True) if body != NOT_NOW]
        group = [each for each, body in zip(group, some, strict=True) if body == NOT_NOW]
        assert sum(body != NOT_NOW for body in some) <= 1
    assert answered == [place for place, body in enumerate(bodies) if body != NOT_NOW]
