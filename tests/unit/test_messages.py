from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.messages import (
    MASTER_ONLY,
    MAX_FRAME_BYTES,
    TICKET,
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
)


def test_a_ticket_fits_its_bound_and_survives_the_queue() -> None:
    ticket = Ticket(2**32 - 1, 7, 2**63, 2**63 - 1, 2**40, 2**63)

    assert decode_ticket(encode_ticket(*ticket)) == ticket
    assert TICKET.size <= 48


def test_what_is_no_ticket_is_none() -> None:
    assert decode_ticket(b"left here by somebody else") is None


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
    frame = Reads(1, 9, [(1, b"x" * 3_000_000)], [2], [3])

    (body,) = FrameSplitter().feed(encode_frame(frame))

    assert decode_from_worker(body) == frame


def test_a_frame_of_answers_can_be_said_in_halves_and_nothing_else_can() -> None:
    reads = Reads(1, 9, [(1, b"a"), (2, b"b"), (3, b"c")], [4], [5])
    writes = Writes(1, 9, 2.5, 3, [(1, True, b"a"), (2, False, b"b")], [(6, "REFUSED", "why")], [7])

    assert halves(reads) == (Reads(1, 9, [(1, b"a")], [4], [5]), Reads(1, 9, [(2, b"b"), (3, b"c")], [], []))
    first, second = halves(writes)
    assert first == Writes(1, 9, 2.5, 3, [(1, True, b"a")], [(6, "REFUSED", "why")], [7])
    assert second == Writes(1, 9, 0.0, 0, [(2, False, b"b")], [], [])
    assert halves(Reads(1, 9, [(1, b"a")], [], [])) == ()
    assert halves(Idle(3)) == ()
