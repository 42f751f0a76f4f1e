"""The product as it is, and with a rule left out: what one test is run with."""

from __future__ import annotations

import pytest


def intact_or(*doubles: str) -> list[object]:
    """For a test's parameter: "" in every run, and each of these doubles in `make test-long`, where the test must find it out."""
    return ["", *(pytest.param(name, marks=pytest.mark.long) for name in doubles)]
