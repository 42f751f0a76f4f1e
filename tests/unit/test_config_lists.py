"""An uploaded list of users becomes ascending numbers, each once, or says by line what is wrong."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.config.limits import MAX_UIDS_IN_A_LIST
from apps.tasks.config.line_faults import say_line
from apps.tasks.config.lists import MAX_FAULTS, list_text, parse_list, uids_of
from apps.tasks.config.words import say_fault
from tests.unit.config_strategies import FEW
from tests.unit.wording import has_unfilled_place
from workers.protocol import MAX_UID


@FEW
@given(st.sets(st.integers(1, MAX_UID)))
def test_a_list_comes_back_ascending_and_each_once(uids: set[int]) -> None:
    text = list_text(uids)

    parsed = parse_list(text)

    assert (parsed.text, parsed.count, parsed.repeated, parsed.faults) == (text, len(uids), 0, [])
    assert parsed.sha256 == hashlib.sha256(text).hexdigest()
    assert uids_of(parsed.text) == sorted(uids)


@pytest.mark.parametrize(
    "data",
    [
        b"3\n1\n2\n",
        b"\xef\xbb\xbfuid\r\n3\r\n1\r\n2",
        b"1,2;3",
        b'"1"\n"2"\n"3"\n',
        b"# our testers\n\n  1\n2\n3\n2\n",
        "用户编号\n1\n2\n3".encode(),
        b"001\n2\n3",
    ],
)
def test_what_people_paste_is_understood(data: bytes) -> None:
    parsed = parse_list(data)

    assert parsed.faults == []
    assert parsed.text == b"1\n2\n3\n"


def test_repeated_uids_are_counted() -> None:
    assert parse_list(b"1\n1\n1\n2\n").repeated == 2


@pytest.mark.parametrize("word", ["0", "-1", "x7", "1.5", "9223372036854775808", "1" * 5_000, "٣", "1e5", "7*"])
def test_what_is_no_uid_is_told_with_its_line(word: str) -> None:
    (fault,) = parse_list(f"5\n6\n{word}\n7\n".encode()).faults

    assert (fault.code, fault.line) == ("uid", 3)
    assert say_line(fault) == "line 3"
    assert word[:40] in say_fault(fault)


def test_a_heading_is_one_only_in_the_first_line() -> None:
    assert [fault.line for fault in parse_list(b"uid\n1\nuid\n").faults] == [3]


@pytest.mark.parametrize("data", [b"PK\x03\x04\x00\x00", b"\xff\xfe1\x00", "1\n名".encode("gb18030")])
def test_a_file_that_is_no_text_is_refused_in_one_sentence(data: bytes) -> None:
    (fault,) = parse_list(data).faults

    assert fault.code == "list_no_text"
    assert say_fault(fault).startswith("This is no text file.")


def test_a_file_of_the_wrong_kind_is_not_told_line_by_line_for_ever() -> None:
    assert len(parse_list(b"x\n" * 1_000).faults) == MAX_FAULTS


def test_a_list_is_limited() -> None:
    assert parse_list(list_text(set(range(1, MAX_UIDS_IN_A_LIST + 1)))).faults == []
    (fault,) = parse_list(list_text(set(range(1, MAX_UIDS_IN_A_LIST + 2)))).faults
    assert (fault.code, say_fault(fault)[:28]) == ("list_too_long", "The list has 200,001 users, ")


@FEW
@given(st.binary(max_size=50))
def test_any_file_can_be_uploaded(data: bytes) -> None:
    parsed = parse_list(data)

    assert parsed.count == len(uids_of(parsed.text))
    for fault in parsed.faults:
        assert not has_unfilled_place(say_fault(fault), fault)
