from __future__ import annotations

import json

import pytest

from workers.protocol import (
    ERRORS,
    MAX_CHANGES,
    MAX_CHANGES_BYTES,
    BadArgument,
    NotOwner,
    OldRules,
    Overloaded,
    TimedOut,
    TooBig,
    error_from_wire,
    parse_changes,
    parse_event_id,
    parse_node,
    parse_uid,
    parse_uids,
)


def one(**more: object) -> bytes:
    return json.dumps([{"task": 1, "period": "once", "op": "add", "value": 1, **more}]).encode()


@pytest.mark.parametrize(("text", "uid"), [(b"1", 1), (b"1000000000042", 10**12 + 42), (b"0007", 7), (str(2**63 - 1).encode(), 2**63 - 1)])
def test_a_uid_is_any_positive_63_bit_number(text: bytes, uid: int) -> None:
    assert parse_uid(text) == uid
    assert parse_uids([b"5", text]) == [5, uid]


@pytest.mark.parametrize("text", [b"", b"0", b"-1", b"1.0", b"abc", str(2**63).encode(), b"9" * 1000, b"\xff", "٣".encode(), b" 1"])
def test_what_is_no_uid_is_refused_with_a_sentence(text: bytes) -> None:
    with pytest.raises(BadArgument, match="uid must be"):
        parse_uid(text)
    with pytest.raises(BadArgument, match="uid must be"):
        parse_uids([b"5", text, b"6"])


def test_two_uids_in_one_word_are_none() -> None:
    with pytest.raises(BadArgument, match="uid must be"):
        parse_uids([b"1,2"])


@pytest.mark.parametrize("text", [b"", b"a b", b"x" * 65, b"-x", b"e\n", "é".encode()])
def test_bad_event_ids_are_refused(text: bytes) -> None:
    with pytest.raises(BadArgument, match="event_id must be"):
        parse_event_id(text)


@pytest.mark.parametrize("text", [b"", b"Node-1", b"1node", b"n" * 32, b"a_b"])
def test_bad_node_names_are_refused(text: bytes) -> None:
    with pytest.raises(BadArgument, match="node must be"):
        parse_node(text)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "changes:"),
        (b"nonsense", "changes:"),
        (b"{}", "changes:"),
        (b"[]", "1 to 500"),
        (b"[1]", "changes:"),
        (b"[" * 100_000, "changes:"),
        (one(task=0), r"changes\[0\].task"),
        (one(task=True), "changes:"),
        (one(period="a b"), r"changes\[0\].period"),
        (one(period='x"'), r"changes\[0\].period"),
        (one(op="drop"), r"changes\[0\].op"),
        (one(value=-1), r"changes\[0\].value"),
        (one(value=2**53), r"changes\[0\].value"),
        (one(value=1.5), "changes:"),
        (one(revision=-1), r"changes\[0\].revision"),
        (one(colour="red"), "unknown field"),
        (one(op="distinct"), r"changes\[0\].member must be 1 to 128"),
        (one(op="distinct", member="x" * 129), r"changes\[0\].member must be"),
        (one(op="distinct", member="a\nb"), r"changes\[0\].member must be"),
        (one(member="x"), r"changes\[0\].member is of distinct alone"),
        (one(mode="add"), r"changes\[0\].mode is of a revert"),
        (one(op="revert"), r"changes\[0\].mode must be one of"),
        (one(op="revert", mode="distinct"), r"changes\[0\].member must be"),
        (one(op="revert", mode="add", member="x"), r"changes\[0\].member is of"),
        (one(tiers=[[3, 1], [3, 2]], target=3), r"changes\[0\].tiers\[1\] must have a target above 3"),
        (one(tiers=[[0, 1]]), r"changes\[0\].tiers\[0\]"),
        (one(tiers=[[3, -1]], target=3), r"changes\[0\].tiers\[0\] must have points"),
        (one(tiers=[[3, 1]], target=4), r"changes\[0\].target must be that of the last tier, 3"),
        (one(tiers=[[each, 0] for each in range(1, 102)], target=101), r"changes\[0\].tiers must be at most 100"),
        (one(tiers=[[3]], target=3), "changes:"),
        (one(caps={f"k{each}": 1 for each in range(9)}), r"changes\[0\].caps must be at most 8"),
        (one(caps={"a b": 1}), r"changes\[0\].caps must have keys"),
        (one(caps={"total": -1}), r"changes\[0\].caps must have limits"),
        (one(excludes=[[2, "once"]] * 101), r"changes\[0\].excludes must be at most 100"),
        (one(excludes=[[0, "once"]]), r"changes\[0\].excludes must be of"),
        (one(excludes=[[2, "a b"]]), r"changes\[0\].excludes must be of"),
        (b'[{"task":1}]', "missing required field"),
        (b"\xff\xfe", "changes:"),
    ],
)
def test_bad_changes_are_refused_with_a_sentence_that_names_the_place(body: bytes, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        parse_changes(body)


def test_a_change_may_carry_all_the_rules_that_decide_about_it() -> None:
    rules = {"target": 9, "tiers": [[3, 10], [9, 0]], "by_claim": True, "caps": {"total": 3, "points": 0, "2026-11-30": 1}, "revision": 4}
    (change,) = parse_changes(one(op="distinct", member="朋友 7", excludes=[[2, "once"]], needs_record=True, **rules))

    assert (change.tiers, change.caps["total"], change.excludes) == (((3, 10), (9, 0)), 3, ((2, "once"),))
    assert parse_changes(one(op="revert", mode="distinct", member="x", takes_back=True))[0].takes_back


def test_old_rules_say_the_revision_that_is_needed() -> None:
    heard = error_from_wire("OLDRULES 7 is the revision of the record of task 1; the write was decided by 6")

    assert isinstance(heard, OldRules)
    assert (heard.revision, heard.retryable, OldRules().revision) == (7, False, 0)


def test_too_many_and_too_big_changes_are_refused() -> None:
    step = json.loads(one())[0]
    with pytest.raises(BadArgument, match="1 to 500"):
        parse_changes(json.dumps([step] * (MAX_CHANGES + 1)).encode())
    with pytest.raises(TooBig):
        parse_changes(b" " * (MAX_CHANGES_BYTES + 1))


def test_errors_on_the_wire_come_back_as_themselves() -> None:
    for code, kind in ERRORS.items():
        assert type(error_from_wire(f"{code} a sentence")) is kind
    assert error_from_wire("OVERLOADED too many, retry after 50 ms").retry_after_ms == 50
    assert Overloaded().retryable
    assert not Overloaded().outcome_unknown
    assert TimedOut().outcome_unknown


def test_who_is_not_the_owner_says_who_is_in_words_that_come_back_from_the_wire() -> None:
    said = NotOwner.of("low", "b", "owns user 7, and b cannot be reached from here")

    heard = error_from_wire(f"{said.code} {said}")

    assert isinstance(heard, NotOwner)
    assert (heard.segment, heard.owner) == ("low", "b")
    assert heard.retryable
    assert not heard.outcome_unknown


@pytest.mark.parametrize("line", ["NOTOWNER", "NOTOWNER - - nothing is known", "NOTOWNER low", "NOTOWNER Who? What?"])
def test_an_owner_that_is_not_known_is_no_name(line: str) -> None:
    heard = error_from_wire(line)

    assert isinstance(heard, NotOwner)
    assert heard.owner == ""
