"""The vectors in docs/vectors/: what they say is what this code does, and what the page beside them says in words."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.vectors.write import FILES, FOLDER, content


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", FILES)
def test_the_published_vectors_are_what_this_code_answers(name: str) -> None:
    """`python -m tests.vectors` writes them anew; a changed answer is a change for clients in other languages."""
    assert (FOLDER / name).read_text(encoding="utf-8") == content(name)


def test_periods_of_one_case_follow_each_other() -> None:
    """Judged from the file alone."""
    spans: dict[str, set[tuple[str, str]]] = {}
    for case in read("periods.json")["cases"]:
        assert case["starts_at"] <= case["at"] < case["resets_at"]
        spans.setdefault(json.dumps([case["period"], case["zone"]]), set()).add((case["starts_at"], case["resets_at"]))
    for each in spans.values():
        in_order = sorted(each)
        assert all(one[1] <= other[0] for one, other in pairwise(in_order))


def test_nothing_given_and_nothing_typed_wrong_ever_satisfies() -> None:
    types: dict[str, Any] = {"number": (int, float), "text": str, "boolean": bool, "date": str, "version": str}
    for case in read("conditions.json")["cases"]:
        given = case["given"]
        fits = isinstance(given, types[case["type"]]) and (case["type"] == "boolean" or not isinstance(given, bool))
        assert fits or case["outcome"] == "unknown", case


def murmur3(data: bytes) -> int:
    """MurmurHash3, x86, 32 bit, seed 0: written from its public description, to hold the library against."""
    mask, hashed = 0xFFFFFFFF, 0

    def mixed(block: int) -> int:
        block = block * 0xCC9E2D51 & mask
        return (block << 15 | block >> 17) * 0x1B873593 & mask

    whole = len(data) // 4 * 4
    for place in range(0, whole, 4):
        hashed ^= mixed(int.from_bytes(data[place : place + 4], "little"))
        hashed = ((hashed << 13 | hashed >> 19) & mask) * 5 + 0xE6546B64 & mask
    if data[whole:]:
        hashed ^= mixed(int.from_bytes(data[whole:], "little"))
    hashed ^= len(data)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & mask
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & mask
    return hashed ^ hashed >> 16


def test_buckets_are_those_of_the_hash_as_described() -> None:
    for case in read("release.json")["cases"]:
        assert case["bucket"] == murmur3(f"{case['salt']}:{case['uid']}".encode()) % 10_000


def test_decisions_show_every_status_and_every_reason_but_the_rare() -> None:
    from apps.tasks.evaluation.reasons import REASONS, STATUSES

    decided = [decision for case in read("decisions.json")["cases"] for decision in case["decisions"].values()]

    assert {decision["status"] for decision in decided} >= set(STATUSES) - {"claimed"}
    assert {reason["code"] for decision in decided for reason in decision["reasons"]} >= set(REASONS) - {"not_accepted", "claim_over"}


def test_events_show_every_operation_of_an_event_and_every_refusal() -> None:
    cases = read("events.json")["cases"]

    assert {change["op"] for case in cases for change in case["changes"]} == {"add", "max", "set", "distinct"}
    assert {code for case in cases for codes in case["not_counted"].values() for code in codes} >= {
        "ended", "too_late", "member_missing", "already_done", "exclusive_group", "not_accepted", "prerequisite",
    }  # fmt: skip
