"""What an operator does about points: he pauses and resumes, sends again what was given up, and compares a day."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from deploy.local.ports import free_ports
from deploy.local.private_stack import PrivateStack
from tests.stack.points import PointsSystem, grant_rows, states_of, write_grants
from tests.stack.web_process import WebProcess

LogIn = Callable[[Page], None]
OpenPage = Callable[..., Page]

_uids = itertools.count(930_000_001, 1_000)


@pytest.fixture(scope="module")
def points(django_on_stack: PrivateStack) -> Iterator[PointsSystem]:
    system = PointsSystem(django_on_stack.directory / "points-pages")
    system.start()
    yield system
    system.stop()


@pytest.fixture(scope="module")
def web(django_on_stack: PrivateStack, points: PointsSystem) -> Iterator[WebProcess]:
    """One that knows of the points system."""
    django_on_stack.environment.update(points.environment)
    process = WebProcess(django_on_stack, free_ports(1)[0])
    for name in points.environment:
        del django_on_stack.environment[name]
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def relay(points: PointsSystem) -> Iterator[Any]:
    from apps.tasks.points.relay import Relay

    relay = Relay(points.settings(give_up_after_s=60))
    yield relay
    relay.close()


@pytest.fixture
def uid(django_on_stack: PrivateStack) -> int:
    """Of a user with whom this test is alone."""
    django_on_stack.master.execute("DELETE FROM grant_outbox", "tasksys_user")
    return next(_uids)


def test_he_pauses_and_resumes(page: Page, log_in: LogIn, stack: PrivateStack, relay: Any, points: PointsSystem, uid: int) -> None:
    write_grants(stack, grant_rows(uid, [5, 7]))
    log_in(page)
    page.goto("/admin/tasks/points/")

    page.get_by_label("Why").fill("the points system is being moved")
    page.get_by_role("button", name="Pause delivery").click()
    expect(page.get_by_text("Delivery is paused.", exact=True)).to_be_visible()
    relay.drain()
    assert states_of(stack, uid, uid) == {"pending": 2}

    page.get_by_role("button", name="Resume delivery").click()
    expect(page.get_by_text("Delivery goes on.")).to_be_visible()
    relay.drain()
    assert (states_of(stack, uid, uid), points.balance(uid)) == ({"confirmed": 2}, 12)

    page.goto(f"/admin/tasks/points/grants/?uid={uid}")
    expect(page.get_by_role("row", name="confirmed")).to_have_count(2)
    page.goto("/admin/tasks/audit/?kind=points")
    expect(page.get_by_text("the points system is being moved")).to_be_visible()


def test_he_sends_again_what_was_given_up(page: Page, log_in: LogIn, stack: PrivateStack, uid: int) -> None:
    write_grants(stack, [row for user in (uid, uid + 1, uid + 2) for row in grant_rows(user, [5])])
    stack.master.execute("UPDATE grant_outbox SET state = 5, settled_ms = 1, error = '503 away'", "tasksys_user")
    log_in(page)
    page.goto("/admin/tasks/points/")
    page.get_by_role("link", name="dead").click()
    expect(page.get_by_text("503 away")).to_have_count(3)

    page.get_by_label(f"{uid}:7:p1:0").check()
    page.get_by_role("button", name="Send the chosen ones again").click()

    expect(page.get_by_text("1 grant is sent again.")).to_be_visible()
    assert states_of(stack, uid, uid) == {"pending": 1}
    page.goto("/admin/tasks/points/grants/?state=dead")
    page.get_by_role("button", name="Send all of them again").click()
    expect(page.get_by_text("2 grants are sent again.")).to_be_visible()
    assert states_of(stack, uid, uid + 2) == {"pending": 3}


def test_he_compares_a_day_and_sends_again_what_the_points_system_has_lost(
    open_page: OpenPage, log_in: LogIn, stack: PrivateStack, relay: Any, points: PointsSystem, uid: int
) -> None:
    page = open_page(width=390, height=844)
    rows = grant_rows(uid, [5, 7], created_ms=round(datetime(2026, 3, 4, 12, tzinfo=timezone.utc).timestamp() * 1000))
    write_grants(stack, rows)
    relay.drain()
    log_in(page)

    def compare() -> None:
        page.goto("/admin/tasks/points/days/")
        page.get_by_label("Day").fill("2026-03-04")
        page.get_by_role("button", name="Compare now").click()

    compare()
    expect(page.get_by_text("2026-03-04: equal.")).to_be_visible()

    with sqlite3.connect(stack.directory / "points-pages" / "points.sqlite") as database:
        database.execute("DELETE FROM grants WHERE grant_id = ?", (rows[1][0],))
    database.close()
    compare()
    expect(page.get_by_text("2026-03-04: different.")).to_be_visible()
    expect(page.get_by_text("confirmed here, missing there")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), "it fits a phone"

    page.get_by_role("button", name="Send again what is missing there").click()
    expect(page.get_by_text("1 grant is sent again.")).to_be_visible()
    relay.drain()
    compare()
    expect(page.get_by_text("2026-03-04: equal.")).to_be_visible()
