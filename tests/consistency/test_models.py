"""The larger configurations of both models, each explored to the end."""

from __future__ import annotations

import pytest

from tests.model.cache.cases import CASES as CASES_OF_THE_CACHE
from tests.model.cache.cases import Case as CaseOfTheCache
from tests.model.cases import CASES, Case


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CASES if not case.is_quick], ids=lambda case: case.name)
def test_the_protocol_keeps_its_promises_and_breaks_them_where_a_rule_is_left_out(case: Case) -> None:
    finding = case.explore()

    assert finding.ends_as(case.breaks), str(finding)


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CASES_OF_THE_CACHE if not case.is_quick], ids=lambda case: case.name)
def test_the_cache_layer_keeps_its_promises_and_breaks_them_where_a_rule_is_left_out(case: CaseOfTheCache) -> None:
    finding = case.explore()

    assert finding.ends_as(case.breaks), str(finding)
