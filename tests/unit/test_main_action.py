"""A draft has exactly one main button, and who cannot press it is told why."""

from __future__ import annotations

from typing import Any

import pytest

from apps.tasks.models.drafts import DraftState
from apps.tasks.publishing.main_action import APPROVE, ASK, CHECK, NOTHING, PUBLISH, Facts, main_action

EVERYTHING: dict[str, Any] = {"may_edit": True, "may_review": True, "may_publish": True}


def facts(state: str, **more: Any) -> Facts:
    return Facts(**{"state": state, "changes": 3, "next_number": 44, **EVERYTHING, **more})


@pytest.mark.parametrize(
    ("seen", "does", "label"),
    [
        (facts("editing"), CHECK, "Check"),
        (facts("editing", is_checked=True), ASK, "Ask for review"),
        (facts("in_review"), APPROVE, "Approve 3 changes"),
        (
            facts("in_review", may_review=False, reviewers=("li", "zhao"), asked="2 h"),
            NOTHING,
            "Waiting for a reviewer: li, zhao (asked 2 h ago)",
        ),
        (facts("approved"), PUBLISH, "Publish 3 changes as revision 44…"),
        (facts("approved", changes=1), PUBLISH, "Publish 1 change as revision 44…"),
        (facts("scheduled", scheduled_for="1 Dec 00:00"), NOTHING, "Will be published at 1 Dec 00:00"),
        (facts("published", published_as=44), NOTHING, "Published as 44"),
        (facts("discarded"), NOTHING, "Discarded"),
    ],
)
def test_the_next_step_is_the_main_action(seen: Facts, does: str, label: str) -> None:
    action = main_action(seen)

    assert (action.does, action.label, action.blocked) == (does, label, "")
    assert action.is_ready == bool(does)


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (facts("editing", may_edit=False), "look but not edit"),
        (facts("editing", changes=0), "changes nothing yet"),
        (facts("editing", conflicts=1), "A newer revision changed the same place"),
        (facts("approved", conflicts=2), "changed the same 2 places"),
        (facts("approved", may_publish=False, publishers=("wang",)), "Publishers: wang."),
        (facts("approved", may_publish=False), "nobody has this right yet"),
    ],
)
def test_what_is_blocked_says_why(seen: Facts, why: str) -> None:
    action = main_action(seen)

    assert why in action.blocked
    assert not action.is_ready


def test_every_state_has_an_action() -> None:
    assert all(main_action(facts(state)).label for state in DraftState.values)
