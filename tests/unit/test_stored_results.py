"""Results as they are stored with their event: they come back as they were answered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workers.changes import encode_results
from workers.protocol import MAX_VALUE, ChangeResult
from workers.stored_results import answered, shortened
from workers.users import STATES

NUMBERS = st.integers(0, MAX_VALUE)
RESULTS = st.builds(
    ChangeResult,
    task=st.integers(1, 2**31 - 1),
    period=st.sampled_from(["once", "2026-11-30T00:00:00+00:00"]),
    progress=NUMBERS,
    state=st.sampled_from(STATES),
    completed_now=st.booleans(),
    points=st.integers(-MAX_VALUE, MAX_VALUE),
    granted=st.integers(-10, 10),
    claimed_now=st.booleans(),
    refused=st.sampled_from(["", "capped", "excluded"]),
    about=st.sampled_from(["", "total", "7"]),
)


@given(st.lists(RESULTS, max_size=5))
def test_a_repeated_event_is_answered_as_the_first_time(results: list[ChangeResult]) -> None:
    assert answered(shortened(results)) == encode_results(results)


@given(st.lists(RESULTS, max_size=5))
def test_what_earlier_versions_have_stored_is_answered_as_it_is(results: list[ChangeResult]) -> None:
    assert answered(encode_results(results)) == encode_results(results)


def test_plain_progress_is_stored_in_three_values() -> None:
    assert shortened([ChangeResult(7, "once", 3, "in_progress", False, 0)]) == b'[[7,"once",3]]'
    assert shortened([ChangeResult(7, "once", 3, "completed", True, 50, 1)]) == b'[[7,"once",3,1,true,50,1]]'
