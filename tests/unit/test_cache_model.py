"""The cache layer's rules, explored in small configurations: they suffice, and it is known of each what comes without it.

The larger ones: `make test-long`.
"""

from __future__ import annotations

import dataclasses
import re

import pytest

from tasksys_site.configuration import PROJECT
from tests.model.cache.cases import BROKEN as BROKEN_RULES
from tests.model.cache.cases import CACHE_CASES, HOLD, SPARE, TWO_LOCKS, CacheCase
from tests.model.cache.configuration import Rules
from tests.model.explore import BROKEN, LIMIT_REACHED


@pytest.mark.parametrize("case", [case for case in CACHE_CASES if case.is_quick], ids=lambda case: case.name)
def test_the_cache_layer_keeps_its_promises_and_breaks_them_where_a_rule_is_left_out(case: CacheCase) -> None:
    finding = case.explore()

    assert case.is_met_by(finding), str(finding)


def test_every_rule_is_left_out_in_some_case() -> None:
    alone = [_left_out(case) for case in (*BROKEN_RULES, *SPARE)]
    in_pairs = [_left_out(case) for case in TWO_LOCKS]

    assert all(len(rules) == 1 for rules in alone)
    assert {rule for rules in (*alone, *in_pairs) for rule in rules} == {field.name for field in dataclasses.fields(Rules)}


def test_each_broken_rule_stands_in_a_configuration_that_holds_with_it() -> None:
    holding = {case.scenario for case in HOLD}

    assert [case.name for case in (*BROKEN_RULES, *TWO_LOCKS) if case.scenario not in holding] == []


def test_a_counterexample_is_told_from_the_first_step_to_the_stale_copy() -> None:
    finding = next(case for case in BROKEN_RULES if case.name == "INV 9 broken: the center alone purges").explore()

    assert finding.verdict == BROKEN
    assert finding.counterexample == (
        "read 1 misses at node A and leaves its token",
        "the front records node A for read 1",
        "read 1 is answered by a database: 1:0",
        "read 1 is answered with 1:0, storable",
        "the fill of read 1 with 1:0 reaches node A: stored",
        "e1 is sent from node B, on the trail: node A",
        "e1 is committed as 1:1, with purge rows for A",
        "the front hears of e1 from node B, the trail is now B",
        "the writer of e1 settles node B, and the client is answered: 1:1",
        "a reader hits node A: 1:0",
    )


def test_what_was_not_explored_to_the_end_does_not_hold() -> None:
    case = HOLD[0]

    finding = case.explore(most_states=100)

    assert finding.verdict == LIMIT_REACHED
    assert not case.is_met_by(finding)


def test_the_page_names_cases_and_tests_that_exist() -> None:
    page = (PROJECT / "docs" / "cache.md").read_text(encoding="utf-8")
    quoted = re.findall(r"`([^`\n]+)`", page)
    cases = [name.rstrip(" …") for name in quoted if re.match(r"(INV \d+ broken|generations:|two locks|no counterexample)", name)]
    tests = [name for name in quoted if re.fullmatch(r"test_\w+", name)]
    sources = "".join(path.read_text(encoding="utf-8") for path in (PROJECT / "tests").rglob("test_*.py"))

    assert [case.name for case in (*BROKEN_RULES, *SPARE) if not any(case.name.startswith(name) for name in cases)] == []
    assert [name for name in cases if not any(case.name.startswith(name) for case in CACHE_CASES)] == []
    assert [name for name in tests if f"def {name}(" not in sources] == []


def _left_out(case: CacheCase) -> list[str]:
    return [field.name for field in dataclasses.fields(Rules) if not getattr(case.rules, field.name)]
