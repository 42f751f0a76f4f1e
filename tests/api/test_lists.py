"""Lists page by page: nothing twice, nothing left out, whatever comes in between."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Caller
from tests.stack.published import publish_tasks, task

REVISIONS = "/api/v1/config/revisions"


def numbers_of(api: Caller, query: str) -> tuple[list[int], str | None]:
    status, page = api.call("GET", REVISIONS + query)
    assert status == 200, page
    return [item["revision"] for item in page["items"]], page["next_cursor"]


def test_pages_follow_each_other_though_something_new_comes_in_between(api: Caller, django_on_stack: Any) -> None:
    newest = [publish_tasks(task()).number for _ in range(5)][-1]

    first, cursor = numbers_of(api, "?limit=2")
    publish_tasks(task())
    second, cursor = numbers_of(api, f"?limit=2&cursor={cursor}")

    assert first == [newest, newest - 1]
    assert second == [newest - 2, newest - 3]
    assert cursor is not None


def test_the_last_page_says_so(api: Caller, django_on_stack: Any) -> None:
    publish_tasks(task())

    seen, cursor = [], ""
    while cursor is not None:
        found, cursor = numbers_of(api, "?limit=200" + (f"&cursor={cursor}" if cursor else ""))
        seen += found

    assert seen == list(range(seen[0], 0, -1))


def test_drafts_are_listed_with_their_state(api: Caller, django_on_stack: Any) -> None:
    from tests.api.test_config_drafts import send

    made = send(api, task())[1]["draft"]

    status, page = api.call("GET", "/api/v1/config/drafts?limit=1")

    assert (status, page["items"][0]["draft"], page["items"][0]["state"]) == (200, made, "editing")


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "limit=", "cursor=x", "cursor=-1", "cursor=9999999999", "cursor="])
def test_a_page_that_there_cannot_be_is_a_400(api: Caller, query: str) -> None:
    status, problem = api.call("GET", f"{REVISIONS}?{query}")

    assert (status, problem["pointer"]) == (400, f"query/{query.partition('=')[0]}")
