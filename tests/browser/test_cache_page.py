"""The page Cache as an operator uses it: found from the Overview, each change asked for first, readable on a phone."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from deploy.local.private_stack import PrivateStack
from tests.browser.conftest import Complaints

LogIn = Callable[[Page], None]
OpenPage = Callable[..., Page]
Screenshot = Callable[[Page, str], Path]


@pytest.fixture
def node(django_on_stack: PrivateStack) -> Iterator[str]:
    """A node in use, beside those of the configuration."""
    from apps.cachesync.models import IN_USE, CacheNode

    name = f"node-{secrets.token_hex(4)}"
    CacheNode.objects.create(name=name, url="redis://127.0.0.1:1/0", state=IN_USE, changed_at=0)
    yield name
    CacheNode.objects.filter(name__in=(name, f"{name}-b")).delete()


def test_an_operator_drains_a_node_uses_it_again_and_adds_one(
    page: Page, log_in: LogIn, node: str, screenshot: Screenshot, complaints: Complaints
) -> None:
    complaints.forgive("400")  # the wrong address
    log_in(page)
    page.goto("/console/")
    page.get_by_role("navigation").get_by_role("link", name="Cache").click()
    row = page.locator("#nodes tbody tr", has_text=node)
    expect(row).to_contain_text("in use")
    for column in ("Hits", "Memory", "Waiting purges", "Oldest purge", "Share of the users", "Refused fills"):
        expect(page.locator("#nodes thead")).to_contain_text(column)
    screenshot(page, "cache")

    row.get_by_role("link", name="Drain").click()
    expect(page.get_by_role("heading", name=f"Drain cache node {node}?")).to_be_visible()
    screenshot(page, "cache-drain")
    page.get_by_role("button", name="Drain").click()

    expect(row).to_contain_text("drained")
    row.get_by_role("link", name="Use again").click()
    page.get_by_role("button", name="Use again").click()
    expect(row).to_contain_text("joining")  # until the center has emptied it

    page.get_by_label("Name").fill(f"{node}-b")
    page.get_by_label("Address").fill("http://127.0.0.1:2/")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("main")).to_contain_text("An address begins with redis:// or rediss://.")
    assert page.get_by_label("Name").input_value() == f"{node}-b"  # what was typed is kept

    page.get_by_label("Address").fill("redis://127.0.0.1:2/0")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#nodes tbody tr", has_text=f"{node}-b")).to_contain_text("joining")


def test_a_question_can_be_left_without_a_change(page: Page, log_in: LogIn, node: str) -> None:
    log_in(page)
    page.goto(f"/console/cache/{node}/drain")

    page.get_by_role("link", name="Cancel").click()

    expect(page.locator("#nodes tbody tr", has_text=node)).to_contain_text("in use")


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_it_fits_a_phone(open_page: OpenPage, log_in: LogIn, node: str, color_scheme: str, screenshot: Screenshot) -> None:
    page = open_page(width=390, height=844, color_scheme=color_scheme)
    log_in(page)
    page.goto("/console/cache/")

    expect(page.locator("#nodes tbody tr", has_text=node)).to_be_visible()

    screenshot(page, f"phone-cache-{color_scheme}")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
